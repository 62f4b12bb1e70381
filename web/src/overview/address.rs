//! What the addresses of the operator's pages say: everything that was chosen, so that a link shows the same.

use crate::fleet::Filter;
use crate::route::{DASHBOARD, RUNS};
use crate::search::encoded;

use super::table::{Column, Sort, Wanted};

/// What the query of an address of the search says is typed.
pub fn searched(query: &str) -> String {
    Pairs(query).value("q").unwrap_or_default()
}

/// The end of a time that goes on.
pub const UNTIL_NOW: u64 = model::limits::NUMBER_MAX;

/// The values of a query, by name.
struct Pairs<'a>(&'a str);

impl Pairs<'_> {
    /// The last value of that name, decoded.
    fn value(&self, name: &str) -> Option<String> {
        let pairs = self.0.trim_start_matches('?').split('&').filter_map(|pair| pair.split_once('='));
        pairs.rev().find(|(key, _)| *key == name).and_then(|(_, value)| decoded(value))
    }

    fn number(&self, name: &str) -> Option<u64> {
        self.value(name)?.parse().ok()
    }

    /// A time from one moment to a later one.
    fn time(&self) -> Option<(u64, u64)> {
        let (from, to) = (self.number("from")?, self.number("to")?);
        (from < to).then_some((from, to))
    }
}

fn decoded(text: &str) -> Option<String> {
    crate::route::decoded(&text.replace('+', " "))
}

/// A query of these pairs; empty for none.
fn query(pairs: Vec<(&str, String)>) -> String {
    let pairs: Vec<String> =
        pairs.into_iter().map(|(name, value)| format!("{name}={}", encoded(&value))).collect();
    if pairs.is_empty() { String::new() } else { format!("?{}", pairs.join("&")) }
}

/// What the address of the table says. `/runs?q=state:running&sort=-cost&columns=state,title&from=…&to=…`;
/// what is as usual is left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunsAddress {
    /// The filter, as it was typed.
    pub filter: String,
    /// The order of the rows.
    pub sort: Sort,
    /// The columns, in the order in which all stand.
    pub columns: Vec<Column>,
    /// The time, in milliseconds since 1970.
    pub time: Option<(u64, u64)>,
}

impl Default for RunsAddress {
    fn default() -> Self {
        Self { filter: String::new(), sort: Sort::default(), columns: Column::USUAL.to_vec(), time: None }
    }
}

impl RunsAddress {
    /// What `query` says; what it does not say is as usual.
    pub fn parse(query: &str) -> Self {
        let pairs = Pairs(query);
        let chosen = pairs.value("columns").map(|names| {
            let is_chosen = |column: &Column| names.split(',').any(|name| name == column.name());
            Column::ALL.into_iter().filter(is_chosen).collect::<Vec<_>>()
        });
        Self {
            filter: pairs.value("q").unwrap_or_default(),
            sort: pairs.value("sort").and_then(|word| Sort::parse(&word)).unwrap_or_default(),
            columns: chosen.filter(|columns| !columns.is_empty()).unwrap_or_else(|| Column::USUAL.to_vec()),
            time: pairs.time(),
        }
    }

    /// The address that says it.
    pub fn address(&self) -> String {
        let mut pairs = Vec::new();
        if !self.filter.trim().is_empty() {
            pairs.push(("q", self.filter.trim().to_owned()));
        }
        if self.sort != Sort::default() {
            pairs.push(("sort", self.sort.word()));
        }
        if self.columns != Column::USUAL {
            let names: Vec<&str> = self.columns.iter().map(|column| column.name()).collect();
            pairs.push(("columns", names.join(",")));
        }
        if let Some((from, to)) = self.time {
            pairs.extend([("from", from.to_string()), ("to", to.to_string())]);
        }
        format!("{RUNS}{}", query(pairs))
    }

    /// The rows that the address shows.
    pub fn wanted(&self) -> Wanted {
        Wanted { filter: Filter::parse(&self.filter), sort: self.sort, time: self.time }
    }
}

/// The time that the dashboard shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Range {
    /// The last 24 hours, by the hour.
    #[default]
    Day,
    /// The last 7 days, by 6 hours.
    Week,
    /// The last 30 days, by the day.
    Month,
    /// The last 90 days, by the day.
    Quarter,
}

