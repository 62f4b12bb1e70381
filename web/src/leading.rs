//! Chooses the run that the header is about where several go on side by side, such as those of sub-agents that call the model through the proxy.

use model::RunId;
use model::view::{RunView, View};

/// How many of the newest runs are looked at.
const RUNS_MAX: usize = 64;

/// The runs that went on when the newest one began, in the order in which they began; the newest is the last. Empty if there is no run.
pub fn together(view: &View) -> Vec<RunId> {
    let Some((newest, start)) = view.runs.iter().next_back().map(|(id, run)| (id, run.started_at)) else {
        return Vec::new();
    };
    let recent = view.runs.iter().rev().take(RUNS_MAX);
    let went_on = |run: &RunView| run.ended_at.or(run.stalled_at).is_none_or(|end| end > start);
    let mut runs: Vec<RunId> =
        recent.filter(|(id, run)| *id == newest || went_on(run)).map(|(id, _)| id.clone()).collect();
    runs.reverse();
    runs
}

/// The run of `together` that stands for all of them: the first that goes on, or if all have ended the first. `None` if there is no run.
pub fn leading(view: &View, together: &[RunId]) -> Option<RunId> {
    let goes_on =
        |id: &&RunId| view.runs.get(*id).is_some_and(|run| run.is_running() && run.stalled_at.is_none());
    together.iter().find(goes_on).or_else(|| together.first()).cloned()
}

#[cfg(test)]
mod tests {
    //! Tests which run leads.

    use model::fold::fold;

    use super::*;

    /// The runs that begin (`+a`) and end (`-a`), one event in each second.
    fn view(events: &str) -> View {
        let mut view = View::default();
        for (seq, event) in (1..).zip(events.split_whitespace()) {
            let (kind, run) = event.split_at(1);
            let kind = if kind == "+" { "run.start" } else { "run.end" };
            let line =
                format!(r#"{{"k":"{kind}","run":"{run}","status":"complete","seq":{seq},"at":{seq}000}}"#);
            fold(&mut view, &model::Envelope::parse(&line).unwrap(), &mut |_| {});
        }
        view
    }

    fn leads(events: &str) -> Option<String> {
        let view = view(events);
        leading(&view, &together(&view)).map(|id| id.to_string())
    }

    #[test]
    fn the_run_that_began_before_its_sub_agents_leads() {
        assert_eq!(leads("+main +a -a +b"), Some("main".to_owned()));
        assert_eq!(leads("+main +a -a +b -b -main"), Some("main".to_owned()));
        // One that outlives it is what goes on.
        assert_eq!(leads("+main +a -main"), Some("a".to_owned()));
    }

    #[test]
    fn of_runs_one_after_the_other_the_newest_leads() {
        assert_eq!(leads("+a -a +b"), Some("b".to_owned()));
        assert_eq!(leads("+a -a +b -b"), Some("b".to_owned()));
        assert_eq!(leads(""), None);
    }

    #[test]
    fn no_more_than_the_newest_runs_are_looked_at() {
        let many = |more: usize| (0..more).fold("+main".to_owned(), |all, at| format!("{all} +s{at} -s{at}"));
        assert_eq!(leads(&many(RUNS_MAX - 1)), Some("main".to_owned()));
        assert_ne!(leads(&many(RUNS_MAX)), Some("main".to_owned()));
    }
}
