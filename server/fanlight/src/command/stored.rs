//! `fanlight scan` and `fanlight erase`: secrets in what a hub has stored. Neither ever prints one.
//!
//! ```text
//! scan    CONVERSATION ⇥ SEQ ⇥ RULE ⇥ MARK, one line for each secret
//! erase   rewrite or remove ──▶ purge the file ──▶ look again: findings, unpacked blocks, every file below the data directory
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read as _;
use std::path::Path;

use edge::{LogChoice, Redaction};
use event_log::{ClosedLog, LogError, Rewrite, SqliteError};
use model::event::Kind;
use model::format::counted;
use model::{ConversationId, Envelope, Json, Seq, View};
use redact::{Builtin, EventStreams, Finding, Redactor, Wanted, holds_any, spellings};

use super::{CommandError, ResultOutput};
use crate::args::{EraseArgs, ScanArgs, StoredArgs};

/// Fewest and most bytes of a value that can be erased: a shorter one stands in words, a longer one is a document.
const VALUE_BYTES: std::ops::RangeInclusive<usize> = 6..=16_384;

/// `fanlight scan`: one line for each secret, with the conversation, the event, the rule and the mark that would stand in its place.
pub(crate) fn scan(args: &ScanArgs, mut output: ResultOutput) -> Result<(), CommandError> {
    let log = open(&args.stored)?;
    let email = if args.email { Wanted::Yes } else { Wanted::No };
    let redaction =
        Redaction { builtin: Builtin { email, ..Builtin::default() }, patterns: args.patterns.clone() };
    let redactor = redaction.redactor(&choice(&args.stored));
    let redactor = redactor.map_err(|error| CommandError::Usage {
        what: error.to_string(),
        mend: String::from("mend it, or leave it out"),
    })?;
    let (mut found, mut conversations) = (0_usize, 0_usize);
    for id in log.conversations().map_err(|error| unreadable(&error))? {
        conversations += 1;
        for (seq, finding) in findings(&log, &id, &redactor).map_err(|error| unreadable(&error))? {
            found += 1;
            output.line(&format!("{id}\t{seq}\t{}\t{}", finding.rule, finding.mark))?;
        }
    }
    super::output::complain(&format!(
        "{} in {}",
        counted(found, "secret"),
        counted(conversations, "conversation")
    ));
    Ok(())
}

/// `fanlight erase`: takes out one value or one conversation, and looks for it in every file afterwards.
pub(crate) fn erase(args: &EraseArgs, mut output: ResultOutput) -> Result<(), CommandError> {
    match &args.conversation {
        Some(id) => erase_conversation(&args.stored, id, &mut output),
        None => erase_value(&args.stored, &value(args.value_file.as_deref())?, &mut output),
    }
}

/// Takes a conversation out, with the copies of it that frozen links show and those without a link, and looks for their epochs, whose names
/// stand nowhere else, in all files.
fn erase_conversation(
    stored: &StoredArgs,
    id: &ConversationId,
    output: &mut ResultOutput,
) -> Result<(), CommandError> {
    let mut log = open(stored)?;
    let there = log.conversations().map_err(|error| unreadable(&error))?;
    let mut names = edge::access::frozen_copies(&stored.data_dir, id, &there)
        .map_err(|error| CommandError::new(error.to_string(), "nothing was changed"))?;
    let copies = names.iter().filter(|copy| *copy != id).count();
    // The conversation may be gone while copies of it are there.
    if !names.contains(id) && (copies == 0 || there.contains(id)) {
        names.push(id.clone());
    }
    let mut epochs = Vec::new();
    for name in &names {
        epochs.push(log.epoch(name).map_err(|error| unreadable(&error))?.as_str().to_owned());
    }
    for name in &names {
        log.remove(name).map_err(|error| unreadable(&error))?;
    }
    log.purge().map_err(|error| unreadable(&error))?;
    let with = match copies {
        0 => String::new(),
        1 => String::from(" with 1 copy behind a frozen link"),
        copies => format!(" with {copies} copies behind frozen links"),
    };
    noted(stored, Some(id.as_str()), &format!("the conversation{with}"))?;
    drop(log);
    let left = files_with(&stored.data_dir, &epochs)?;
    proven(&left, output, &format!("the conversation {id} is erased{with}"))
}

