//! Conversions between the numbers of a database and ours. Databases have signed numbers of 64 bits; ours are
//! unsigned. A number that a client made up and that is too large is stored as the largest one instead of
//! failing the transaction that it is in.

/// A count or time as a signed number of the database. Numbers that are too large become the largest one.
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
