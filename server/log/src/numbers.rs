//! Numbers as databases take them, and back.

/// A count or time as a number of the database, which is signed. The largest ones are cut.
pub(crate) fn integer(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// A size or limit as a number of the database.
pub(crate) fn size(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// The reverse of [`integer`]; negative numbers become 0.
pub(crate) fn natural(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}
