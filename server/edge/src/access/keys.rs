//! Where the keys of issuers come from: a file with a secret or a JWKS, or the address of a JWKS, which is fetched again from time to time,
//! and when a token names a key that is not there, but no more often than [`KEYS_AGAIN`].

use std::path::PathBuf;
use std::time::Duration;

use access::jwt::{JwtIssuer, JwtKeys};
use parking_lot::Mutex;
use tokio::sync::{Notify, watch};
use tokio::time::Instant;
use upstream::{Egress, Upstream};

use super::LOOK_EVERY;
use super::fetch;
use super::store::{Mark, StoreError, mark, read, shown};

/// How old keys of an address become before they are fetched again.
const KEYS_EVERY: Duration = Duration::from_mins(10);

/// The least time between two requests for the keys of one issuer, whatever tokens name.
pub(crate) const KEYS_AGAIN: Duration = Duration::from_secs(10);

/// How long keys are used whose address does not answer.
const KEYS_STALE_MAX: Duration = Duration::from_hours(24);

/// How long a caller waits for keys.
pub(super) const KEYS_WITHIN: Duration = Duration::from_secs(11);

/// Somebody who signs tokens, and where the keys for that are.
#[derive(Debug, Clone)]
pub struct JwtSource {
    /// The issuer of the tokens.
    pub issuer: JwtIssuer,
    /// The source of the keys.
    pub keys: KeySource,
}

/// A source of the keys of an issuer.
#[derive(Debug, Clone)]
pub enum KeySource {
    /// A file that holds a secret.
    Secret(PathBuf),
    /// A file that holds a JWKS.
    File(PathBuf),
    /// An address that gives a JWKS.
    Remote(Box<Upstream>),
}

/// The sources of all issuers, in their order. Owned by the gate; the keys themselves are in [`access::Credentials`].
#[derive(Debug)]
pub(super) struct KeyRing {
    /// The source of each issuer.
    sources: Vec<KeySource>,
    /// What is known of each source, in the same order.
    state: Mutex<Vec<SourceState>>,
    /// Notified when a token names a key that is not there.
    wanted: Notify,
    /// Rises after each round in which something was looked at.
    rounds: watch::Sender<u64>,
}

/// What is known of one source.
#[derive(Debug, Clone, Default)]
struct SourceState {
    /// Of a file: how it was when it was read.
    mark: Mark,
    /// When it was last asked, and when it last gave keys.
    asked: Option<Instant>,
    gave: Option<Instant>,
    /// Whether a token named a key that it has not given.
    is_wanted: bool,
}

impl KeyRing {
    /// Reads the files. Keys of an address come later; `take` gets what there is, with the number of its
    /// source. Fails if a file cannot be read or has no keys.
    pub(super) fn new(
        sources: Vec<KeySource>,
        mut take: impl FnMut(usize, JwtKeys),
    ) -> Result<Self, StoreError> {
        let mut states = Vec::new();
        for (number, source) in sources.iter().enumerate() {
            let mut state = SourceState::default();
            if let Some(path) = source.file() {
                state.mark = mark(path);
                take(number, source.load()?);
            }
            states.push(state);
        }
        let (rounds, _) = watch::channel(0);
        Ok(Self { sources, state: Mutex::new(states), wanted: Notify::new(), rounds })
    }

    /// Says that a token names a key that is not there. What it returns changes once they were looked for; `None` if there is nothing to
    /// wait for: no address, or one that was just asked.
    pub(super) fn ask(&self) -> Option<watch::Receiver<u64>> {
        // Before the request, so that a quick answer is not missed.
        let rounds = self.rounds.subscribe();
        let mut is_asked = false;
        let mut states = self.state.lock();
        for (source, state) in self.sources.iter().zip(states.iter_mut()) {
            let may = state.asked.is_none_or(|asked| asked.elapsed() >= KEYS_AGAIN) || state.is_wanted;
            if may && source.file().is_none() {
                state.is_wanted = true;
                is_asked = true;
            }
        }
        drop(states);
        if is_asked {
            self.wanted.notify_one();
        }
        is_asked.then_some(rounds)
    }

