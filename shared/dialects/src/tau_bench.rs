//! Trajectories of tau-bench: the messages of one task, one on a line; or a JSON array of tasks with the messages in `traj`
//! (`messages` in the second version) and the reward beside them.
//!
//! An object is taken as a whole, up to [`model::limits::LINE_BYTES_MAX`]; a larger one is left out and said to be.

use serde::Deserialize;

use super::fault::fault;
use super::field::Field;
use super::framing::excerpt;
use super::objects::{Meaning, Objects};
use super::trajectory::{Conclusion, Trajectory};
use super::writer::Writer;
use super::{Decode, DecodeOptions, Decoded};
use model::anomaly::AnomalyCode;

/// The name of the dialect.
pub const NAME: &str = "tau-bench";

/// A decoder for one file.
pub fn decoder(options: DecodeOptions) -> Box<dyn Decode> {
    Box::new(Objects::new(TauBench { trajectory: Trajectory::new(NAME, options) }))
}

/// What the objects mean.
#[derive(Debug)]
struct TauBench {
    trajectory: Trajectory,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Task<'a> {
    #[serde(borrow)]
    traj: Field<'a>,
    #[serde(borrow)]
    messages: Field<'a>,
    /// All tasks of a file of the second version.
    #[serde(borrow)]
    simulations: Field<'a>,
    #[serde(borrow, rename = "task_id")]
    id: Field<'a>,
    #[serde(borrow)]
    trial: Field<'a>,
    #[serde(borrow)]
    reward: Field<'a>,
    #[serde(borrow)]
    reward_info: Field<'a>,
    #[serde(borrow)]
    info: Field<'a>,
    #[serde(borrow)]
    termination_reason: Field<'a>,
    #[serde(borrow)]
    role: Field<'a>,
    #[serde(borrow)]
    error: Field<'a>,
}

impl Meaning for TauBench {
    const NAME: &'static str = NAME;

    fn object(&mut self, line: u64, _name: &str, text: &str, out: &mut Decoded) {
        match Field::parse(text) {
            Some(whole) if whole.is_object() => self.take(whole, out),
            _ => {
                let detail = format!("line {line}: no object: {}", excerpt(text));
                self.trajectory.writer.anomaly(AnomalyCode::Malformed, detail, out);
            }
        }
    }

    fn cut(&mut self) {
        self.trajectory.cut();
    }

    fn finish(&mut self, out: &mut Decoded) {
        self.trajectory.conclude(Conclusion::default(), out);
    }

    fn writer(&mut self) -> &mut Writer {
        &mut self.trajectory.writer
    }
}

impl TauBench {
    fn take(&mut self, whole: Field<'_>, out: &mut Decoded) {
        let task: Task<'_> = whole.object();
        if task.role.is_some() {
            self.trajectory.message(&whole.object(), None, out);
        } else if task.simulations.is_list() {
            for task in task.simulations.list() {
                self.task(&task.object(), out);
            }
        } else if task.traj.is_list() || task.messages.is_list() {
            self.task(&task, out);
        } else if task.error.is_truthy() {
            self.fail(whole, out);
        } else if whole.is_truthy() {
            self.trajectory.goes_on(out);
            self.trajectory.writer.raw(whole, None, out);
        }
    }

    fn task(&mut self, task: &Task<'_>, out: &mut Decoded) {
        self.trajectory.conclude(Conclusion::default(), out);
        let messages = if task.traj.is_list() { task.traj } else { task.messages };
        for message in messages.list() {
            self.trajectory.message(&message.object(), None, out);
        }
        let info: Task<'_> = task.info.object();
        let notes = [
            ("task_id", task.id),
            ("trial", task.trial),
            ("reward", task.reward),
            ("reward_info", task.reward_info),
            ("info", task.info),
        ];
        let notes: Vec<_> = notes.into_iter().filter(|(_, note)| note.is_some()).collect();
        if !notes.is_empty() {
            // They are about the run that the user has answered, not about another.
            self.trajectory.goes_on(out);
        }
        for (name, note) in notes {
            if self.trajectory.writer.has_room(out) {
                self.trajectory.writer.custom(name, note, None, out);
            }
        }
        let word = task.termination_reason.word().map(|word| (*word).into());
        let failure = info.error.is_truthy().then(|| fault(task.info));
        self.trajectory.conclude(Conclusion { word, failure, usage: None }, out);
    }
}
