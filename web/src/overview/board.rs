//! The rows of all conversations, as the hub sends them: the newest over the socket, with whatever changes; older ones page by page,
//! as many as [`ROWS_MAX`]. Written by the session; components read.

use indexmap::IndexMap;
use leptos::prelude::*;
use leptos::task::spawn_local;
use model::ConversationId;
use model::frame::{ClientFrame, ConversationRow};
use serde::Deserialize;

use crate::browser::{self, OncePerFrame};
use crate::link::{Input, Status};
use crate::search::encoded;
use crate::session::Listener;

/// Most rows that are held.
const ROWS_MAX: usize = 100_000;

/// Rows that the socket begins with.
const FIRST_ROWS: u64 = 500;

/// Rows that are asked for at once.
const PAGE_ROWS: usize = 1_000;

/// From so many rows on sorting takes time that is felt: then it is done seldom.
const MANY_ROWS: usize = 5_000;

/// Between two sortings of few rows, and of many, in milliseconds.
const SORT_MS: [u64; 2] = [250, 2_000];

/// How often it is looked whether rows are to be sorted, in milliseconds.
const LOOK_MS: i32 = 250;

/// After so many milliseconds rows are sorted again though none came: ages grow.
const AGE_MS: u64 = 10_000;

/// A handle; copies are the same rows.
#[derive(Clone, Copy)]
pub(super) struct Board(&'static Parts);

/// What a board is made of.
pub(super) struct Parts {
    rows: StoredValue<IndexMap<ConversationId, ConversationRow>, LocalStorage>,
    /// How often all rows were replaced.
    generation: StoredValue<u32>,
    /// The hub's clock minus ours, in milliseconds.
    ahead_ms: StoredValue<i64>,
    send: StoredValue<Option<Send>, LocalStorage>,
    painter: StoredValue<Option<OncePerFrame>, LocalStorage>,
    sorted_at: StoredValue<u64>,
    is_changed: StoredValue<bool>,
    /// Something changed in the rows.
    pub(super) version: RwSignal<u64>,
    /// It is time to sort them.
    pub(super) sorting: RwSignal<u64>,
    /// How many conversations the hub has; nothing before it has said so.
    pub(super) total: RwSignal<Option<u64>>,
    /// Why older rows are not there.
    pub(super) trouble: RwSignal<Option<String>>,
    /// How the link stands.
    pub(super) status: RwSignal<Status>,
    /// The hub's time, once a second.
    pub(super) now: RwSignal<u64>,
}

/// The way to the hub.
type Send = Box<dyn Fn(ClientFrame)>;

impl std::ops::Deref for Board {
    type Target = Parts;

    fn deref(&self) -> &Parts {
        self.0
    }
}

/// The frames that matter here.
#[derive(Deserialize)]
#[serde(tag = "t", rename_all = "snake_case")]
enum Frame {
    Welcome {
        hb_ms: u64,
    },
    Bye {
        reconnect: bool,
        retry_ms: u64,
        reason: String,
    },
    Fleet {
        full: bool,
        rows: Vec<ConversationRow>,
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
    conversations: Vec<ConversationRow>,
    next: Option<String>,
}

impl Board {
    /// No rows yet.
    pub(super) fn new() -> Self {
        let board = Self(Box::leak(Box::new(Parts {
            rows: StoredValue::new_local(IndexMap::new()),
            generation: StoredValue::new(0),
            ahead_ms: StoredValue::new(0),
            send: StoredValue::new_local(None),
            painter: StoredValue::new_local(None),
            sorted_at: StoredValue::new(0),
            is_changed: StoredValue::new(false),
            version: RwSignal::new(0),
            sorting: RwSignal::new(0),
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
    pub(super) fn rows<T>(self, read: impl FnOnce(&IndexMap<ConversationId, ConversationRow>) -> T) -> T {
        self.rows.with_value(read)
    }

    /// The hub's time.
    pub(super) fn hub_time(self) -> u64 {
        browser::now_ms().saturating_add_signed(self.ahead_ms.get_value())
    }

    /// Sorts at once, whatever was waited for.
    pub(super) fn sort_now(self) {
        self.sorted_at.set_value(browser::now_ms());
        self.is_changed.set_value(false);
        self.sorting.update(|count| *count = count.wrapping_add(1));
    }

    fn sort_when_due(self) {
        let since = browser::now_ms().saturating_sub(self.sorted_at.get_value());
        let [few, many] = SORT_MS;
        let wait = if self.rows(IndexMap::len) > MANY_ROWS { many } else { few };
        if (self.is_changed.get_value() && since >= wait) || since >= AGE_MS {
            self.sort_now();
        }
    }

    fn changed(self) {
        self.is_changed.set_value(true);
        self.painter.with_value(|painter| {
            if let Some(painter) = painter {
                painter.ask();
            }
        });
    }

    fn hear_time(self, ts: u64) {
        let ahead =
            i64::try_from(ts).unwrap_or(0).saturating_sub(i64::try_from(browser::now_ms()).unwrap_or(0));
        self.ahead_ms.set_value(ahead);
    }

    fn take(self, is_full: bool, rows: Vec<ConversationRow>, total: u64) {
        let is_first = self.total.get_untracked().is_none();
        self.rows.update_value(|known| {
            if is_full {
                known.clear();
            }
            known.extend(rows.into_iter().map(|row| (row.conversation.clone(), row)));
        });
        if is_full {
            self.generation.update_value(|generation| *generation = generation.wrapping_add(1));
            self.fetch_older();
        }
        self.total.set(Some(total));
        self.changed();
        if is_full || is_first {
            self.sort_now();
        }
    }

    /// Asks for what is older than the rows that the socket began with, page by page.
    fn fetch_older(self) {
        let generation = self.generation.get_value();
        let last = self.rows(|rows| {
            let last = rows.values().max_by_key(|row| (std::cmp::Reverse(row.at), &row.conversation));
            last.map(|last| format!("{}:{}", last.at, last.conversation))
        });
        if self.rows(IndexMap::len) < usize::try_from(FIRST_ROWS).unwrap_or(usize::MAX) {
            return;
        }
        spawn_local(async move {
            let mut after = last;
            while let Some(place) = after.take() {
                let path = format!("/v1/conversations?limit={PAGE_ROWS}&after={}", encoded(&place));
                let answer = browser::fetch_text(&path).await;
                // All rows may have come anew meanwhile.
                if self.generation.get_value() != generation {
                    return;
                }
                match answer.map(|text| serde_json::from_str::<Page>(&text)) {
                    Ok(Ok(Page { conversations, next })) => {
                        self.rows.update_value(|known| {
                            for row in conversations {
                                known.entry(row.conversation.clone()).or_insert(row);
                            }
                        });
                        self.changed();
                        after = next.filter(|_| self.rows(IndexMap::len) < ROWS_MAX);
                    }
                    Ok(Err(error)) => self.trouble.set(Some(error.to_string())),
                    Err(why) => self.trouble.set(Some(why)),
                }
                browser::rest().await;
            }
        });
    }
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
                web_sys::console::warn_1(&format!("a frame of the hub is none: {error}").into());
                return None;
            }
        };
        Some(match frame {
            Frame::Welcome { hb_ms } => (Input::Welcomed { hb_ms }, None),
            Frame::Bye { reconnect, retry_ms, reason } => (Input::Bye { reconnect, retry_ms, reason }, None),
            Frame::Fleet { full, rows, total, ts } => {
                self.hear_time(ts);
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
