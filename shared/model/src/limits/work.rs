//! The bounds of work that the hub does on request, all of it together and that of one principal.

/// Most work that is done at a time for those who ask for much, whatever it is: searches, answers that are made of a conversation
/// or of a part of it, imports, copies, what streams read back.
pub const WORK_AT_ONCE_MAX: usize = 16;

/// Most of it that is searches. Another one waits as long as one may take, and is refused then.
pub const SEARCHES_AT_ONCE_MAX: usize = 2;

/// Most of it with all of a conversation that has more than [`super::LARGE_VIEW_BYTES`]: states, documents, beginnings of streams in
/// dialects, imports, copies.
pub const LARGE_ANSWERS_AT_ONCE_MAX: usize = 2;

/// Most of it that is pieces of answers which are made while they are sent: exports of events, streams that are behind.
pub const PIECES_AT_ONCE_MAX: usize = 4;

/// About how many bytes such a piece has, unless one event has more.
pub const PIECE_BYTES_TARGET: usize = 4 << 20;

/// Most requests that wait for their turn, or whose answer is being made.
pub const REQUESTS_WAITING_MAX: usize = 256;

/// Most of them of one principal, where access control is on.
pub const REQUESTS_WAITING_PER_PRINCIPAL_MAX: u32 = 128;

/// Most answers and imports whose bytes are on their way to a slow peer or from one, and lie in files meanwhile.
pub const TRANSFERS_OPEN_MAX: usize = 256;

/// Most of them of one principal, where access control is on.
pub const TRANSFERS_OPEN_PER_PRINCIPAL_MAX: u32 = 128;

/// Most streams of conversations over HTTP, and requests that wait for something to happen. A process may have 1,024 open
/// files as a rule: half of them.
pub const STREAMS_OPEN_MAX: usize = 512;

/// Most of them of one principal, where access control is on.
pub const STREAMS_OPEN_PER_PRINCIPAL_MAX: u32 = 256;

const _: () = assert!(
    SEARCHES_AT_ONCE_MAX + LARGE_ANSWERS_AT_ONCE_MAX + PIECES_AT_ONCE_MAX <= WORK_AT_ONCE_MAX / 2,
    "small answers have turns whatever else is done"
);
