//! The steps of a conversation in lanes that are packed per agent, as in a profiler: agents of one name share their lanes,
//! so that a hundred sub-agents are as many lanes as worked at the same time.
//!
//! ```text
//! analyst      ▒▒▒ ████████  ▒▒▒▒            group: a heading, and lanes below it
//!                  ██████
//!   researcher        ▒▒ ███ ▒ ████
//! ```

use indexmap::IndexMap;
use model::view::{Item, RunView};
use model::{AgentId, RunId, View};

use super::bars::{Bar, bars, stalled};
use super::pack::pack;
use super::rows::Key;
use super::shares::{Work, WorkSpan};

/// How many agents above an agent are asked for their names. Deeper ones are drawn below the last of them.
const DEPTH_MAX: usize = 16;

/// The height of the heading of a group, in CSS pixels.
pub const HEAD_PX: f64 = 20.0;

/// The height of a lane, in CSS pixels.
pub const LANE_PX: f64 = 16.0;

/// A step: a part or a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LaneStep {
    /// The key of the step.
    pub key: Key,
    /// What happened in it, in order. Never empty.
    pub bars: Vec<Bar>,
    /// The lane of its group.
    pub lane: usize,
}

impl LaneStep {
    /// The beginning and the end, in milliseconds since 1970; it has no end while it goes on.
    pub fn span(&self) -> (u64, Option<u64>) {
        let from = self.bars.first().map_or(0, |bar| bar.from);
        (from, self.bars.last().and_then(|bar| bar.to))
    }

    /// The run that it belongs to.
    pub fn run(&self) -> &RunId {
        let (Key::Run(run) | Key::Agent(run, _) | Key::Part(run, _) | Key::Tool(run, _)) = &self.key;
        run
    }
}

/// The lanes of the agents of one name below the same agent.
#[derive(Debug, Clone, PartialEq)]
pub struct LaneGroup {
    /// The name of the agents.
    pub name: String,
    /// The level of indentation; 0 for main agents.
    pub depth: usize,
    /// How many agents of this name there are.
    pub agents: usize,
    /// When these agents lived.
    pub lives: Vec<(u64, Option<u64>)>,
    /// Their steps, in order of arrival.
    pub steps: Vec<LaneStep>,
    /// The number of lanes.
    pub lanes: usize,
    /// The upper edge of the group in the sheet, in CSS pixels.
    pub top: f64,
}

impl LaneGroup {
    /// The upper edge of a lane in the sheet, in CSS pixels.
    pub fn lane_top(&self, lane: usize) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "lanes of a page")]
        let lane = lane as f64;
        self.top + HEAD_PX + lane * LANE_PX
    }

    /// The lower edge of the group in the sheet, in CSS pixels.
    pub fn bottom(&self) -> f64 {
        self.lane_top(self.lanes)
    }
}

/// The lanes of a conversation, group by group.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Lanes {
    /// The groups; those of sub-agents stand below that of the agent that began them.
    pub groups: Vec<LaneGroup>,
}

/// The names of an agent and of those above it, the main agent first.
type Path = Vec<String>;

impl Lanes {
    /// The lanes of `view`, or only those of one sub-agent and everything below it.
    pub fn of(view: &View, only: Option<&(RunId, AgentId)>) -> Self {
        let mut groups: IndexMap<Path, LaneGroup> = IndexMap::new();
        for (id, run) in &view.runs {
            if only.is_none_or(|(of, _)| of == id) {
                add_run(&mut groups, id, run, only.map(|(_, agent)| agent));
            }
        }
        let mut lanes = Self { groups: in_order(groups) };
        let mut top = 0.0;
        for group in &mut lanes.groups {
            let spans: Vec<_> = group.steps.iter().map(LaneStep::span).collect();
            let (places, count) = pack(&spans);
            for (step, lane) in group.steps.iter_mut().zip(places) {
                step.lane = lane;
            }
            (group.lanes, group.top) = (count, top);
            top = group.bottom();
        }
        lanes
    }

    /// The height of all lanes, in CSS pixels.
    pub fn height(&self) -> f64 {
        self.groups.last().map_or(0.0, LaneGroup::bottom)
    }

    /// The number of steps in all groups.
    pub fn count(&self) -> usize {
        self.groups.iter().map(|group| group.steps.len()).sum()
    }

    /// The steps of all groups.
    pub fn steps(&self) -> impl Iterator<Item = &LaneStep> {
        self.groups.iter().flat_map(|group| &group.steps)
    }

    /// The group and the lane at the height `y` of the sheet.
    fn at(&self, y: f64) -> Option<(&LaneGroup, usize)> {
        let group = self.groups.iter().find(|group| y >= group.top && y < group.bottom())?;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "lanes of a page")]
        let lane = ((y - group.top - HEAD_PX) / LANE_PX).max(0.0) as usize;
        (y >= group.lane_top(0)).then_some((group, lane))
    }

    /// The step at the height `y` of the sheet that goes on between `from` and `to`, in milliseconds since 1970; the one
    /// that began last, if there are several.
    pub fn hit(&self, y: f64, from: u64, to: u64) -> Option<&LaneStep> {
        let (group, lane) = self.at(y)?;
        let steps = group.steps.iter().filter(|step| {
            let (begin, end) = step.span();
            step.lane == lane && begin <= to && end.is_none_or(|end| end >= from)
        });
        steps.max_by_key(|step| step.span().0)
    }

    /// The step that a key of the keyboard goes to from `key`: along the time in its group, or to the nearest lane above or
    /// below. The first step, if `key` is none of them.
    pub fn step(&self, key: Option<&Key>, to: Direction) -> Option<&LaneStep> {
        let here = |step: &&LaneStep| Some(&step.key) == key;
        let found = self.groups.iter().find_map(|group| Some((group, group.steps.iter().find(here)?)));
        let Some((group, step)) = found else { return self.steps().next() };
        let place = |step: &LaneStep| (step.span().0, step.lane);
        let own = place(step);
        match to {
            Direction::Later => group.steps.iter().filter(|it| place(it) > own).min_by_key(|it| place(it)),
            Direction::Earlier => group.steps.iter().filter(|it| place(it) < own).max_by_key(|it| place(it)),
            Direction::Up | Direction::Down => {
                // The lanes of all groups, from the top.
                let lanes =
                    self.groups.iter().flat_map(|group| (0..group.lanes).map(move |lane| (group, lane)));
                let is_own =
                    |(it, lane): &(&LaneGroup, usize)| std::ptr::eq(*it, group) && *lane == step.lane;
                let lanes: Vec<_> = lanes.collect();
                let at = lanes.iter().position(is_own)?;
                let next = if to == Direction::Up { at.checked_sub(1)? } else { at.saturating_add(1) };
                let (group, lane) = lanes.get(next)?;
                let steps = group.steps.iter().filter(|it| it.lane == *lane);
                steps.min_by_key(|it| it.span().0.abs_diff(own.0))
            }
        }
    }
}

