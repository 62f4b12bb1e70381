//! Every bound of the model and of the wire, in one place. Crossing one has a named [`crate::code::ErrorCode`] or a named
//! [`crate::anomaly::AnomalyCode`]; nothing is cut in silence (invariant I7).

mod slow;

pub use slow::{BODY_IDLE_MS, HEAD_S, STRANGER_BODY_S};

/// Largest number that is taken from outside, in any field of an event: what JavaScript still counts exactly, and far below
/// what the log can hold.
pub const NUMBER_MAX: u64 = 1 << 53;

/// Longest WebSocket frame that the hub takes from a client, in bytes.
pub const INBOUND_FRAME_BYTES_MAX: usize = 1 << 20;

/// Longest first frame of a client, in bytes: `hello` with a token of the largest size, twice. Who sends it is not known yet, and its socket
/// keeps no more.
pub const HELLO_BYTES_MAX: usize = 16 << 10;

/// Most bytes that a client may send on a socket without a text frame that is whole: a frame of the largest size in any pieces,
/// and some pings. Beyond it the socket is closed.
pub const INBOUND_BYTES_WITHOUT_TEXT_MAX: usize = 2 * INBOUND_FRAME_BYTES_MAX;

/// Snapshots that a client may ask for at once, because its state does not fit (`resync`).
pub const RESYNCS_MAX: u32 = 16;

/// After this time it may ask for one more, in milliseconds.
pub const RESYNC_EVERY_MS: u64 = 1_000;

/// Longest name of a conversation, in bytes.
pub const CONVERSATION_ID_BYTES_MAX: usize = 128;

/// Longest id of anything inside a conversation, in bytes; longer ones are shortened, see [`crate::ids`].
pub const ID_BYTES_MAX: usize = 160;

/// Longest line or SSE event of a foreign stream, in bytes.
pub const LINE_BYTES_MAX: usize = 16 << 20;

/// Longest tool call that is taken out of plain text, in bytes, unless an agent's settings say otherwise.
pub const TEXT_CALL_BYTES_MAX: usize = 1 << 20;

/// Longest text that a part, the arguments of a call or its streamed output keep in a view, in bytes: as much as an agent may
/// be set to take of one answer. What comes after is counted, not kept.
pub const PART_BYTES_MAX: usize = 10 << 20;

/// Longest result of one tool call kept in a view, in bytes.
pub const RESULT_BYTES_MAX: usize = 4 << 20;

/// Longest result that stands in its event, in bytes of JSON. Of a longer one the event has the beginning, and the log
/// keeps the whole beside it.
pub const RESULT_INLINE_BYTES_MAX: usize = 256 << 10;

/// How much of a longer result stands in its event, in bytes.
pub const RESULT_BEGINNING_BYTES: usize = 16 << 10;

/// Most bytes of such results that one document is given; of the others it has the beginnings.
pub const WHOLE_BYTES_MAX: usize = 64 << 20;

/// Longest name inside an event (of a model, an agent, a tool, a role, a reason, an error), in bytes. The rest is cut.
pub const NAME_BYTES_MAX: usize = 1 << 10;

/// Longest title of a run, in bytes. The rest is cut.
pub const TITLE_BYTES_MAX: usize = 4 << 10;

/// Longest title that a person gives a conversation, in bytes: 200 characters of four bytes, as many as a row of the list shows.
pub const LABEL_TITLE_BYTES_MAX: usize = 800;

/// Most tags of one conversation.
pub const LABEL_TAGS_MAX: usize = 16;

/// Longest tag, in characters.
pub const LABEL_TAG_CHARS_MAX: usize = 64;

/// Longest note that a person writes about a conversation, in bytes.
pub const LABEL_NOTE_BYTES_MAX: usize = 4 << 10;

/// Most runs and messages of one conversation that people rate.
pub const RATINGS_MAX: usize = 256;

/// Longest reason that a person gives for a rating, in bytes.
pub const RATING_WHY_BYTES_MAX: usize = 1 << 10;

/// Longest line about what goes on in a run, in bytes; a run keeps the newest. The rest is cut.
pub const STATUS_BYTES_MAX: usize = 1 << 20;

