//! Sessions: the first that works owns the run, those below it are sub-agents, and so are others that work
//! beside it. The call that started a session names it in its metadata.

use compact_str::CompactString;
use indexmap::IndexMap;

use super::REMEMBERED_MAX;
use crate::Decoded;
use crate::field::{ForeignField, ForeignFields};
use crate::writer::EventWriter;
use model::event::{AgentStart, Kind, RunStatus, RunUpdate};
use model::ids::AgentId;

/// Deepest tree of sessions that is followed (I7).
const DEPTH_MAX: usize = 16;

/// The sessions of a stream, over all its runs.
#[derive(Debug, Default)]
pub(super) struct OpenCodeSessions {
    /// The sessions by their ids.
    told: IndexMap<CompactString, OpenCodeSession>,
    /// The session of the open run, or of the last one.
    owner: Option<CompactString>,
    /// A session has a place in the open run.
    is_running: bool,
}

/// What is known of a session.
#[derive(Debug, Default)]
struct OpenCodeSession {
    /// The session above it.
    parent: Option<CompactString>,
    title: Option<String>,
    /// The call that began it.
    call: Option<CompactString>,
    /// The name of the sub-agent, as that call has it.
    name: Option<CompactString>,
    /// What it is to do.
    task: Option<String>,
    /// The sub-agent that it is in the open run.
    agent: Option<AgentId>,
    /// The session is working.
    is_busy: bool,
    /// The failure of the session was written.
    has_failed: bool,
}

impl OpenCodeSessions {
    /// Forgets what the sessions were in the run, since none is open.
    pub(super) fn begin(&mut self) {
        self.is_running = false;
        for session in self.told.values_mut() {
            (session.agent, session.is_busy, session.has_failed) = (None, false, false);
        }
        if self.told.len() > REMEMBERED_MAX {
            self.told.clear();
        }
    }

    /// Whether the session is that of the run.
    pub(super) fn is_owner(&self, id: &str) -> bool {
        self.owner.as_deref() == Some(id)
    }

    /// The sub-agent that the session is in the open run; nothing for the main agent and for sessions without
    /// a place there.
    pub(super) fn agent_of(&self, id: &str) -> Option<AgentId> {
        self.told.get(id).and_then(|session| session.agent.clone())
    }

    /// What is known of a session, which is added if it is new.
    fn session(&mut self, id: &str) -> &mut OpenCodeSession {
        self.told.entry(CompactString::new(id)).or_default()
    }

    /// Takes what the server says of a session. A new title of the run's own session is written.
    pub(super) fn learn(&mut self, info: ForeignField<'_>, w: &mut EventWriter, out: &mut Decoded) {
        let info = ForeignFields::of(info);
        let id = info.get("id").words().unwrap_or_default();
        let title = info.get("title").word().filter(|title| !is_placeholder(title));
        let is_owner = self.is_owner(&id);
        if id.is_empty() || (self.told.len() > REMEMBERED_MAX && !self.told.contains_key(&*id)) {
            return;
        }
        let session = self.session(&id);
        if let Some(parent) = info.get("parentID").word().filter(|parent| *parent != id) {
            session.parent = Some(CompactString::new(&parent));
        }
        let is_new = title.is_some() && title.as_deref() != session.title.as_deref();
        if is_new {
            session.title = title.map(std::borrow::Cow::into_owned);
            if is_owner && w.has_begun() {
                let update = RunUpdate { title: session.title.clone(), ..RunUpdate::default() };
                w.push(Kind::RunUpdate(update), out);
            }
        }
    }

    /// Gives a session that works its place in the open run, and returns the sub-agent that it is; nothing
    /// for the main agent.
    pub(super) fn enter(&mut self, id: &str, w: &mut EventWriter, out: &mut Decoded) -> Option<AgentId> {
        if id.is_empty() || (self.told.len() > REMEMBERED_MAX && !self.told.contains_key(id)) {
            return None;
        }
        if !std::mem::replace(&mut self.is_running, true) {
            let root = self.root(id);
            let title = self.session(&root).title.clone();
            if title.is_some() {
                w.push(Kind::RunUpdate(RunUpdate { title, ..RunUpdate::default() }), out);
            }
            self.owner = Some(root);
        }
        self.place(id, 0, w, out)
    }

    /// The session at the top of the tree.
    fn root(&self, id: &str) -> CompactString {
        let mut root = CompactString::new(id);
        for _ in 0..DEPTH_MAX {
            match self.told.get(&root).and_then(|session| session.parent.clone()) {
                Some(parent) => root = parent,
                None => break,
            }
        }
        root
    }