/// The direction in which a key of the keyboard goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// To the step before.
    Earlier,
    /// To the step after.
    Later,
    /// To the lane above.
    Up,
    /// To the lane below.
    Down,
}

/// Adds the steps of a run to its groups; of one sub-agent alone, if `only` names one.
fn add_run(groups: &mut IndexMap<Path, LaneGroup>, id: &RunId, run: &RunView, only: Option<&AgentId>) {
    let main = run.name.as_deref().unwrap_or("main agent").to_owned();
    let stalled = stalled(run);
    let mut paths: IndexMap<Option<&AgentId>, Path> = IndexMap::new();
    if only.is_none() {
        paths.insert(None, vec![main.clone()]);
        live(groups, vec![main], run.started_at, run.ended_at.filter(|_| !run.is_running()).or(stalled));
    }
    for (agent_id, agent) in &run.agents {
        // An agent comes after the one that began it.
        let above = match agent.parent.as_ref() {
            _ if only == Some(agent_id) => Some(Vec::new()),
            parent => paths.get(&parent).cloned(),
        };
        let Some(mut path) = above else { continue };
        if path.len() < DEPTH_MAX {
            path.push(agent.name.as_deref().unwrap_or("sub-agent").to_owned());
        }
        let is_over = agent.status != model::event::RunStatus::Running;
        live(groups, path.clone(), agent.started_at, agent.ended_at.filter(|_| is_over).or(stalled));
        paths.insert(Some(agent_id), path);
    }
    for item in &run.items {
        let (key, agent) = match item {
            Item::Part(part) => {
                let Some(view) = run.parts.get(part) else { continue };
                (Key::Part(id.clone(), part.clone()), view.agent.as_ref())
            }
            Item::Tool(tool) => {
                let Some(view) = run.tools.get(tool) else { continue };
                (Key::Tool(id.clone(), tool.clone()), view.agent.as_ref())
            }
            Item::Agent(_) | Item::Note(_) => continue,
        };
        let mut bars = bars(run, item);
        for bar in &mut bars {
            bar.end_by(stalled);
        }
        if let Some(group) = paths.get(&agent).and_then(|path| groups.get_mut(path))
            && !bars.is_empty()
        {
            group.steps.push(LaneStep { key, bars, lane: 0 });
        }
    }
}

/// Notes that an agent with this path lived.
fn live(groups: &mut IndexMap<Path, LaneGroup>, path: Path, from: u64, to: Option<u64>) {
    let (name, depth) = (path.last().cloned().unwrap_or_default(), path.len().saturating_sub(1));
    let group = groups.entry(path).or_insert_with(|| LaneGroup {
        name,
        depth,
        agents: 0,
        lives: Vec::new(),
        steps: Vec::new(),
        lanes: 0,
        top: 0.0,
    });
    group.agents = group.agents.saturating_add(1);
    group.lives.push((from, to));
}

/// The groups with those of sub-agents below that of the agent that began them.
fn in_order(groups: IndexMap<Path, LaneGroup>) -> Vec<LaneGroup> {
    // By the numbers at which the names of the path came first.
    let numbers: IndexMap<Path, usize> = groups.keys().cloned().zip(0..).collect();
    let place = |path: &Path| {
        let ends = 1..=path.len();
        ends.map(|end| path.get(..end).and_then(|begin| numbers.get(begin)).copied()).collect::<Vec<_>>()
    };
    let mut placed: Vec<(Vec<Option<usize>>, LaneGroup)> =
        groups.into_iter().map(|(path, group)| (place(&path), group)).collect();
    placed.sort_by(|a, b| a.0.cmp(&b.0));
    placed.into_iter().map(|(_, group)| group).collect()
}

/// What the steps of a run were spent on; what goes on ends at `now`. With the index of its step.
pub fn work<'a>(steps: impl Iterator<Item = &'a LaneStep>, now: u64) -> Vec<WorkSpan> {
    let spans = steps.flat_map(|step| &step.bars).map(|bar| WorkSpan {
        work: work_of(bar),
        from: bar.from,
        to: bar.to.unwrap_or(now).max(bar.from),
    });
    spans.collect()
}

/// What a bar is spent on.
pub fn work_of(bar: &Bar) -> Work {
    use super::bars::{Fill, Tone};
    match (bar.fill, bar.tone) {
        (Fill::Solid, _) => Work::Tool,
        (Fill::Hatched, _) => Work::Model,
        (_, Tone::Appr) => Work::Person,
        _ => Work::Waiting,
    }
}