/// Longest task of a sub-agent, in bytes. The rest is cut.
pub const TASK_BYTES_MAX: usize = 256 << 10;

/// Longest signature of a thinking part, in bytes; a longer one is no signature.
pub const SIGNATURE_BYTES_MAX: usize = 64 << 10;

/// Longest value of a custom or raw event kept in a view, in bytes.
pub const NOTE_BYTES_MAX: usize = 64 << 10;

/// Most names of tools in a row of the list.
pub const ROW_TOOLS_MAX: usize = 16;

/// Most executing calls in a row of the list beside the one that executes longest: what a tile of the wall has room for.
pub const ROW_MORE_CALLS_MAX: usize = 4;

/// Bytes of raw events of one run that a view keeps and that the log is given whole; later ones are counted alone. A stream of which so
/// much has no other form is one that nobody reads, and each viewer is sent all of it.
pub const RAW_BYTES_PER_RUN_MAX: u64 = 2 << 20;

/// How the names of custom events begin that are the hub's own bookkeeping: it reads them back out of views.
pub const BOOKKEEPING_PREFIX: &str = "remote_";

/// Longest value of such an event kept in a view, in bytes. A pause or an answer that is longer ends its run.
pub const BOOKKEEPING_BYTES_MAX: usize = 1 << 20;

/// Most runs in one view.
pub const RUNS_MAX: usize = 10_000;

/// Most items (parts, tool calls, agents, notes) in one run.
pub const ITEMS_PER_RUN_MAX: usize = 50_000;

/// Most messages of history in one view.
pub const MESSAGES_MAX: usize = 10_000;

/// Most anomalies that a view keeps word for word; beyond it they are only counted.
pub const ANOMALIES_KEPT_MAX: usize = 64;

/// Most bytes of envelopes that a conversation's ring holds.
pub const RING_BYTES_MAX: usize = 8 << 20;

/// Most bytes of envelopes that a conversation's ring keeps while conversations that are in use hold more memory than their target. A
/// viewer that is further behind gets the snapshot.
pub const RING_BYTES_CROWDED: usize = 512 << 10;

/// Most envelopes that a conversation's ring holds.
pub const RING_EVENTS_MAX: usize = 20_000;

/// About the memory that conversations hold, in bytes, their states and newest events, above which idle ones leave it early.
pub const MEMORY_BYTES_TARGET: u64 = 64 << 20;

/// Share of that target, in percent, above which the hub is crowded: then a conversation larger than
/// [`CROWDED_CONVERSATION_BYTES_MAX`] takes nothing more from outside that makes it larger, until there is room.
pub const CROWDED_PERCENT: u64 = 150;

/// About the memory that the state of one conversation may hold, in bytes, while the hub is crowded.
pub const CROWDED_CONVERSATION_BYTES_MAX: u64 = 8 << 20;

/// About the memory that the state of one conversation holds, in bytes, above which it takes nothing more from outside that makes
/// it larger.
pub const CONVERSATION_BYTES_MAX: u64 = 64 << 20;

/// How long a conversation that nobody uses stays in memory, in milliseconds.
pub const IDLE_MS: u64 = 600_000;

/// How much of a text, of arguments or of a result can be found by searching, in bytes from its beginning.
pub const DOCUMENT_BYTES_MAX: usize = 256 << 10;

/// Acks that a socket may wait for; beyond it nothing more is read from the socket.
pub const ACKS_OWED_MAX: usize = 1_024;

/// Most subscriptions on one socket.
pub const SUBSCRIPTIONS_PER_SOCKET_MAX: usize = 256;

/// Fewest bytes for which a viewer may ask of the newest part of a conversation; who asks for fewer gets as many.
pub const NEWEST_BYTES_MIN: u64 = 16 << 10;

/// A viewer that asks for so many bytes of the newest part of a conversation, or more, gets all of it: choosing a part takes some
/// milliseconds for each megabyte, in which nobody can append.
pub const NEWEST_BYTES_MAX: u64 = 2 << 20;

/// How many windows of a conversation are known by name, so that a viewer that comes back goes on with the one that it has.
pub const WINDOWS_KNOWN_MAX: usize = 32;

