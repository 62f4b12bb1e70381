//! Writes messages of the history: what users, systems and earlier turns said. A message is whole; what the
//! model says now is a part instead.

use compact_str::CompactString;

use super::{Decoded, Event, EventWriter, Kind, RunId};
use model::event::Message;
use model::ids::MessageId;

impl EventWriter {
    /// Writes a complete message. It belongs to the open run; between runs it belongs to the conversation
    /// only.
    ///
    /// Its id is made of the run and a count, so that it is the same each time.
    pub(crate) fn message(&mut self, role: &str, text: &str, out: &mut Decoded) {
        self.messages = self.messages.saturating_add(1);
        let (prefix, run) = (&self.options.part_prefix, &self.options.run);
        let id = format!("{prefix}{run}-m{}", self.messages);
        self.message_as(&id, role, text, out);
    }

    /// Writes a message with an id of the dialect: a message with the same id replaces the earlier one.
    /// The run of the message is chosen as in [`EventWriter::message`].
    pub(crate) fn message_as(&mut self, id: &str, role: &str, text: &str, out: &mut Decoded) {
        let message = MessageId::new(id);
        let kind = Kind::Message(Message {
            message,
            role: CompactString::new(role),
            text: text.to_owned(),
            files: Vec::new(),
        });
        let run = if self.is_running { self.run.clone() } else { RunId::none() };
        self.put(Event::new(&run, kind), out);
    }
}
