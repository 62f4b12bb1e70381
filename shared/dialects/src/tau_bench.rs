//! Trajectories of tau-bench: the messages of one task, one on a line; or a JSON array of tasks with the
//! messages in `traj` (`messages` in the second version) and the reward beside them.
//!
//! ```json
//! [{"task_id": 3, "trial": 0, "reward": 1.0, "info": {},
//!   "traj": [{"role": "user", "content": "Where is my parcel?"},
//!            {"role": "assistant", "content": "In Oslo."}]}]
//! ```
//!
//! Each task becomes one run or more, as in `trajectory`. Task, trial, reward and `info` become custom events
//! of its last run; `termination_reason` is the finish reason; an `error` in `info` ends the run with an
//! error.
//!
//! An object is taken as a whole, up to [`model::limits::LINE_BYTES_MAX`]; a larger one is left out, and an
//! anomaly says so.

use serde::Deserialize;

use super::fault::fault;
use super::field::ForeignField;
use super::framing::excerpt;
use super::objects::{ObjectDecoder, ObjectMeaning};
use super::trajectory::{TrajectoryEnd, TrajectoryWriter};
use super::writer::EventWriter;
use super::{Decode, DecodeOptions, Decoded};
use model::anomaly::AnomalyCode;

/// The name of the dialect.
pub const NAME: &str = "tau-bench";

/// A decoder for one file.
pub fn decoder(options: DecodeOptions) -> Box<dyn Decode> {
    Box::new(ObjectDecoder::new(TauBenchMeaning { trajectory: TrajectoryWriter::new(NAME, options) }))
}

/// The meaning of tasks, and of bare messages.
#[derive(Debug)]
struct TauBenchMeaning {
    /// Writes the messages of the tasks.
    trajectory: TrajectoryWriter,
}

/// The fields of a task, and those that tell a bare message (`role`) or an error (`error`). The same struct
/// reads `info`, of which only `error` is used.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct TauBenchTask<'a> {
    /// The messages, in the first version.
    #[serde(borrow)]
    traj: ForeignField<'a>,
    /// The messages, in the second version.
    #[serde(borrow)]
    messages: ForeignField<'a>,
    /// All tasks of a file of the second version.
    #[serde(borrow)]
    simulations: ForeignField<'a>,
    #[serde(borrow, rename = "task_id")]
    id: ForeignField<'a>,
    #[serde(borrow)]
    trial: ForeignField<'a>,
    /// How well the task was done, as a number.
    #[serde(borrow)]
    reward: ForeignField<'a>,
    #[serde(borrow)]
    reward_info: ForeignField<'a>,
    #[serde(borrow)]
    info: ForeignField<'a>,
    /// Why the conversation ended, in the second version.
    #[serde(borrow)]
    termination_reason: ForeignField<'a>,
    #[serde(borrow)]
    role: ForeignField<'a>,
    #[serde(borrow)]
    error: ForeignField<'a>,
}

impl ObjectMeaning for TauBenchMeaning {
    const NAME: &'static str = NAME;

    fn object(&mut self, line: u64, _name: &str, text: &str, out: &mut Decoded) {
        match ForeignField::parse(text) {
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
        self.trajectory.conclude(TrajectoryEnd::default(), out);
    }

    fn writer(&mut self) -> &mut EventWriter {
        &mut self.trajectory.writer
    }
}

impl TauBenchMeaning {
    /// Takes one object of the file: a message, a task, a file of tasks, an error, or anything else, which is
    /// passed on as it is.
    fn take(&mut self, whole: ForeignField<'_>, out: &mut Decoded) {
        let task: TauBenchTask<'_> = whole.object();
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
            self.trajectory.ensure_run(out);
            self.trajectory.writer.raw(whole, None, out);
        }
    }

    /// Writes a task. It ends the run of the task before it.
    fn task(&mut self, task: &TauBenchTask<'_>, out: &mut Decoded) {
        self.trajectory.conclude(TrajectoryEnd::default(), out);
        let messages = if task.traj.is_list() { task.traj } else { task.messages };
        for message in messages.list() {
            self.trajectory.message(&message.object(), None, out);
        }
        let info: TauBenchTask<'_> = task.info.object();
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
            self.trajectory.ensure_run(out);
        }
        for (name, note) in notes {
            if self.trajectory.writer.has_room(out) {
                self.trajectory.writer.custom(name, note, None, out);
            }
        }
        let word = task.termination_reason.word().map(|word| (*word).into());
        let failure = info.error.is_truthy().then(|| fault(task.info));
        self.trajectory.conclude(TrajectoryEnd { word, failure, usage: None }, out);
    }
}