/// Most names of viewers in one presence frame; of more the first are told, and the number says how many there are.
pub const PRESENCE_NAMES_MAX: usize = 50;

/// Longest wait between two frames that a viewer may ask for, in milliseconds.
pub const MIN_INTERVAL_MS_MAX: u16 = 500;

/// Most conversations that a hub holds in memory.
pub const CONVERSATIONS_MAX: usize = 50_000;

/// Most publishers that one conversation remembers for exactly-once.
pub const PUBLISHERS_PER_CONVERSATION_MAX: usize = 1_000;

/// Most bytes that wait to be written to the log on disk. Publishers are told to wait when half of it is in use.
pub const LOG_QUEUE_BYTES_MAX: usize = 64 << 20;

/// Most bytes of texts that wait for the log and are shared with the states of conversations, so that they do not count above.
pub const LOG_SHARED_BYTES_MAX: usize = 64 << 20;

/// Most bytes of the file in which the log keeps what it could not write. Beyond it such events are only named.
pub const LOG_ASIDE_BYTES_MAX: u64 = 64 << 20;

/// Most bytes of a conversation that went which the log deletes in one transaction.
pub const LOG_SWEEP_BYTES: usize = 1 << 20;

/// Longest query of a search, in bytes.
pub const SEARCH_QUERY_BYTES_MAX: usize = 1 << 10;

/// How long a search may take, in milliseconds. What it has found by then is its answer, marked as a part of it.
pub const SEARCH_MS: u64 = 2_000;

pub use work::{
    LARGE_ANSWERS_AT_ONCE_MAX, PIECE_BYTES_TARGET, PIECES_AT_ONCE_MAX, REQUESTS_WAITING_MAX,
    REQUESTS_WAITING_PER_PRINCIPAL_MAX, SEARCHES_AT_ONCE_MAX, STREAMS_OPEN_MAX,
    STREAMS_OPEN_PER_PRINCIPAL_MAX, TRANSFERS_OPEN_MAX, TRANSFERS_OPEN_PER_PRINCIPAL_MAX, WORK_AT_ONCE_MAX,
};

mod work;

/// Longest body of `POST /v1/conversations/{c}/events`, in bytes. A longer one is refused (413).
pub const EVENTS_BODY_BYTES_MAX: usize = 16 << 20;

/// Most bodies over [`LARGE_BODY_BYTES`] whose events are read and published at a time. Another one waits for its turn.
pub const LARGE_BODIES_AT_ONCE_MAX: usize = 4;

/// A body takes one of those turns for each so many bytes that it has: while the largest is read, no other is, since a body and the events
/// that are made of it are in memory together.
pub const BODY_BYTES_OF_A_TURN: usize = EVENTS_BODY_BYTES_MAX / LARGE_BODIES_AT_ONCE_MAX;

/// A body of events or a frame of a socket with more bytes than this is read behind the threads that serve sockets.
pub const LARGE_BODY_BYTES: usize = 64 << 10;

/// A conversation with more bytes of texts than this is a large one.
pub const LARGE_VIEW_BYTES: usize = 4 << 20;

/// How long an answer waits for its turn to be made before it is refused, in milliseconds.
pub const ANSWER_AWAITED_MS: u64 = 10_000;

/// An answer with more bytes than this waits in a file until it is sent.
pub const SPOOL_MEMORY_BYTES: usize = 256 << 10;

/// Most bytes of such files, all answers together.
pub const SPOOL_BYTES_MAX: u64 = 4 << 30;

/// Most hits in one answer of a search.
pub const HITS_MAX: usize = 500;

/// Most tools with figures of their own; the others count together.
pub const TOOLS_MAX: usize = 10_000;

/// Most rows of sums of measurements for one hour, and for one day; what is more counts under the name `(others)`.
pub const MEASURES_PER_SPAN_MAX: usize = 20_000;

/// How many hours have sums of their own before only days have: about a quarter of a year.
pub const MEASURE_HOURS_KEPT: u64 = 92 * 24;

/// Most rows of sums that the log in memory keeps, over all hours.
pub const MEASURES_IN_MEMORY_MAX: usize = 50_000;

