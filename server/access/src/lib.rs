//! Access control: who may see and do what.
//!
//! ```text
//! token, cookie or link ──Credentials──▶ Principal { name, grants } ──Need of the route──▶ allowed, or a Denial
//! ```
//!
//! A [`Principal`] is a caller. It has [`Grant`]s: rights on the conversations whose names match a
//! [`Pattern`], and perhaps a role, which hides parts of them ([`Roles`]). The table [`routes::ROUTES`] says what
//! each route of the hub needs and shows, and [`frames`] what each frame over a socket needs. A route without a line in
//! the table is not served.
//!
//! The crate has no I/O, no clock and no source of randomness: files, times and random bytes are arguments.
//! It depends on `model` and no other crate of the workspace.
//!
//! Reading order: `right` → `pattern` → `grant` → `roles` → `principal` → `publishing` → `need` and its tables `routes` and `frames` → `offers` →
//! `secret` → `tokens`, `budget`, `mapping`, `jwt`, `vouched`, `sessions`, `shares` → `credentials` → `told` → `cookie`, `oidc`,
//! `quota`, `audit`.

pub mod audit;
mod budget;
pub mod cookie;
mod credentials;
mod denial;
pub mod frames;
mod grant;
pub mod jwt;
mod mapping;
mod need;
mod offers;
pub mod oidc;
mod pattern;
mod principal;
mod publishing;
mod quota;
mod right;
mod roles;
pub mod routes;
mod secret;
mod sessions;
mod shares;
mod tokens;
mod told;
mod vouched;

pub use budget::{Budget, BudgetError, BudgetPeriod, PERIODS_KEPT, Spending, Spent};
pub use credentials::{Admission, Credentials, Proof};
pub use denial::Denial;
pub use grant::{Grant, GrantError};
pub use mapping::{IDENTITY_RULES_MAX, IdentityMapping, IdentityRule, MappingError};
pub use need::{Need, Shows};
pub use offers::{beginnings, offers};
pub use pattern::{Pattern, PatternError};
pub use principal::Principal;
pub use publishing::{PublishDenial, PublishLimit, PublishLimitError};
pub use quota::{
    MinuteQuota, PerAct, PrincipalAndAddressRates, QuotaHolder, Quotas, RATED_MAX, RatedAct, Rates, UseCounts,
};
pub use right::{Right, Rights};
pub use roles::{ROLES_MAX, RoleError, Roles};
pub use secret::{Hash, SECRET_BYTES, Secret, SecretKind};
pub use sessions::{SESSION_MS, SESSIONS_MAX, Sessions};
pub use shares::{AUDIENCE_BYTES_MAX, FrozenShare, SHARES_MAX, Share, ShareError, ShareFacts, Shares};
pub use tokens::{NewToken, TOKENS_MAX, TokenError, TokenRecord, Tokens};
pub use told::ToldSession;
pub use vouched::Vouched;
