//! What all hubs of a log know of who comes in, beside [sessions](crate::SharedSessions): logins that are under way at a provider of identities,
//! links to one conversation, and what tokens with a budget have spent. Nothing of it admits anybody: secrets are known by their hashes.

use crate::{LogError, SharedSessions};

/// Most logins that have begun and are not done; the oldest go first.
pub const STORED_LOGINS_MAX: usize = 1_000;

/// Most links. Another one is refused.
pub const STORED_SHARES_MAX: usize = 1_000;

/// The newest periods of which it is kept what a token has spent in a currency. What was spent without a period is kept beside them.
pub const STORED_PERIODS_MAX: usize = 2;

/// How long it is kept what a token has spent, in milliseconds, after it was spent and after a hub last had the token: 93 days, three times the
/// longest period.
pub const STORED_SPENDING_MS: u64 = 93 * 86_400_000;

/// A login at a provider of identities that has begun.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredLogin {
    /// The hash of its state.
    pub state: String,
    /// What is needed to end it, as the hubs write it.
    pub login: String,
    /// When it is over, in milliseconds since 1970.
    pub expires: u64,
}

/// A link to one conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredShare {
    /// The hash of its secret.
    pub hash: String,
    /// What it shows, as the hubs write it.
    pub share: String,
    /// How often it may still be opened; `None` for no limit.
    pub views_left: Option<u32>,
    /// When the link ends, in milliseconds since 1970.
    pub expires: u64,
}

/// What one token has spent in one period of its budget.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredSpending {
    /// The hash of the token.
    pub token: String,
    /// When the period began, in milliseconds since 1970; 0 for a budget without a period.
    pub since: u64,
    /// The code of the currency.
    pub currency: String,
    /// The money, in millionths of a millionth of that currency.
    pub picos: u64,
    /// The number of calls.
    pub calls: u64,
    /// The number of those calls whose cost was estimated.
    pub estimated: u64,
}

/// Where hubs that share a log keep logins that are under way. All methods wait for the database.
pub trait SharedLogins: Sync {
    /// Keeps a login. Those that are over at `now`, in milliseconds since 1970, go, and the oldest beyond [`STORED_LOGINS_MAX`].
    fn put_login(&self, login: &StoredLogin, now: u64) -> Result<(), LogError>;

    /// Takes the login with this state, which nobody can take again; `None` if there is none, or if it is over at `now`.
    fn take_login(&self, state: &str, now: u64) -> Result<Option<String>, LogError>;
}

/// Where hubs that share a log keep links. All methods wait for the database.
pub trait SharedShares: Sync {
    /// Keeps a link, unless it is there already. Those that are over at `now`, in milliseconds since 1970, go. Returns false, and keeps nothing,
    /// where there are [`STORED_SHARES_MAX`].
    fn put_share(&self, share: &StoredShare, now: u64) -> Result<bool, LogError>;

    /// Counts a view of the link with this hash; false where it has none left, or where there is none. Of two hubs that count the last view
    /// at the same moment one is told true.
    fn view_share(&self, hash: &str) -> Result<bool, LogError>;

    /// Forgets a link; nothing happens where there is none.
    fn remove_share(&self, hash: &str) -> Result<(), LogError>;

    /// The link with this hash, also one that is over.
    fn find_share(&self, hash: &str) -> Result<Option<StoredShare>, LogError>;

    /// All share links, the oldest first.
    fn shares(&self) -> Result<Vec<StoredShare>, LogError>;

    /// The hashes of all links.
    fn share_hashes(&self) -> Result<Vec<String>, LogError>;
}

/// Where hubs that share a log keep what tokens have spent: one row for each token, currency and period. All methods wait for the database, and
/// take the time in milliseconds since 1970.
pub trait SharedSpending: Sync {
    /// Adds what was spent to its period and currency, and returns what all tokens have spent at all hubs. Of each token and currency the
    /// newest [`STORED_PERIODS_MAX`] periods stay. Where this fails, it may have been added all the same.
    fn charge(&self, spent: &[StoredSpending], now: u64) -> Result<Vec<StoredSpending>, LogError>;

    /// Keeps what was spent by tokens of which nothing is known.
    fn adopt_spending(&self, spent: &[StoredSpending], now: u64) -> Result<(), LogError>;

    /// Forgets what was spent by tokens that no hub has named for [`STORED_SPENDING_MS`], and what was spent so long ago within a period. The
    /// hub that calls has the tokens with the hashes `known`.
    fn trim_spending(&self, known: &[String], now: u64) -> Result<(), LogError>;
}

/// What hubs that share a log know together of the callers who come in.
pub trait SharedAccess: SharedSessions + SharedLogins + SharedShares + SharedSpending {}