/// Most sums that one question about measurements may have as its answer.
pub const MEASURE_SUMS_MAX: usize = 200_000;

/// Most steps of a series.
pub const SERIES_STEPS_MAX: u64 = 2_400;

/// Most groups of a metric in a series; what is more counts under the name `(others)`.
pub const SERIES_GROUPS_MAX: usize = 50;

/// Most rows of a table of what was used.
pub const USAGE_ROWS_MAX: usize = 10_000;

/// Most ephemeral events (progress, rates) kept by one conversation, one for each key.
pub const EPHEMERA_MAX: usize = 256;

/// Most calls of one token with a budget that go on at the same time: what they cost may be spent beyond it.
pub const BUDGETED_CALLS_MAX: u32 = 64;

/// Most events in one `pub` frame or one body of native events.
pub const EVENTS_PER_PUBLISH_MAX: usize = 10_000;

/// How long a stream of one run waits for that run to begin, in milliseconds.
pub const RUN_AWAITED_MS: u64 = 10_000;

/// Longest `JSONPath` in the description of a dialect, in bytes.
pub const JSON_PATH_BYTES_MAX: usize = 1 << 10;

/// Deepest nesting of brackets in such a path.
pub const JSON_PATH_DEPTH_MAX: usize = 16;

/// Longest file that is imported, in bytes.
pub const IMPORT_BYTES_MAX: usize = 256 << 20;

/// Longest request that the proxy reads, in bytes. A longer one is passed on and recorded without its history.
pub const PROXY_REQUEST_BYTES_MAX: usize = 64 << 20;

/// How far the recording of a call may be behind the call, in bytes of its answer. Beyond it the rest is not recorded.
pub const PROXY_LAG_BYTES_MAX: usize = 8 << 20;

/// Most bytes of requests and answers that wait to be recorded, for all calls through the proxy together.
pub const PROXY_COPIES_BYTES_MAX: usize = 128 << 20;

/// How long the proxy tries to connect to an upstream, in milliseconds.
pub const PROXY_CONNECT_MS: u64 = 10_000;

/// Most `WebSocket`s that the proxy passes at the same time.
pub const PROXY_SOCKETS_MAX: usize = 1_024;

/// How long one direction of a WebSocket through the proxy may stay open after the other one is over, in milliseconds.
pub const PROXY_SOCKET_HALF_MS: u64 = 60_000;

/// Most pieces of a WebSocket through the proxy, of 16 KiB at most each, that wait to be recorded. Beyond, the rest is not.
pub const PROXY_SOCKET_PIECES_MAX: usize = 256;

/// Most answers of one WebSocket through the proxy that are asked for and not over. More are passed on and not recorded.
pub const PROXY_SOCKET_ANSWERS_MAX: usize = 64;

/// Most items of input that a WebSocket through the proxy may say before an answer. More are passed on and not recorded.
pub const PROXY_SOCKET_ITEMS_MAX: usize = 1_024;

/// Most texts of one call of the proxy whose last bytes wait for the next delta because they may begin a key.
pub const PROXY_PARTS_HELD_MAX: usize = 256;

/// Most runs that the hub's own agents do at the same time.
pub const RUNS_AT_ONCE_MAX: usize = 256;

/// Longest command, in bytes.
pub const COMMAND_BYTES_MAX: usize = 1 << 20;

/// Largest file of a message, in bytes: what Anthropic's API takes as one image.
pub const FILE_BYTES_MAX: usize = 5 << 20;

/// Most files of one message.
pub const FILES_PER_MESSAGE_MAX: usize = 8;

/// Most bytes that the files of one message have together: as base64 they fit into a body of native events.
pub const FILES_BYTES_MAX: usize = 10 << 20;

/// Longest name of a file, in bytes: that of most file systems.
pub const FILE_NAME_BYTES_MAX: usize = 255;

/// Longest command over HTTP, in bytes: the files of a message as base64, and [`COMMAND_BYTES_MAX`] for the rest.
pub const COMMAND_WITH_FILES_BYTES_MAX: usize = (FILES_BYTES_MAX / 3 + 1) * 4 + COMMAND_BYTES_MAX;

