//! `fanlight scan` and `fanlight erase`: secrets in what a hub has stored. Neither ever prints one.
//!
//! ```text
//! scan    CONVERSATION ⇥ SEQ ⇥ RULE ⇥ MARK, one line for each secret
//! erase   rewrite or remove ──▶ purge ──▶ look again: findings, unpacked blocks, every row of a database, every file below the data directory
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read as _;
use std::path::Path;

use edge::Redaction;
use event_log::{ClosedLog, LogError, Rewrite};
use model::event::Kind;
use model::format::counted;
use model::{ConversationId, Envelope, Json, Seq, View};
use redact::{Builtin, EventStreams, Finding, Redactor, Wanted, holds_any, spellings};

use self::opened::StoredLog;
use super::{CommandError, ResultOutput};
use crate::args::{EraseArgs, ScanArgs, StoredArgs};

mod opened;

/// Fewest and most bytes of a value that can be erased: a shorter one stands in words, a longer one is a document.
const VALUE_BYTES: std::ops::RangeInclusive<usize> = 6..=16_384;

/// `fanlight scan`: one line for each secret, with the conversation, the event, the rule and the mark that would stand in its place.
pub(crate) fn scan(args: &ScanArgs, mut output: ResultOutput) -> Result<(), CommandError> {
    let opened = StoredLog::open(&args.stored)?;
    let log = opened.log.as_ref();
    let email = if args.email { Wanted::Yes } else { Wanted::No };
    let redaction =
        Redaction { builtin: Builtin { email, ..Builtin::default() }, patterns: args.patterns.clone() };
    let redactor = redaction.redactor(&opened.choice);
    let redactor = redactor.map_err(|error| CommandError::Usage {
        what: error.to_string(),
        mend: String::from("mend it, or leave it out"),
    })?;
    let (mut found, mut conversations) = (0_usize, 0_usize);
    for id in log.conversations().map_err(|error| unreadable(&error))? {
        conversations += 1;
        for (seq, finding) in findings(log, &id, &redactor).map_err(|error| unreadable(&error))? {
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
    let mut opened = StoredLog::open(stored)?;
    let names = with_copies(stored, &opened, id)?;
    let copies = names.iter().filter(|copy| *copy != id).count();
    let log = opened.log.as_mut();
    let mut epochs = Vec::new();
    for name in &names {
        epochs.push(log.epoch(name).map_err(|error| unreadable(&error))?.as_str().to_owned());
    }
    for name in &names {
        log.remove(name).map_err(|error| unreadable(&error))?;
    }
    let mut left = log.purge().map_err(|error| unreadable(&error))?;
    let with = match copies {
        0 => String::new(),
        1 => String::from(" with 1 copy behind a frozen link"),
        copies => format!(" with {copies} copies behind frozen links"),
    };
    noted(stored, Some(id.as_str()), &format!("the conversation{with}"))?;
    left.extend(log.places(&epochs).map_err(|error| unreadable(&error))?);
    let done = format!("the conversation {id} is erased{with}");
    proven(opened, (left, &epochs), output, &done)
}

/// The conversation and the copies of it behind frozen links, those without a link too. Beside a database the data directory may be another hub's,
/// so that no copy without a link is taken for one of this conversation there; stderr names those that there are.
fn with_copies(
    stored: &StoredArgs,
    opened: &StoredLog,
    id: &ConversationId,
) -> Result<Vec<ConversationId>, CommandError> {
    let there = opened.log.conversations().map_err(|error| unreadable(&error))?;
    let shared = opened.log.shares().map_err(|error| unreadable(&error))?;
    let copies = edge::access::frozen_copies(&stored.data_dir, &shared, id, &there)
        .map_err(|error| CommandError::new(error.to_string(), "nothing was changed"))?;
    let mut names = copies.linked;
    if !opened.is_database() {
        names.extend(copies.unlinked);
    } else if !copies.unlinked.is_empty() {
        let unlinked = copies.unlinked.iter().map(ConversationId::as_str).collect::<Vec<_>>().join(", ");
        super::output::complain(&format!(
            "no link says what these frozen copies are of, so they stay: {unlinked}\n  erase them by their names where they are not needed"
        ));
    }
    let has_copies = names.iter().any(|copy| copy != id);
    // The conversation may be gone while copies of it are there.
    if !names.contains(id) && (!has_copies || there.contains(id)) {
        names.push(id.clone());
    }
    Ok(names)
}

/// Puts marks in the place of a value in all conversations, and looks for the value in every spelling
/// afterwards.
fn erase_value(stored: &StoredArgs, value: &str, output: &mut ResultOutput) -> Result<(), CommandError> {
    let mut opened = StoredLog::open(stored)?;
    let key = Redaction::default()
        .key(&opened.choice)
        .map_err(|error| CommandError::new(error.to_string(), "nothing was changed"))?;
    let redactor = Redactor::of_value(key, value).map_err(|error| {
        CommandError::new(format!("the value cannot be looked for: {error}"), "nothing was changed")
    })?;
    let place = opened.place();
    let log = opened.log.as_mut();
    let (mut changed, ids) = (0_usize, log.conversations().map_err(|error| unreadable(&error))?);
    for id in &ids {
        let with = &mut Eraser { redactor: &redactor };
        changed += usize::from(log.rewrite(id, with).map_err(|error| unreadable(&error))?);
    }
    let mut left = log.purge().map_err(|error| unreadable(&error))?;
    noted(stored, None, &format!("a value, from {}", counted(changed, "conversation")))?;
    let spellings = spellings(value);
    for id in &ids {
        if !findings(log, id, &redactor).map_err(|error| unreadable(&error))?.is_empty() {
            left.insert(format!("conversation {id}"));
        }
    }
    let mut look = |bytes: &[u8]| {
        if holds_any(bytes, &spellings) {
            left.insert(format!("blocks of {place}"));
        }
    };
    log.unpacked(&mut look).map_err(|error| unreadable(&error))?;
    left.extend(log.places(&spellings).map_err(|error| unreadable(&error))?);
    let done = format!("the value is erased from {}", counted(changed, "conversation"));
    proven(opened, (left, &spellings), output, &done)
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

/// Closes the log and looks for `texts` in all files. Says that nothing is left, or fails with where something is, there or in the places of
/// the log that were found before.
fn proven(
    opened: StoredLog,
    (mut left, texts): (BTreeSet<String>, &[String]),
    output: &mut ResultOutput,
    done: &str,
) -> Result<(), CommandError> {
    let is_database = opened.is_database();
    left.extend(opened.close_and_look(texts)?);
    if is_database {
        super::output::complain(
            "what PostgreSQL wrote before stays in its write-ahead log, on standbys and in backups until they are gone: `fanlight docs redaction`",
        );
    }
    if left.is_empty() {
        let nowhere = if is_database { "no row and no file" } else { "no file" };
        return output.line(&format!("{done}; {nowhere} holds it"));
    }
    let left = left.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
    Err(CommandError::new(
        format!("{done}, and it is left in {left}"),
        "look at these places, and remove it where it is not needed",
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
    log: &dyn ClosedLog,
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

/// The failure of a log that was opened.
fn unreadable(error: &LogError) -> CommandError {
    let mend = match error {
        LogError::Unknown => "`fanlight scan` and the list of the page have the names",
        _ => "the log may be damaged; see `fanlight docs operations`",
    };
    CommandError::new(error.to_string(), mend)
}
