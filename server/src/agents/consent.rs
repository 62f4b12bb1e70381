//! A person's consent: to what the hub has asked about, and to nothing else. Every door comes through here.
//!
//! ```text
//! call waits ──▶ AskedAbout: the hash of the arguments that will be executed
//! person agrees ──▶ what the view shows = what was seen, and = what was asked? ──▶ the run hears it
//!                                                      else: consent_mismatch, and the call waits on
//! ```

use std::collections::HashMap;

use compact_str::CompactString;
use model::ToolCallId;
use model::code::ErrorCode;
use model::digest::digest;
use model::event::ToolState;
use parking_lot::Mutex;

use super::commands::Refusal;
use crate::runner::{Answer, RunAddress};
use crate::state::Shared;
use hub::Conversation;

/// What a run has asked a person about: for each of its calls that waits or waited, the hash of the arguments. At most as many
/// as the run has calls.
#[derive(Debug, Default)]
pub(crate) struct AskedAbout(Mutex<HashMap<ToolCallId, CompactString>>);

impl AskedAbout {
    /// A person is asked about `tool` with these arguments. False where it was asked about it with others before.
    pub(crate) fn remember(&self, tool: &ToolCallId, arguments: &str) -> bool {
        let now = digest(arguments);
        let before = self.0.lock().insert(tool.clone(), now.clone());
        before.is_none_or(|before| before == now)
    }

    /// The same for arguments that cannot have changed since.
    pub(crate) fn remember_once(&self, tool: &ToolCallId, arguments: &str) {
        let mut asked = self.0.lock();
        if !asked.contains_key(tool) {
            asked.insert(tool.clone(), digest(arguments));
        }
    }

    /// The hash of the arguments.
    fn of(&self, tool: &ToolCallId) -> Option<CompactString> {
        self.0.lock().get(tool).cloned()
    }
}

/// What a person says about a call.
#[derive(Debug)]
pub(crate) struct ConsentAnswer {
    /// The call.
    pub(crate) tool: ToolCallId,
    /// Yes or no.
    pub(crate) answer: Answer,
    /// The hash of the arguments that the person saw, where it was told.
    pub(crate) saw: Option<CompactString>,
}

/// Tells the run at `place` in `conversation` what a person says. Refused where the call does not wait for it, and where a
/// yes is to other arguments than those that were asked about.
pub(crate) fn consent(
    shared: &Shared,
    conversation: &Conversation,
    place: &RunAddress,
    said: ConsentAnswer,
) -> Result<(), Refusal> {
    let ConsentAnswer { tool, answer, saw } = said;
    let run = &place.run;
    let shown = conversation.look(|view| {
        let run = view.runs.get(run).filter(|run| run.own)?;
        let call = run.tools.get(&tool).filter(|call| call.state == ToolState::Approval)?;
        Some(digest(&call.arguments.text))
    });
    let Some(shown) = shown else {
        let why = format!("no call {tool} of the run {run} waits for consent");
        return Err(Refusal::new(ErrorCode::NotRunning, why));
    };
    if let Answer::Yes { arguments } = &answer {
        let asked = shared.agents.asked(place).and_then(|asked| asked.of(&tool));
        let is_seen = saw.as_ref().is_none_or(|saw| saw.eq_ignore_ascii_case(&shown));
        // Who gives other arguments agrees to those.
        let is_asked = arguments.is_some() || asked.as_ref().is_none_or(|asked| *asked == shown);
        if !is_seen || !is_asked {
            let why = format!("the arguments of the call {tool} are not those that were seen or asked about");
            return Err(Refusal::new(ErrorCode::ConsentMismatch, why));
        }
    }
    if shared.agents.consent(place, tool, answer) {
        return Ok(());
    }
    Err(Refusal::new(ErrorCode::NotRunning, format!("the run {run} does not go on in an agent of this hub")))
}