    /// The sub-agent that a session is, with those above it, begun if they are new.
    fn place(&mut self, id: &str, depth: usize, w: &mut EventWriter, out: &mut Decoded) -> Option<AgentId> {
        if self.is_owner(id) || id.is_empty() {
            return None;
        }
        if let Some(agent) = self.agent_of(id) {
            return Some(agent);
        }
        let above = self.session(id).parent.clone().filter(|_| depth < DEPTH_MAX);
        if let Some(above) = above {
            self.place(&above, depth.saturating_add(1), w, out);
        }
        Some(self.tell(id, w, out))
    }

    /// Begins a sub-agent, or writes what more is known of it.
    fn tell(&mut self, id: &str, w: &mut EventWriter, out: &mut Decoded) -> AgentId {
        let above = self.told.get(id).and_then(|session| session.parent.clone());
        let parent = above.and_then(|above| self.agent_of(&above));
        let session = self.session(id);
        let title = session.title.as_deref().map(CompactString::new);
        let tool = session.call.as_deref().filter(|call| w.knows_call(call)).map(|call| w.tool_id(call));
        let start = AgentStart {
            name: session.name.clone().or(title),
            parent,
            tool,
            text: session.task.clone(),
            ..AgentStart::default()
        };
        let agent = w.open_agent(id, start, out);
        session.agent = Some(agent.clone());
        agent
    }

    /// Notes what a sub-agent is to do, and writes it.
    pub(super) fn set_task(&mut self, id: &str, task: &str, w: &mut EventWriter, out: &mut Decoded) {
        self.session(id).task = Some(task.to_owned());
        self.tell(id, w, out);
    }

    /// Takes a call that may name the session that it began, and links the two.
    pub(super) fn link(
        &mut self,
        from: &str,
        part: &ForeignFields<'_>,
        w: &mut EventWriter,
        out: &mut Decoded,
    ) {
        let state = ForeignFields::of(part.get("state"));
        let Some(id) = ForeignFields::of(state.get("metadata")).get("sessionId").word() else { return };
        let call = CompactString::new(part.any(&["callID", "id"]).words().unwrap_or_default());
        let is_full = self.told.len() > REMEMBERED_MAX && !self.told.contains_key(&*id);
        if is_full || id == from || self.is_owner(&id) || self.session(&id).call.as_ref() == Some(&call) {
            return;
        }
        let input = ForeignFields::of(state.get("input"));
        let session = self.session(&id);
        session.parent.get_or_insert_with(|| CompactString::new(from));
        session.call = Some(call);
        if let Some(name) = input.any(&["subagent_type", "agent"]).word() {
            session.name = Some(CompactString::new(&name));
        }
        if let Some(task) = input.any(&["prompt", "description"]).word() {
            session.task.get_or_insert_with(|| task.into_owned());
        }
        self.tell(&id, w, out);
    }

    /// Notes that a session works.
    pub(super) fn set_busy(&mut self, id: &str) {
        if let Some(session) = self.told.get_mut(id) {
            session.is_busy = true;
        } else if self.is_owner(id) {
            self.session(id).is_busy = true;
        }
    }

    /// Notes that the session of a sub-agent failed, and returns whether it had not before.
    pub(super) fn fail(&mut self, id: &str) -> bool {
        !std::mem::replace(&mut self.session(id).has_failed, true)
    }

    /// Takes that a session is done; its sub-agent ends. Returns whether the run is over: no session at the
    /// top of a tree works any more.
    pub(super) fn rest(&mut self, id: &str, w: &mut EventWriter, out: &mut Decoded) -> bool {
        let is_owner = self.is_owner(id);
        let Some(session) = self.told.get_mut(id) else { return is_owner };
        session.is_busy = false;
        let agent = session.agent.take();
        let failed = std::mem::take(&mut session.has_failed);
        let is_top = session.parent.is_none();
        if let Some(agent) = &agent {
            let status = if failed { RunStatus::Error } else { RunStatus::Complete };
            w.close_agent(agent, status, out);
        }
        let works = self.told.values().any(|session| session.parent.is_none() && session.is_busy);
        (is_owner || (agent.is_some() && is_top)) && !works
    }
}

/// Whether a title is one that the server gives until there is a real one.
fn is_placeholder(title: &str) -> bool {
    title.starts_with("New session - ") || title.starts_with("Child session - ")
}
