//! The tables of `docs/scale.md`, in Markdown.

use super::closed;
use super::load::Load;
use super::needs::{self, Need};
use super::storms::{Death, RollingRestart};
use super::traffic::Steps;
use super::units::{Origin, Units};

/// A number as a reader wants it: three digits that count, thousands apart.
pub fn number(value: f64) -> String {
    let digits = match value.abs() {
        size if size >= 99.95 || size == 0.0 => 0,
        size if size >= 9.995 => 1,
        size if size >= 0.9995 => 2,
        _ => 3,
    };
    let text = format!("{value:.digits$}");
    let (whole, rest) = text.split_once('.').unwrap_or((&text, ""));
    let mut grouped = String::new();
    for (place, digit) in whole.chars().enumerate() {
        if place > 0 && (whole.len() - place).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    if rest.is_empty() { grouped } else { format!("{grouped}.{rest}") }
}

fn percent(share: f64) -> String {
    format!("{} %", number(share * 100.0))
}

fn row(table: &mut String, cells: impl IntoIterator<Item = String>) {
    let cells: Vec<String> = cells.into_iter().collect();
    table.push_str("| ");
    table.push_str(&cells.join(" | "));
    table.push_str(" |\n");
}

fn head(first: &str, others: impl IntoIterator<Item = String>) -> String {
    let cells: Vec<String> = std::iter::once(first.to_owned()).chain(others).collect();
    let rule = cells.iter().enumerate().map(|(place, _)| if place == 0 { "---" } else { "--:" });
    let rule: Vec<&str> = rule.collect();
    format!("| {} |\n|{}|\n", cells.join(" | "), rule.join("|"))
}

fn sizes(loads: &[Load]) -> impl Iterator<Item = String> + '_ {
    loads.iter().map(|load| format!("{} hubs", load.hubs))
}

/// The unit costs and where they come from.
pub fn units(units: &Units) -> String {
    let mut table = String::from("| unit | cost | from |\n|---|--:|---|\n");
    for unit in units.all() {
        let from = match unit.origin {
            Origin::Measured(by) => format!("measured: {by}"),
            Origin::Derived(how) => format!("derived: {how}"),
            Origin::Assumed(why) => format!("assumed: {why}"),
        };
        row(&mut table, [unit.of.to_owned(), format!("{} {}", number(unit.amount), unit.in_units), from]);
    }
    table
}

/// The closed model beside the simulation: what happens in a second at all hubs together.
pub fn steps(loads: &[Load], simulated: &[Steps]) -> String {
    let mut table =
        head("in a second, all hubs together", sizes(loads).map(|size| format!("{size}: model (simulated)")));
    let expected: Vec<Steps> = loads.iter().map(closed::expected).collect();
    let Some(names) = expected.first().map(Steps::named) else { return table };
    for (place, (name, _)) in names.iter().enumerate() {
        let value = |steps: &Steps| steps.named().get(place).map_or(0.0, |(_, value)| *value);
        let cells = expected
            .iter()
            .zip(simulated)
            .map(|(model, is)| format!("{} ({})", number(value(model)), number(value(is))));
        row(&mut table, std::iter::once((*name).to_owned()).chain(cells));
    }
    table
}

/// What is in use at each size, of the busiest hub and the databases.
pub fn shares(columns: &[String], needs: &[Vec<Need>]) -> String {
    let mut table = head("in use", columns.iter().cloned());
    let Some(first) = needs.first() else { return table };
    for (place, need) in first.iter().enumerate() {
        let cells = needs.iter().filter_map(|all| all.get(place)).map(|need| {
            let amounts = format!("{} of {} {}", number(need.needs), number(need.has), need.in_units);
            let share = percent(need.share());
            let share = if need.share() > 1.0 { format!("**{share}**") } else { share };
            format!("{share} ({})", amounts.trim_end())
        });
        row(&mut table, std::iter::once(need.of.to_owned()).chain(cells));
    }
    table
}

/// What it costs in cores and memory, all machines together.
pub fn costs(columns: &[String], loads: &[Load], units: &Units) -> String {
    let mut table = head("all machines together", columns.iter().cloned());
    let steps: Vec<Steps> = loads.iter().map(closed::expected).collect();
    let cores: Vec<needs::Cores> = steps.iter().map(|steps| needs::hub_cores(steps, units)).collect();
    let mut line = |name: &str, cells: Vec<f64>| {
        row(&mut table, std::iter::once(name.to_owned()).chain(cells.into_iter().map(number)));
    };
    line("cores of hubs: taking events in", cores.iter().map(|cores| cores.events).collect());
    line("cores of hubs: storing them", cores.iter().map(|cores| cores.stored).collect());
    line("cores of hubs: events passed on", cores.iter().map(|cores| cores.passed).collect());
    line("cores of hubs: frames between hubs", cores.iter().map(|cores| cores.links).collect());
    line("cores of hubs: viewers", cores.iter().map(|cores| cores.viewers).collect());
    line("**cores of hubs**", cores.iter().map(needs::Cores::sum).collect());
    line("**cores of databases**", steps.iter().map(|steps| needs::database_cores(steps, units)).collect());
    let memory = |(load, steps): (&Load, &Steps)| {
        needs::memory_of(f64::from(load.viewers), f64::from(load.agents) + steps.follows, units) / 1e9
    };
    line("**memory of hubs, GB**", loads.iter().zip(&steps).map(memory).collect());
    let sent =
        |steps: &Steps| (steps.deliveries + steps.link_frames + steps.passed) * units.frame.amount * 8e-9;
    line("sent by hubs, Gbit/s", steps.iter().map(sent).collect());
    table
}

/// A hub that dies, and all hubs restarted.
pub fn storms(loads: &[Load], deaths: &[Death], restarts: &[RollingRestart]) -> String {
    let mut table = head("what comes all at once", sizes(loads));
    let mut line =
        |name: &str, cells: Vec<String>| row(&mut table, std::iter::once(name.to_owned()).chain(cells));
    let of = |value: fn(&Death) -> f64| deaths.iter().map(|death| number(value(death))).collect::<Vec<_>>();
    line("a hub dies: viewers who connect again", of(|death| death.viewers));
    line("the most at one hub, within a second", of(|death| death.peak_per_hub));
    line("the last is let in after, s", of(|death| death.all_back_s));
    line("follows that begin", of(|death| death.follows));
    line("conversations without an owner, × followers", of(|death| death.orphaned));
    line("reads of owners asked for in a second, for 3 s", of(|death| death.reads_per_s.0));
    line("reads that the databases can answer", of(|death| death.reads_per_s.1));
    line("claims made in a second after that", of(|death| death.claims_per_s));
    line("the last has an owner after, s", of(|death| death.all_owned_s));
    let pairs = || loads.iter().zip(restarts);
    let beside = |is: f64, should: f64| format!("{} ({})", number(should), number(is));
    let moves = |(load, is): (&Load, &RollingRestart)| {
        beside(is.moves, closed::moves_of_a_rolling_restart(load.hubs))
    };
    line("rolling restart: moves of a viewer, model (simulated)", pairs().map(moves).collect());
    let last =
        |(load, is): (&Load, &RollingRestart)| beside(is.last, closed::last_of_a_rolling_restart(load.hubs));
    line("viewers of the last hub ÷ average, model (simulated)", pairs().map(last).collect());
    line(
        "the most at one hub, within half a second",
        restarts.iter().map(|is| number(is.most_to_one_hub)).collect(),
    );
    table
}
