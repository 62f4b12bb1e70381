//! A person's consent: to what the hub has asked about, and to nothing else. All doors use this.
//!
//! ```text
//! call waits ──▶ AskedAbout: the hash of the arguments that will be executed
//! person agrees ──▶ what the view shows = what was seen, and = what was asked? ──▶ the run hears it
//!                                                      else: consent_mismatch, and the call waits on
//! ```

use compact_str::CompactString;
use hub::Conversation;
use model::ToolCallId;
use model::code::ErrorCode;
use model::digest::digest;
use model::event::ToolState;

use crate::error::Refusal;
use crate::registry::Agents;
use crate::run::{Answer, RunAddress, Word};

/// A person's answer about a call.
#[derive(Debug)]
pub struct ConsentAnswer {
    /// The id of the tool call.
    pub tool: ToolCallId,
    /// Whether it may be executed.
    pub answer: Answer,
    /// The hash of the arguments that the person saw, if the door knows it.
    pub saw: Option<CompactString>,
}

impl Agents {
    /// Passes a person's answer to the run at `place` in `conversation`. Refused if the call does not wait
    /// for consent, and if a yes concerns other arguments than those that were asked about.
    pub fn consent(
        &self,
        conversation: &Conversation,
        place: &RunAddress,
        said: ConsentAnswer,
    ) -> Result<(), Refusal> {
        let ConsentAnswer { tool, answer, saw } = said;
        let run = &place.run;
        let shown = conversation.read_view(|view| {
            let run = view.runs.get(run).filter(|run| run.own)?;
            let call = run.tools.get(&tool).filter(|call| call.state == ToolState::Approval)?;
            Some(digest(&call.arguments.text))
        });
        let Some(shown) = shown else {
            let why = format!("no call {tool} of the run {run} waits for approval");
            return Err(Refusal::new(ErrorCode::NotRunning, why));
        };
        if let Answer::Yes { arguments } = &answer {
            let asked = self.asked(place).and_then(|asked| asked.of(&tool));
            let is_seen = saw.as_ref().is_none_or(|saw| saw.eq_ignore_ascii_case(&shown));
            // Whoever gives other arguments agrees to those.
            let is_asked = arguments.is_some() || asked.as_ref().is_none_or(|asked| *asked == shown);
            if !is_seen || !is_asked {
                let why =
                    format!("the arguments of the call {tool} are not those that were seen or asked about");
                return Err(Refusal::new(ErrorCode::ConsentMismatch, why));
            }
        }
        if self.tell(place, Word::Consent(tool, answer)) {
            return Ok(());
        }
        let why = format!("the run {run} does not go on in an agent of this hub");
        Err(Refusal::new(ErrorCode::NotRunning, why))
    }
}
