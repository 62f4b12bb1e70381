//! The metrics, in the form that Prometheus reads. Their names are here, and those of the
//! log's sums in `measured`; `docs/metrics.md` explains each.
//!
//! Metrics cost nothing until somebody asks: counters are raised where things happen ([`hub::TALLY`], and the
//! proxy's own), gauges are computed for the answer. The text has three kinds of lines, so no library is
//! needed to write it.

use std::fmt::Write as _;

use access::RatedAct;
use event_log::{Health, Measured};

use crate::proxy::{COPIES_LOST, PROXIED};
use crate::slow;
use crate::state::Shared;
use hub::TALLY;

mod measured;

pub(crate) use measured::queries;

/// All numbers, in Prometheus' text format 0.0.4; those of the log where it was asked and has answered. Takes
/// some locks, each for a moment.
pub(crate) fn text(shared: &Shared, measured: Option<&Measured>) -> String {
    let mut page = Page::default();
    publishing(&mut page);
    viewing(&mut page, shared);
    keeping(&mut page, shared);
    proxying(&mut page, shared);
    redacting(&mut page, shared);
    counting(&mut page, shared);
    running(&mut page, shared);
    balancing(&mut page, shared);
    if let Some(measured) = measured {
        measured::put(&mut page, measured);
    }
    page.text
}

/// Writes the metrics about what publishers send.
fn publishing(page: &mut Page) {
    let it = &TALLY;
    page.counter("fanlight_publications_total", "Publications that were taken.", it.publications.get());
    page.counter("fanlight_events_total", "Events that were taken.", it.events.get());
    page.counter("fanlight_event_bytes_total", "About the bytes of the events as JSON.", it.bytes.get());
    page.counter(
        "fanlight_duplicates_total",
        "Publications that had been taken before.",
        it.duplicates.get(),
    );
    page.counter(
        "fanlight_gaps_total",
        "Publications that were refused since others are missing.",
        it.gaps.get(),
    );
    page.counter("fanlight_fenced_total", "Publications of older lives that were refused.", it.fenced.get());
    page.counter(
        "fanlight_full_total",
        "Publications that were refused since their conversation is as large as one may get.",
        it.full.get(),
    );
    page.counter(
        "fanlight_crowded_total",
        "Publications that were refused for the moment since memory is short.",
        it.crowded.get(),
    );
    page.counter(
        "fanlight_raw_left_out_total",
        "Raw events that were left out since those of their run have used up its budget.",
        it.raw_left_out.get(),
    );
}

/// What was redacted, by rule; nothing if nothing is.
fn redacting(page: &mut Page, shared: &Shared) {
    let Some(redactor) = shared.hub.redactor() else { return };
    page.head("fanlight_redactions_total", "Secrets that were marked instead of stored, by rule.", "counter");
    for (rule, count) in redactor.counts() {
        page.line("fanlight_redactions_total", &format!("{{rule=\"{rule}\"}}"), count);
    }
}

/// What principals send and are sent, which is not counted while access control is off.
fn counting(page: &mut Page, shared: &Shared) {
    let counted = shared.gate.counted();
    let (received, sent) =
        counted.map(|counted| (counted.received.totals(), counted.sent.totals())).unwrap_or_default();
    let ways = [("received", received), ("sent", sent)];
    page.head("fanlight_principal_bytes_total", "Bytes that count for the quotas of principals.", "counter");
    for (way, (bytes, _)) in ways {
        page.line("fanlight_principal_bytes_total", &format!("{{way=\"{way}\"}}"), bytes);
    }
    page.head(
        "fanlight_over_quota_total",
        "How often a principal or an address over its number was refused or slowed down.",
        "counter",
    );
    let acts = RatedAct::ALL.map(|act| {
        let totals = counted.map(|counted| counted.act(act).traffic.totals()).unwrap_or_default();
        (act.setting().trim_end_matches("_per_minute"), totals)
    });
    for (way, (_, over)) in ways.into_iter().chain(acts) {
        page.line("fanlight_over_quota_total", &format!("{{way=\"{way}\"}}"), over);
    }
    page.head(
        "fanlight_too_slow_total",
        "Connections and bodies of strangers that were cut since they came too slowly.",
        "counter",
    );
    for (what, count) in slow::ALL {
        page.line("fanlight_too_slow_total", &format!("{{what=\"{what}\"}}"), count.get());
    }
}