/// Puts marks in the place of a value in all conversations, and looks for the value in every spelling
/// afterwards.
fn erase_value(stored: &StoredArgs, value: &str, output: &mut ResultOutput) -> Result<(), CommandError> {
    let mut log = open(stored)?;
    let key = Redaction::default()
        .key(&choice(stored))
        .map_err(|error| CommandError::new(error.to_string(), "nothing was changed"))?;
    let redactor = Redactor::of_value(key, value).map_err(|error| {
        CommandError::new(format!("the value cannot be looked for: {error}"), "nothing was changed")
    })?;
    let (mut changed, ids) = (0_usize, log.conversations().map_err(|error| unreadable(&error))?);
    for id in &ids {
        let with = &mut Eraser { redactor: &redactor };
        changed += usize::from(log.rewrite(id, with).map_err(|error| unreadable(&error))?);
    }
    log.purge().map_err(|error| unreadable(&error))?;
    noted(stored, None, &format!("a value, from {}", counted(changed, "conversation")))?;
    let spellings = spellings(value);
    let mut left = BTreeSet::new();
    for id in &ids {
        if !findings(&log, id, &redactor).map_err(|error| unreadable(&error))?.is_empty() {
            left.insert(format!("conversation {id}"));
        }
    }
    let mut look = |bytes: &[u8]| {
        if holds_any(bytes, &spellings) {
            left.insert(format!("blocks of {}", stored.database().display()));
        }
    };
    log.unpacked(&mut look).map_err(|error| unreadable(&error))?;
    drop(log);
    left.extend(files_with(&stored.data_dir, &spellings)?);
    proven(&left, output, &format!("the value is erased from {}", counted(changed, "conversation")))
}

/// Notes in the audit log of the hub, if it keeps one, that `what` was erased.
fn noted(stored: &StoredArgs, conversation: Option<&str>, what: &str) -> Result<(), CommandError> {
    edge::access::note_erasure(&stored.data_dir, conversation, what).map_err(|error| {
        CommandError::new(
            format!("it is erased, and that was not noted in the audit log: {error}"),
            "mend the log, and run the command again to see whether anything is left",
        )
    })
}

/// Says that nothing is left, or fails with where something is.
fn proven(left: &BTreeSet<String>, output: &mut ResultOutput, done: &str) -> Result<(), CommandError> {
    if left.is_empty() {
        return output.line(&format!("{done}; no file holds it"));
    }
    let left = left.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
    Err(CommandError::new(
        format!("{done}, and it is left in {left}"),
        "look at these files, and remove them where they are not needed",
    ))
}

/// Rewrites what holds a value.
struct Eraser<'a> {
    /// Finds the one value.
    redactor: &'a Redactor,
}

impl Rewrite for Eraser<'_> {
    fn events(&mut self, events: &mut [Envelope]) {
        for envelope in &mut *events {
            self.redactor.event(&mut envelope.event);
        }
        EventStreams::default().take_history(self.redactor, events);
    }

    fn view(&mut self, view: &mut View) {
        self.redactor.view(view);
    }

    fn text(&mut self, text: &str) -> Option<String> {
        self.redactor.text(text)
    }

    fn json(&mut self, json: &str) -> Option<String> {
        self.redactor.json_text(json)
    }
}