    /// Follows all sources: `take` gets new keys with the number of their source, and `looked` is called after each look at an address.
    /// Never returns.
    pub(super) async fn keep(&self, egress: &Egress, take: impl Fn(usize, JwtKeys), looked: impl Fn()) {
        loop {
            let mut has_looked = false;
            for (number, source) in self.sources.iter().enumerate() {
                match source {
                    KeySource::Remote(upstream) if self.is_due(number) => {
                        self.fetch(egress, number, upstream, &take).await;
                        has_looked = true;
                    }
                    KeySource::Remote(_) => {}
                    file => self.look(number, file, &take),
                }
            }
            if has_looked {
                self.rounds.send_modify(|rounds| *rounds += 1);
                looked();
            }
            tokio::select! {
                () = self.wanted.notified() => {}
                () = tokio::time::sleep(LOOK_EVERY) => {}
            }
        }
    }

    /// Whether the address with this number is to be asked now.
    fn is_due(&self, number: usize) -> bool {
        let states = self.state.lock();
        let Some(state) = states.get(number) else { return false };
        let Some(asked) = state.asked else { return true };
        let is_missing = state.is_wanted || state.gave.is_none_or(|gave| gave < asked);
        asked.elapsed() >= if is_missing { KEYS_AGAIN } else { KEYS_EVERY }
    }

    /// Asks an address for its keys. If that fails, the keys that there are stay for [`KEYS_STALE_MAX`], and
    /// then none count.
    async fn fetch(
        &self,
        egress: &Egress,
        number: usize,
        upstream: &Upstream,
        take: &impl Fn(usize, JwtKeys),
    ) {
        let document = fetch::get(egress, upstream).await;
        let keys = document.and_then(|document| {
            let text = String::from_utf8(document).map_err(|error| error.to_string())?;
            JwtKeys::set(&text).map_err(|error| error.to_string())
        });
        let gave = self.state.lock().get(number).and_then(|state| state.gave);
        let did_give = keys.is_ok();
        match keys {
            Ok(keys) => take(number, keys),
            Err(error) => {
                tracing::error!(address = upstream.place(), %error, "the keys of an issuer of tokens were not fetched");
                if gave.is_some_and(|gave| gave.elapsed() >= KEYS_STALE_MAX) {
                    take(number, JwtKeys::default());
                }
            }
        }
        // After the keys were taken: as soon as the address counts as asked, nobody waits for them any more.
        let now = Instant::now();
        if let Some(state) = self.state.lock().get_mut(number) {
            state.asked = Some(now);
            state.gave = if did_give { Some(now) } else { gave };
            state.is_wanted = false;
        }
    }

    /// Reads a file again if it has changed. One that is damaged changes nothing.
    fn look(&self, number: usize, source: &KeySource, take: &impl Fn(usize, JwtKeys)) {
        let Some(path) = source.file() else { return };
        let now = mark(path);
        let mut states = self.state.lock();
        let Some(state) = states.get_mut(number).filter(|state| state.mark != now) else { return };
        state.mark = now;
        drop(states);
        match source.load() {
            Ok(keys) => take(number, keys),
            Err(error) => tracing::error!(%error, "the keys of an issuer stay as they were"),
        }
    }
}

impl KeySource {
    /// The file in which they are, if they are in one.
    fn file(&self) -> Option<&PathBuf> {
        match self {
            Self::Secret(path) | Self::File(path) => Some(path),
            Self::Remote(_) => None,
        }
    }

    /// Reads the keys of a file.
    fn load(&self) -> Result<JwtKeys, StoreError> {
        let Some(path) = self.file() else { return Ok(JwtKeys::default()) };
        let wrong = |error: String| StoreError::Keys { path: shown(path), error };
        let text = read(path)?.ok_or_else(|| wrong("there is no such file".to_owned()))?;
        let keys = match self {
            Self::Secret(_) => JwtKeys::secret(&text),
            _ => JwtKeys::set(&text),
        };
        keys.map_err(|error| wrong(error.to_string()))
    }
}

#[cfg(test)]
mod tests;