/// What viewers get, and what is in memory.
fn viewing(page: &mut Page, shared: &Shared) {
    let it = &TALLY;
    let on_sockets = shared.fanout.viewers();
    let usage = shared.hub.in_use();
    page.gauge("fanlight_sockets", "Open WebSockets.", shared.sockets.count());
    page.gauge("fanlight_subscriptions", "Subscriptions of conversations on WebSockets.", on_sockets);
    page.gauge("fanlight_list_subscriptions", "Subscriptions of the list.", shared.hub.watchers());
    let rungs = shared.fanout.ladder.viewers();
    page.head("fanlight_subscriptions_by_rung", "Subscriptions by how well they keep up.", "gauge");
    for (rung, count) in
        [("immediate", rungs.immediate), ("merged", rungs.merged), ("snapshot", rungs.snapshot)]
    {
        page.line("fanlight_subscriptions_by_rung", &format!("{{rung=\"{rung}\"}}"), count as u64);
    }
    let readers = usage.viewers.saturating_sub(on_sockets);
    page.gauge("fanlight_readers", "Readers over plain HTTP: streams and waits.", readers);
    page.counter(
        "fanlight_frames_total",
        "Frames with events that sockets took at once; those of viewers that catch up do not count.",
        it.frames.get(),
    );
    page.counter("fanlight_frame_bytes_total", "Bytes of those frames.", it.frame_bytes.get());
    page.counter("fanlight_encodes_total", "Frames that were encoded.", it.encoded.get());
    page.counter(
        "fanlight_encodes_shared_total",
        "Frames that were encoded already.",
        it.encodes_shared.get(),
    );
    page.counter("fanlight_snapshots_total", "Snapshots that were encoded.", it.snapshots.get());
    let shared_snapshots = it.snapshots_shared.get();
    page.counter("fanlight_snapshots_shared_total", "Snapshots that were encoded already.", shared_snapshots);
    page.gauge("fanlight_conversations_in_memory", "Conversations in memory.", usage.conversations);
    page.gauge("fanlight_ring_bytes", "About the bytes of memory that conversations hold.", usage.bytes);
}

/// What the log does.
fn keeping(page: &mut Page, shared: &Shared) {
    let log = shared.hub.log();
    // One after the other: holding the borrow while waiting for the queue's lock would block the writer,
    // which holds that lock.
    let progress = log.progress().borrow().clone();
    let figures = log.figures();
    page.gauge("fanlight_conversations", "Conversations that there are.", shared.hub.total());
    page.gauge("fanlight_log_queue_bytes", "Bytes that wait for the log to write them.", figures.queue_bytes);
    page.counter("fanlight_log_commits_total", "Transactions of the log.", figures.commits);
    let micros = figures.commit_micros;
    page.seconds("fanlight_log_commit_seconds_total", "Time that they took.", micros);
    let lag = |done: event_log::Ticket| figures.taken.0.saturating_sub(done.0);
    page.gauge(
        "fanlight_log_unstored",
        "Appends that the death of the hub would lose.",
        lag(progress.stored).saturating_add(figures.left_out),
    );
    page.gauge(
        "fanlight_log_unsynced",
        "Appends that the loss of power would lose.",
        lag(progress.synced).saturating_add(figures.left_out),
    );
    page.counter(
        "fanlight_log_set_aside_total",
        "Appends that could not be written for reasons of their own.",
        figures.set_aside,
    );
    page.gauge(
        "fanlight_log_unindexed_bytes",
        "Bytes of texts whose words searches do not find yet.",
        figures.unindexed_bytes,
    );
    let missing = log.missing().map_or(0, |missing| missing.commits);
    page.gauge("fanlight_log_missing", "Transactions that were acked and not found at the start.", missing);
    let failing = match &progress.health {
        Health::Well => None,
        Health::Failing(fault) => Some(fault.code),
    };
    page.head("fanlight_log_failing", "Whether the log cannot write, and why.", "gauge");
    for code in ["disk_full", "disk_failing"] {
        page.line("fanlight_log_failing", &format!("{{code=\"{code}\"}}"), u64::from(failing == Some(code)));
    }
}