/// Most bytes of files, as base64, that one request to a model has: APIs take 32 MB. The newest come first.
pub const MODEL_FILES_BYTES_MAX: usize = 24 << 20;

/// Most commands of one socket that wait for the one before them.
pub const COMMANDS_WAITING_MAX: usize = 16;

/// Longest request to one of the served contracts, in bytes: a whole history, and files that are not kept.
pub const REQUEST_BYTES_MAX: usize = 32 << 20;

/// Most commands whose answers are remembered for those who repeat themselves.
pub const COMMANDS_REMEMBERED_MAX: usize = 1_000;

/// Longest message of a server with tools, in bytes: a result that is longer is lost, and its call runs out of time.
pub const TOOL_MESSAGE_BYTES_MAX: usize = 64 << 20;

/// Most bytes of files (images, sounds), as base64, that one result of a tool brings along.
pub const TOOL_FILES_BYTES_MAX: usize = 2 << 20;

/// Deepest nesting of JSON that is taken from outside.
pub const JSON_DEPTH_MAX: usize = 64;

/// Deepest nesting of Markdown, in elements, that the page and exports build; what stands deeper is laid flat. A browser
/// lays nested elements out on its stack, and a few kilobytes of text can ask for thousands of them.
pub const MARKDOWN_DEPTH_MAX: usize = 48;

/// Deepest nesting of sub-agents in the layout of a run; an agent that stands deeper is drawn beside its ancestor at this
/// depth.
pub const AGENT_LANES_DEPTH_MAX: usize = 16;

/// Most calls of one answer whose results are waited for.
pub const CALLS_AWAITED_MAX: usize = 1_000;

/// Most agent loops that the proxy remembers in order to join their next call to them.
pub const LOOPS_REMEMBERED_MAX: usize = 10_000;

/// How long it remembers one that does not call any more, in milliseconds.
pub const LOOP_REMEMBERED_MS: u64 = 24 * 3_600_000;

/// Most points of one loop that it remembers for others to branch off from.
pub const FORK_POINTS_MAX: usize = 64;

/// How long the proxy waits for the result of a call that may be the answer itself, in milliseconds. Then the run is complete.
pub const OUTPUT_AWAITED_MS: u64 = 1_000;

/// How long a run of the proxy waits for the results of its calls until it is given up, in milliseconds.
pub const RESULTS_AWAITED_MS: u64 = 600_000;

/// Most messages of the history that are told when a conversation begins in the middle.
pub const HISTORY_MESSAGES_MAX: usize = 1_000;

/// Most tools of one request that are read.
pub const OFFERED_TOOLS_MAX: usize = 512;

/// Longest schema of an offered tool that is kept, in bytes.
pub const SCHEMA_BYTES_MAX: usize = 16 << 10;

/// Longest body of an export of spans, in bytes, both as it comes and unpacked.
pub const EXPORT_BYTES_MAX: usize = 16 << 20;

/// Most spans of one export.
pub const SPANS_PER_EXPORT_MAX: usize = 10_000;

/// Most attributes of one span. Messages may be written as one attribute for each of their fields.
pub const SPAN_ATTRIBUTES_MAX: usize = 10_000;

/// Most spans of one trace.
pub const SPANS_PER_TRACE_MAX: usize = 10_000;

/// Most spans that are remembered, of all traces; beyond it the trace that was silent longest is forgotten.
pub const SPANS_REMEMBERED_MAX: usize = 100_000;

/// Most bytes of spans that wait for their ancestors; beyond it they are told without.
pub const SPANS_HELD_BYTES_MAX: usize = 64 << 20;

/// How long a span waits for its ancestors, and a run whose root has come for more spans, in milliseconds.
pub const SPAN_HELD_MS: u64 = 1_000;

/// How long a trace without a root is silent before its run ends, unless a call still waits for its result, in
/// milliseconds.
pub const TRACE_QUIET_MS: u64 = 60_000;

/// How long a silent trace is remembered, in milliseconds.
pub const TRACE_REMEMBERED_MS: u64 = 3_600_000;

/// Most runs of callers who name no conversation that are remembered, to know by their history what they go on with.
pub const THREADS_REMEMBERED_MAX: usize = 10_000;

