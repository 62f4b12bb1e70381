//! The rows of all conversations, as the hub sends them: the newest over the socket, with whatever changes; older ones page by page,
//! as many as [`ROWS_MAX`]. Written by the session; components read.
//!
//! ```text
//! socket: fleet { full }  ──▶ rows replaced, generation + 1 ──▶ GET /v1/conversations?after=… ┐
//! socket: fleet           ──▶ rows merged                        page by page, until ROWS_MAX ┤
//!                                                                                             ▼
//!                              version (once per frame of the screen), sorting (a few times a second)
//! ```
//!
//! Rows from the socket win over those of pages, since they are newer. A row leaves when the hub says that its conversation is
//! gone, and when a list that was read anew to its end does not have it. Until then rows stay, so that a lost connection
//! does not empty the table.

use std::collections::{BTreeSet, HashSet};

use indexmap::IndexMap;
use leptos::prelude::*;
use leptos::task::spawn_local;
use model::ConversationId;
use model::frame::{ClientFrame, ConversationRow, SilenceThresholds};
use serde::Deserialize;

use super::table::Rows;
use crate::browser::{self, OncePerFrame};
use crate::fleet;
use crate::link::{Input, Status};
use crate::search::encoded;
use crate::session::Listener;

/// The number of rows from which on no further page is asked for.
const ROWS_MAX: usize = 100_000;

/// The number of rows that the subscription begins with.
const FIRST_ROWS: u64 = 500;

/// How many rows a page over HTTP has.
const PAGE_ROWS: usize = 1_000;

/// The number of rows above which sorting takes time that is felt: then it is done seldom.
const MANY_ROWS: usize = 5_000;

/// The least time between two sortings of few rows, and of many, in milliseconds.
const SORT_MS: [u64; 2] = [250, 2_000];

/// How often the board checks whether it is time to sort, in milliseconds.
const LOOK_MS: i32 = 250;

/// The time after which rows are sorted again without any change, in milliseconds: ages grow.
const AGE_MS: u64 = 10_000;