/// What the proxy and the hub's agents do.
fn proxying(page: &mut Page, shared: &Shared) {
    page.counter("fanlight_proxy_calls_total", "Requests that were passed on.", PROXIED.get());
    page.counter("fanlight_proxy_copies_lost_total", "Recordings with a hole.", COPIES_LOST.get());
    let runs = shared.agents.count() as u64;
    page.gauge("fanlight_agent_runs", "Runs that the hub's own agents do.", runs);
    page.gauge("fanlight_proxy_recording", "Calls that are being recorded.", shared.proxy.recording());
    page.gauge("fanlight_proxy_copy_bytes", "Bytes that wait to be recorded.", shared.proxy.held());
}

/// How much this hub has to do, and what it gave to others because that was too much.
fn balancing(page: &mut Page, shared: &Shared) {
    let balance = &shared.balance;
    let load = balance.load();
    let used = "What the hub uses, in thousandths of a core, on average over ten seconds.";
    page.gauge("fanlight_cpu_used_millicores", used, load.used_millicores);
    let room = "What it may use before it is overloaded; 0 if it gives nothing and takes nothing.";
    page.gauge("fanlight_cpu_room_millicores", room, load.room_millicores);
    let given = "Conversations that went to another hub because this one was overloaded.";
    page.counter("fanlight_overload_moves_total", given, balance.given.get());
    let stayed = "Conversations that were to go and stayed.";
    page.counter("fanlight_overload_moves_refused_total", stayed, balance.stayed.get());
    let arrived = "Conversations that other hubs have moved here.";
    page.counter("fanlight_conversations_arrived_total", arrived, balance.arrived.get());
}

/// Runs whose publishers are gone, tasks, and draining.
fn running(page: &mut Page, shared: &Shared) {
    let orphans = shared.hub.orphans();
    page.counter("fanlight_runs_stalled_total", "Runs that the hub called stalled.", orphans.stalled());
    page.counter("fanlight_runs_lost_total", "Runs that the hub ended.", orphans.interrupted());
    let waiting = orphans.waiting() as u64;
    page.gauge("fanlight_unattended_conversations", "Conversations that wait for a publisher.", waiting);
    // The connection that asks is not counted.
    let tasks = shared.tasks.len().saturating_sub(1) as u64;
    page.gauge("fanlight_tasks", "Tasks: one for each connection, one for each group of viewers.", tasks);
    page.gauge("fanlight_draining", "Whether the hub is about to stop.", u64::from(shared.is_draining()));
}

/// The text so far.
#[derive(Debug, Default)]
struct Page {
    text: String,
}

impl Page {
    /// Writes the two lines with which a metric begins.
    fn head(&mut self, name: &str, help: &str, kind: &str) {
        self.put(format_args!("# HELP {name} {help}\n# TYPE {name} {kind}\n"));
    }

    fn put(&mut self, text: std::fmt::Arguments<'_>) {
        // Writing to a string cannot fail.
        self.text.write_fmt(text).unwrap_or_default();
    }

    /// Writes one value, with its labels.
    fn line(&mut self, name: &str, labels: &str, value: u64) {
        self.put(format_args!("{name}{labels} {value}\n"));
    }

    /// Writes a counter without labels.
    fn counter(&mut self, name: &str, help: &str, value: u64) {
        self.head(name, help, "counter");
        self.line(name, "", value);
    }

    /// Writes a gauge without labels.
    fn gauge(&mut self, name: &str, help: &str, value: u64) {
        self.head(name, help, "gauge");
        self.line(name, "", value);
    }

    /// Writes a counter of time. It is given in microseconds, and Prometheus wants seconds.
    fn seconds(&mut self, name: &str, help: &str, micros: u64) {
        self.head(name, help, "counter");
        let (seconds, rest) = (micros / 1_000_000, micros % 1_000_000);
        self.put(format_args!("{name} {seconds}.{rest:06}\n"));
    }
}

#[cfg(test)]
mod tests;