impl Range {
    /// All times that can be chosen.
    pub const ALL: [Self; 4] = [Self::Day, Self::Week, Self::Month, Self::Quarter];

    /// The name of the time, for readers and for addresses.
    pub fn word(self) -> &'static str {
        match self {
            Self::Day => "24h",
            Self::Week => "7d",
            Self::Month => "30d",
            Self::Quarter => "90d",
        }
    }

    /// How many hours it has, and how many a step has.
    pub fn hours(self) -> (u64, u64) {
        match self {
            Self::Day => (24, 1),
            Self::Week => (7 * 24, 6),
            Self::Month => (30 * 24, 24),
            Self::Quarter => (90 * 24, 24),
        }
    }
}

/// The names by which figures are told apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum GroupBy {
    /// No name: all together.
    #[default]
    All,
    /// The name of the agent.
    Agent,
    /// The name of the model.
    Model,
    /// The name of the tool.
    Tool,
}

impl GroupBy {
    /// All choices, in order.
    pub const ALL: [Self; 4] = [Self::All, Self::Agent, Self::Model, Self::Tool];

    /// The word for it, for readers and for addresses.
    pub fn word(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::Agent => "agent",
            Self::Model => "model",
            Self::Tool => "tool",
        }
    }
}

/// What the address of the dashboard says. `/dashboard?range=7d&by=model`; what is as usual is left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DashboardAddress {
    /// The time that the dashboard shows.
    pub range: Range,
    /// What the figures are told apart by.
    pub by: GroupBy,
}

impl DashboardAddress {
    /// What `query` says; what it does not say is as usual.
    pub fn parse(query: &str) -> Self {
        let pairs = Pairs(query);
        let range = pairs.value("range");
        let by = pairs.value("by");
        Self {
            range: Range::ALL.into_iter().find(|it| range.as_deref() == Some(it.word())).unwrap_or_default(),
            by: GroupBy::ALL.into_iter().find(|it| by.as_deref() == Some(it.word())).unwrap_or_default(),
        }
    }

    /// The address that says it.
    pub fn address(self) -> String {
        let mut pairs = Vec::new();
        if self.range != Range::default() {
            pairs.push(("range", self.range.word().to_owned()));
        }
        if self.by != GroupBy::default() {
            pairs.push(("by", self.by.word().to_owned()));
        }
        format!("{DASHBOARD}{}", query(pairs))
    }
}

#[cfg(test)]
mod tests {
    //! Tests of what addresses say.

    use super::*;
    use crate::route::{SEARCH, search_address};

    #[test]
    fn an_address_is_read_again_as_it_was_written() {
        let it = RunsAddress {
            filter: "state:running größe & more".to_owned(),
            sort: Sort { column: Column::Cost, descending: true },
            columns: vec![Column::State, Column::Title, Column::Cost],
            time: Some((1_795_300_000_000, 1_795_303_600_000)),
        };
        let address = it.address();
        let (path, query) = address.split_once('?').unwrap();
        assert_eq!((path, RunsAddress::parse(query)), (RUNS, it));
        assert_eq!(RunsAddress::default().address(), RUNS);
        for typed in ["größe \"exit code\" tool:a&b=c", "", "a+b"] {
            let address = search_address(typed);
            assert_eq!(searched(address.strip_prefix(SEARCH).unwrap()), typed);
        }
        for range in Range::ALL {
            for by in GroupBy::ALL {
                let it = DashboardAddress { range, by };
                let address = it.address();
                assert_eq!(DashboardAddress::parse(address.split_once('?').map_or("", |it| it.1)), it);
            }
        }
    }

    #[test]
    fn what_makes_no_sense_is_as_usual() {
        for query in
            ["", "?", "?sort=colour", "?columns=", "?columns=x", "?from=9&to=1", "?from=a&to=b", "?q=%zz"]
        {
            assert_eq!(RunsAddress::parse(query), RunsAddress::default(), "{query}");
        }
        assert_eq!(DashboardAddress::parse("?range=9y&by=colour"), DashboardAddress::default());
        assert_eq!(RunsAddress::parse("?q=a+b").filter, "a b");
    }
}