/// The rows of all conversations and the link to the hub. A handle: copies are the same rows. It is never
/// freed; a page has one.
#[derive(Clone, Copy)]
pub(super) struct Board(&'static Parts);

/// What a board is made of. Private parts are written by the board alone; components read the signals.
pub(super) struct Parts {
    /// By id, in the order in which they came. Not a signal: a table of 100,000 rows reads it only when
    /// `version` or `sorting` moves.
    rows: StoredValue<Rows, LocalStorage>,
    /// How often the hub began its list anew; a page that was asked for before the last time is dropped.
    generation: StoredValue<u32>,
    /// While the list is read anew: the conversations that are known to be there. `None` once all of it was read.
    confirmed: StoredValue<Option<HashSet<ConversationId>>>,
    /// The hub's clock minus ours, in milliseconds.
    ahead_ms: StoredValue<i64>,
    /// How frames are sent; `None` until the session has connected the board.
    send: StoredValue<Option<Send>, LocalStorage>,
    /// Moves `version`, at most once per frame of the screen.
    painter: StoredValue<Option<OncePerFrame>, LocalStorage>,
    /// When rows were last sorted, by this browser's clock in milliseconds since 1970.
    sorted_at: StoredValue<u64>,
    /// Whether a row changed since.
    is_changed: StoredValue<bool>,
    /// The indices of the rows that changed since [`Board::take_changed`]; at most all. They mean nothing once `removed` has moved.
    changed: StoredValue<BTreeSet<usize>>,
    /// Moves when a row changed: cells are drawn again.
    pub(super) version: RwSignal<u64>,
    /// Moves when rows are to be sorted: the order is computed again.
    pub(super) sorting: RwSignal<u64>,
    /// Moves when rows left: then the places of others in the map have changed.
    pub(super) removed: RwSignal<u64>,
    /// How many conversations the hub has; nothing before it has said so.
    pub(super) total: RwSignal<Option<u64>>,
    /// Why older rows are not there: the error of the last page that failed. No page is asked for after it.
    pub(super) trouble: RwSignal<Option<String>>,
    /// The state of the connection to the hub.
    pub(super) status: RwSignal<Status>,
    /// The hub's time in milliseconds since 1970, once a second.
    pub(super) now: RwSignal<u64>,
}

/// A function that sends a frame to the hub.
type Send = Box<dyn Fn(ClientFrame)>;

impl std::ops::Deref for Board {
    type Target = Parts;

    fn deref(&self) -> &Parts {
        self.0
    }
}

/// The frames that matter here, as docs/protocol.md has them. All others are read as `Other` and prove only
/// that the hub lives.
#[derive(Deserialize)]
#[serde(tag = "t", rename_all = "snake_case")]
enum Frame {
    Welcome {
        hb_ms: u64,
        #[serde(default)]
        silence: SilenceThresholds,
    },
    Bye {
        reconnect: bool,
        retry_ms: u64,
        reason: String,
    },
    Fleet {
        full: bool,
        rows: Vec<ConversationRow>,
        /// Conversations that were deleted.
        #[serde(default)]
        gone: Vec<ConversationId>,
        total: u64,
        ts: u64,
    },
    Hb {
        ts: u64,
    },
    #[serde(other)]
    Other,
}

/// A page of the list, as `GET /v1/conversations` answers.
#[derive(Deserialize)]
struct Page {
    /// The rows, the newest event first.
    conversations: Vec<ConversationRow>,
    /// What `after` must be to get the next page; `None` if this is the last.
    next: Option<String>,
}

impl Board {
    /// A board without rows, which looks for due sortings from now on.
    pub(super) fn new() -> Self {
        let board = Self(Box::leak(Box::new(Parts {
            rows: StoredValue::new_local(IndexMap::new()),
            generation: StoredValue::new(0),
            confirmed: StoredValue::new(None),
            ahead_ms: StoredValue::new(0),
            send: StoredValue::new_local(None),
            painter: StoredValue::new_local(None),
            sorted_at: StoredValue::new(0),
            is_changed: StoredValue::new(false),
            changed: StoredValue::new(BTreeSet::new()),
            version: RwSignal::new(0),
            sorting: RwSignal::new(0),
            removed: RwSignal::new(0),
            total: RwSignal::new(None),
            trouble: RwSignal::new(None),
            status: RwSignal::new(Status::Connecting),
            now: RwSignal::new(browser::now_ms()),
        })));
        let paint = move || board.version.update(|version| *version = version.wrapping_add(1));
        board.painter.set_value(Some(OncePerFrame::new(paint)));
        browser::every(1_000, move || board.now.set(board.hub_time()));
        browser::every(LOOK_MS, move || board.sort_when_due());
        board
    }

    /// Reads the rows, without tracking anything.
    pub(super) fn rows<T>(self, read: impl FnOnce(&Rows) -> T) -> T {
        self.rows.with_value(read)
    }

    /// The indices of the rows that are new or changed since the last call, for the one table of the page.
    pub(super) fn take_changed(self) -> BTreeSet<usize> {
        self.changed.try_update_value(std::mem::take).unwrap_or_default()
    }

    /// The hub's time in milliseconds since 1970: this browser's clock, corrected by what the hub's newest
    /// frame said.
    pub(super) fn hub_time(self) -> u64 {
        browser::now_ms().saturating_add_signed(self.ahead_ms.get_value())
    }

    /// Has the rows sorted at once, however short ago that was done.
    pub(super) fn sort_now(self) {
        self.sorted_at.set_value(browser::now_ms());
        self.is_changed.set_value(false);
        self.sorting.update(|count| *count = count.wrapping_add(1));
    }

    /// Has the rows sorted if one changed and the last sorting is long enough ago, or if ages have grown.
    fn sort_when_due(self) {
        let since = browser::now_ms().saturating_sub(self.sorted_at.get_value());
        let [few, many] = SORT_MS;
        let wait = if self.rows(IndexMap::len) > MANY_ROWS { many } else { few };
        if (self.is_changed.get_value() && since >= wait) || since >= AGE_MS {
            self.sort_now();
        }
    }

    /// Notes that a row changed: it is drawn with the next frame of the screen, and sorted when that is due.
    fn changed(self) {
        self.is_changed.set_value(true);
        self.painter.with_value(|painter| {
            if let Some(painter) = painter {
                painter.ask();
            }
        });
    }

    /// Compares the clocks. `ts` is the hub's time of a frame that has just come.
    fn hear_time(self, ts: u64) {
        let ahead =
            i64::try_from(ts).unwrap_or(0).saturating_sub(i64::try_from(browser::now_ms()).unwrap_or(0));
        self.ahead_ms.set_value(ahead);
    }

    /// Takes rows from the socket. `is_full` is whether the hub begins its list anew: at the beginning and after each lost
    /// connection.
    fn take(self, is_full: bool, rows: Vec<ConversationRow>, total: u64) {
        let is_first = self.total.get_untracked().is_none();
        let is_all = rows.len() < usize::try_from(FIRST_ROWS).unwrap_or(usize::MAX);
        let last = is_full.then(|| last_of(&rows)).flatten();
        let listed = rows.iter().map(|row| row.conversation.clone());
        if is_full {
            self.confirmed.set_value(Some(listed.collect()));
        } else {
            self.confirmed
                .update_value(|confirmed| confirmed.iter_mut().for_each(|all| all.extend(listed.clone())));
        }
        self.put(rows, |_, _| true);
        if self.total.get_untracked() != Some(total) {
            self.total.set(Some(total));
        }
        if is_full {
            self.generation.update_value(|generation| *generation = generation.wrapping_add(1));
            match last.filter(|_| !is_all) {
                Some(last) => self.fetch_older(last),
                None => self.forget_unconfirmed(),
            }
        }
        self.changed();
        if is_full || is_first {
            self.sort_now();
        }
    }

    /// Takes out the rows of conversations that were deleted: the hub said so, or this page did it.
    pub(super) fn lose(self, gone: &[ConversationId]) {
        let has_lost = self.rows.try_update_value(|known| {
            let gone = gone.iter().filter(|id| known.swap_remove(*id).is_some());
            gone.count() > 0
        });
        self.confirmed.update_value(|confirmed| {
            let confirmed = confirmed.iter_mut();
            confirmed.for_each(|all| all.retain(|id| !gone.contains(id)));
        });
        if has_lost == Some(true) {
            self.rows_left();
        }
    }

    /// Takes out the rows that the list did not have, now that it was read to its end.
    fn forget_unconfirmed(self) {
        let Some(confirmed) = self.confirmed.try_update_value(Option::take).flatten() else { return };
        let has_lost = self.rows.try_update_value(|known| {
            let before = known.len();
            known.retain(|id, _| confirmed.contains(id));
            known.len() < before
        });
        if has_lost == Some(true) {
            self.rows_left();
        }
    }

    /// Has the table drawn without the rows that left, at once.
    fn rows_left(self) {
        self.removed.update(|count| *count = count.wrapping_add(1));
        self.sort_now();
        self.version.update(|version| *version = version.wrapping_add(1));
    }

    /// Asks for what is older than `last`, where the rows of the socket end, page by page, in a task of its own. It ends at the
    /// last page, at [`ROWS_MAX`], with the first error, and when the hub began its list anew meanwhile. At its end the rows go
    /// that are in no page.
    fn fetch_older(self, last: String) {
        let generation = self.generation.get_value();
        spawn_local(async move {
            let mut after = Some(last);
            while let Some(place) = after.take() {
                let path =
                    format!("/v1/conversations?limit={PAGE_ROWS}&archived=all&after={}", encoded(&place));
                let answer = browser::fetch_text(&path).await;
                if self.generation.get_value() != generation {
                    return;
                }
                match answer.map(|text| serde_json::from_str::<Page>(&text)) {
                    Ok(Ok(Page { conversations, next })) => {
                        self.take_page(conversations);
                        after = next.filter(|_| self.rows(IndexMap::len) < ROWS_MAX);
                        if after.is_none() {
                            self.forget_unconfirmed();
                        }
                    }
                    Ok(Err(error)) => self.trouble.set(Some(error.to_string())),
                    Err(why) => self.trouble.set(Some(why)),
                }
                browser::rest().await;
            }
        });
    }

    /// Takes a page of older rows. What the socket said of one of them is newer and stays.
    fn take_page(self, rows: Vec<ConversationRow>) {
        let listed = rows.iter().map(|row| row.conversation.clone());
        self.confirmed
            .update_value(|confirmed| confirmed.iter_mut().for_each(|all| all.extend(listed.clone())));
        self.put(rows, |known, row| (known.at, known.head) <= (row.at, row.head));
        self.changed();
    }

    /// Puts rows in, and notes which changed. One that is known is replaced if `is_newer`, called with both, says so.
    fn put(self, rows: Vec<ConversationRow>, is_newer: fn(&ConversationRow, &ConversationRow) -> bool) {
        let changed = self.rows.try_update_value(|known| {
            let mut changed = Vec::with_capacity(rows.len());
            for row in rows {
                if known.get(&row.conversation).is_none_or(|old| is_newer(old, &row)) {
                    changed.push(known.insert_full(row.conversation.clone(), row).0);
                }
            }
            changed
        });
        self.changed.update_value(|all| all.extend(changed.unwrap_or_default()));
    }
}

/// Where the list goes on after `rows`, as the hub wants it. Pinned ones stand before the others, whatever their time; if all are
/// pinned, more of these follow.
fn last_of(rows: &[ConversationRow]) -> Option<String> {
    let oldest = |pinned: bool| {
        let those = rows.iter().filter(|row| row.pinned == pinned);
        those.max_by_key(|row| (std::cmp::Reverse(row.at), &row.conversation))
    };
    let place = |row: &ConversationRow| format!("{}:{}", row.at, row.conversation);
    oldest(false).map(place).or_else(|| oldest(true).map(|row| format!("pinned:{}", place(row))))
}

impl Listener for Board {
    fn connect_to(self, send: impl Fn(ClientFrame) + 'static, _wake: impl Fn() + 'static) {
        self.send.set_value(Some(Box::new(send)));
    }

    fn subscriptions(self) -> Vec<ClientFrame> {
        vec![ClientFrame::Watch { sub: 1, limit: Some(FIRST_ROWS) }]
    }

    fn hear(self, text: &str) -> Option<(Input, Option<ClientFrame>)> {
        let frame = match serde_json::from_str::<Frame>(text) {
            Ok(frame) => frame,
            Err(error) => {
                web_sys::console::warn_1(&format!("a frame of the hub cannot be read: {error}").into());
                return None;
            }
        };
        Some(match frame {
            Frame::Welcome { hb_ms, silence } => {
                fleet::take_thresholds(silence);
                (Input::Welcomed { hb_ms }, None)
            }
            Frame::Bye { reconnect, retry_ms, reason } => (Input::Bye { reconnect, retry_ms, reason }, None),
            Frame::Fleet { full, rows, gone, total, ts } => {
                self.hear_time(ts);
                self.lose(&gone);
                self.take(full, rows, total);
                (Input::Heard, None)
            }
            Frame::Hb { ts } => {
                self.hear_time(ts);
                (Input::Heard, Some(ClientFrame::HbAck { at: std::collections::BTreeMap::default() }))
            }
            Frame::Other => (Input::Heard, None),
        })
    }

    fn disconnected(self) {}

    fn set_status(self, status: Status) {
        if self.status.with_untracked(|known| *known != status) {
            self.status.set(status);
        }
    }
}