/// The secrets in one conversation, each with the event in which it begins. What has no events any more is said to be where the state
/// stands that holds it.
fn findings(
    log: &ClosedLog,
    id: &ConversationId,
    redactor: &Redactor,
) -> Result<Vec<(Seq, Finding)>, LogError> {
    let mut all = Vec::new();
    let mut texts: BTreeMap<(String, String), Vec<(usize, Seq)>> = BTreeMap::new();
    let mut joined: BTreeMap<(String, String), String> = BTreeMap::new();
    let mut results = BTreeMap::new();
    for envelope in log.events(id)? {
        let (run, seq) = (envelope.event.run.to_string(), envelope.seq);
        let (text, delta) = match &envelope.event.kind {
            Kind::PartDelta { part, text, .. } => (format!("p{part}"), text),
            Kind::ToolArgs { tool, text, .. } => (format!("a{tool}"), text),
            Kind::ToolOutput { tool, text, .. } => (format!("o{tool}"), text),
            kind => {
                if let Kind::ToolResult(result) = kind
                    && let Some(reference) = &result.reference
                {
                    results.insert(reference.hash.to_string(), seq);
                }
                if let Kind::Message(message) = kind {
                    results.extend(
                        message.files.iter().filter_map(|file| Some((file.hash.as_ref()?.to_string(), seq))),
                    );
                }
                let json = Json::of(&envelope.event);
                all.extend(redactor.findings(json.as_str()).into_iter().map(|finding| (seq, finding)));
                continue;
            }
        };
        let whole = joined.entry((run.clone(), text.clone())).or_default();
        texts.entry((run, text)).or_default().push((whole.len(), seq));
        whole.push_str(delta);
    }
    for (text, whole) in &joined {
        let starts = texts.get(text).map(Vec::as_slice).unwrap_or_default();
        all.extend(redactor.findings(whole).into_iter().map(|finding| {
            let seq = starts.iter().rev().find(|(start, _)| *start <= finding.at).map_or(0, |(_, seq)| *seq);
            (seq, finding)
        }));
    }
    for (hash, json) in log.attachments(id)? {
        let seq = results.get(&hash).copied().unwrap_or_default();
        all.extend(redactor.findings(&json).into_iter().map(|finding| (seq, finding)));
    }
    let known: BTreeSet<String> = all.iter().map(|(_, finding)| finding.mark.clone()).collect();
    let view = log.view(id)?;
    let state = Json::of(&view);
    let of_state = redactor.findings(state.as_str()).into_iter().filter(|it| !known.contains(&it.mark));
    all.extend(of_state.map(|finding| (view.seq, finding)));
    all.sort_by_key(|(seq, _)| *seq);
    Ok(all)
}

/// The files below `folder` that hold one of `spellings`. Reads each file as a whole.
fn files_with(folder: &Path, spellings: &[String]) -> Result<BTreeSet<String>, CommandError> {
    let mut found = BTreeSet::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        let wrong = |error: std::io::Error| {
            CommandError::new(
                format!("{} cannot be read: {error}", folder.display()),
                "it was not looked at whether anything is left",
            )
        };
        for entry in std::fs::read_dir(&folder).map_err(wrong)? {
            let path = entry.map_err(wrong)?.path();
            if path.is_dir() {
                folders.push(path);
            } else if holds_any(&std::fs::read(&path).map_err(wrong)?, spellings) {
                found.insert(path.display().to_string());
            }
        }
    }
    Ok(found)
}

/// The value to erase, without the end of its line.
fn value(file: Option<&Path>) -> Result<String, CommandError> {
    let read = if let Some(file) = file {
        std::fs::read_to_string(file)
    } else {
        let mut text = String::new();
        std::io::stdin().lock().read_to_string(&mut text).map(|_bytes| text)
    };
    let text = read.map_err(|error| {
        CommandError::new(format!("the value cannot be read: {error}"), "nothing was changed")
    })?;
    let value = text.trim_end_matches(['\r', '\n']);
    if VALUE_BYTES.contains(&value.len()) {
        return Ok(value.to_owned());
    }
    let (first, last) = (VALUE_BYTES.start(), VALUE_BYTES.end());
    Err(CommandError::Usage {
        what: format!("the value has {} bytes", value.len()),
        mend: format!(
            "a value of {first} to {last} bytes can be erased: printf %s \"$VALUE\" | fanlight erase"
        ),
    })
}

/// The log in that directory, by which the key of marks is found.
fn choice(stored: &StoredArgs) -> LogChoice {
    LogChoice::Sqlite { path: stored.database(), max_bytes: None }
}

/// Opens the log for this process alone. Fails while a hub uses it.
fn open(stored: &StoredArgs) -> Result<ClosedLog, CommandError> {
    ClosedLog::open(&stored.database()).map_err(|error| {
        let mend = match &error {
            SqliteError::InUse { .. } => "stop the hub first: what it has in memory would be written again",
            _ => "name the directory of the hub with --data-dir; nothing was changed",
        };
        CommandError::new(format!("{} was not opened: {error}", stored.database().display()), mend)
    })
}

/// The failure of a log that was opened.
fn unreadable(error: &LogError) -> CommandError {
    let mend = match error {
        LogError::Unknown => "`fanlight scan` and the list of the page have the names",
        _ => "the log may be damaged; see `fanlight docs operations`",
    };
    CommandError::new(error.to_string(), mend)
}