/// Most of them that were asked the same.
pub const THREADS_ALIKE_MAX: usize = 1_000;

/// Most models that clients of Forge's door have added or changed.
pub const FORGE_MODELS_MAX: usize = 1_000;

/// How long conversations that began alike count as open at the same time, in milliseconds: of those the one that was
/// answered first is gone on with first, of older ones the newest.
pub const ALIKE_AT_ONCE_MS: u64 = 600_000;

/// How long a stream of server-sent events is silent before it shows that it is alive, in milliseconds, unless the hub is
/// told otherwise.
pub const SSE_PING_MS: u64 = 15_000;

/// How long a stream in Forge's dialect is silent before it shows that it is alive, in milliseconds. Forge's own server waits as long.
pub const FORGE_PING_MS: u64 = 30_000;

/// Between two heartbeats of the hub on one socket, in milliseconds.
pub const HEARTBEAT_MS: u64 = 20_000;

/// How long a socket may take no byte before it is closed as dead, in milliseconds (invariant I8).
pub const NO_PROGRESS_MS: u64 = 30_000;

/// How long a reader of an answer over HTTP may take no byte before it is closed as dead, in milliseconds. The kernel of a slow peer says what was
/// taken of its buffer in lumps, of up to all of it (128 KiB as a rule): who reads 1 KiB a second seems to take nothing for two minutes. Over
/// loopback the lumps were 65 to 129 KB, and what the kernel counts as sent and not acknowledged (`SIOCOUTQ`) falls in the same ones.
pub const READER_SILENT_MS: u64 = 240_000;

/// Most bytes that the kernel is given for a peer and has not sent yet. More would be stale when they arrive, and a slow peer
/// that takes them one by one would look as if it took none.
pub const UNSENT_BYTES_MAX: u32 = 128 << 10;

/// Most bytes of an answer over HTTP, or of what waits for a socket, that one call of the kernel is given to write. It copies them all
/// before it lets the thread go on with others, and delivers them too if the peer is on the same machine. A frame that is told live is given whole.
pub const WRITE_BYTES_MAX: usize = 64 << 10;

/// Most bytes that one connection writes before other tasks of its thread get their turn.
pub const TURN_WRITTEN_BYTES_MAX: usize = 256 << 10;

/// How long a new socket may stay without `hello`, in milliseconds.
pub const HELLO_MS: u64 = 10_000;

/// How long no event must arrive in a run that waits neither for a person nor for a call before it is silent, unless the settings say
/// otherwise, in milliseconds. Models seldom think longer without output.
pub const SILENT_MS: u64 = 60_000;

/// How long a run must be silent before it needs a person, unless the settings say otherwise, in milliseconds.
pub const SILENT_LONG_MS: u64 = 600_000;

/// How long a call must execute before it is stuck, unless the settings say otherwise, in milliseconds.
pub const STUCK_MS: u64 = 300_000;

/// How long a run may be without a word and without a connection of its publisher before it is stalled, in
/// milliseconds, unless the hub is told otherwise.
pub const STALLED_AFTER_MS: u64 = 15_000;

/// How long a run may be without a word and without a connection of its publisher before the hub ends it, in milliseconds.
pub const INTERRUPTED_AFTER_MS: u64 = 300_000;

/// Bytes of one frame after which the hub stops adding events to it; the rest goes into the next frame.
pub const BATCH_BYTES_TARGET: usize = 256 << 10;

/// A viewer that is more bytes behind than this, and than the snapshot weighs, gets the snapshot.
pub const SNAPSHOT_WHEN_BEHIND_BYTES: usize = 256 << 10;

/// A snapshot that is larger comes in several frames of about this size, in bytes. A run is never cut, so that a frame
/// with one run may be larger.
pub const SNAPSHOT_BYTES_TARGET: usize = 1 << 20;

/// Rows that a viewer of the list of conversations is given to begin with, unless it asks for fewer.
pub const FLEET_ROWS_MAX: usize = 500;

const _: () = assert!(BATCH_BYTES_TARGET <= RING_BYTES_MAX);
const _: () = assert!(ID_BYTES_MAX > 64);
