//! The models that forge-ui shows: the hub's agents, as changed by its users. The changes are stored in a
//! file beside the log, or in the hub's own folder where the log is in a database, or in that database where several hubs share it; with a log in
//! memory they are lost with the process.
//!
//! ```json
//! {"models": {"fanlight": {"helper": {"favorited": true, "display_name": "Helper", "added_at": 0}}},
//!  "removed": ["old"], "off": ["openrouter"]}
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use event_log::EventLog;
use model::code::ErrorCode;
use model::format;
use model::limits::{FORGE_MODELS_MAX, ID_BYTES_MAX};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::log_choice::LogChoice;
use agents::Refusal;

/// The provider whose models are the agents.
pub(crate) const PROVIDER: &str = "fanlight";

mod store;

use store::Store;

/// The list of models as forge-ui's users have changed it. One for each hub, or for all hubs that share a log. Every change is
/// written before it holds. All methods wait for the disk.
#[derive(Debug, Default)]
pub(crate) struct Shelf {
    store: Store,
}

/// The changes that users have made.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
struct Kept {
    /// Models that were added or changed, by provider and name.
    models: BTreeMap<String, BTreeMap<String, Entry>>,
    /// Agents that were removed from the list.
    removed: BTreeSet<String>,
    /// Providers that were turned off.
    off: BTreeSet<String>,
}

/// The changes to one model.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
struct Entry {
    /// Whether a user made it a favourite.
    favorited: bool,
    /// The name that is shown; that of the model if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    display_name: Option<String>,
    /// What it claims to support; the usual if nobody said.
    #[serde(skip_serializing_if = "Option::is_none")]
    capabilities: Option<Abilities>,
    /// When it was added, in milliseconds since 1970.
    added_at: u64,
}

/// What a model supports, as shown to users. Nothing else depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Abilities {
    /// Whether it calls tools.
    tools: bool,
    /// Whether it sees images.
    vision: bool,
    /// Whether it thinks before it answers.
    reasoning: bool,
}

impl Default for Abilities {
    fn default() -> Self {
        Self { tools: true, vision: false, reasoning: true }
    }
}

/// A change that a request asks for. Absent fields stay as they are.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Change {
    /// Whether it is a favourite.
    favorited: Option<bool>,
    /// The name to be shown; an empty one changes nothing.
    display_name: Option<String>,
    /// What it claims to support.
    capabilities: Option<Abilities>,
}

/// A model that is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Model {
    /// The provider below which it is listed; [`PROVIDER`] for agents.
    pub(crate) provider: String,
    /// The name that clients send as the model.
    pub(crate) id: String,
    /// The changes that users made to it.
    entry: Entry,
    /// Whether it is an agent of the hub.
    is_agent: bool,
}

impl Model {
    pub(crate) fn is_favorite(&self) -> bool {
        self.entry.favorited
    }

    /// The name that is shown.
    pub(crate) fn display_name(&self) -> &str {
        self.entry.display_name.as_deref().unwrap_or(&self.id)
    }

    /// The model in the form of the list by providers.
    pub(crate) fn told(&self) -> Value {
        json!({
            "id": self.id, "display_name": self.display_name(), "category": "chat",
            "source": if self.is_agent { "api" } else { "manual" }, "favorited": self.entry.favorited,
            "capabilities": self.entry.capabilities.unwrap_or_default(),
            "added_at": format::iso(self.entry.added_at), "last_used_at": null,
        })
    }
}

impl Shelf {
    /// Reads the list that belongs to this log.
    pub(crate) fn new(choice: &LogChoice, log: &Arc<dyn EventLog>) -> Self {
        Self { store: Store::new(choice, log) }
    }

    /// The models of providers that are on, in order. `agents` are the names of the hub's agents. Fails with `log_failed` if the list cannot
    /// be read.
    pub(crate) fn models<'a>(&self, agents: impl Iterator<Item = &'a str>) -> Result<Vec<Model>, Refusal> {
        let kept = self.store.read()?;
        let mut models = kept.all(agents);
        models.retain(|model| !kept.off.contains(&model.provider));
        Ok(models)
    }

    /// The providers, each with the number of its models and whether it is on. Fails with `log_failed` if the list cannot be read.
    pub(crate) fn providers<'a>(
        &self,
        agents: impl Iterator<Item = &'a str>,
    ) -> Result<Vec<(String, usize, bool)>, Refusal> {
        let kept = self.store.read()?;
        let mut counts = BTreeMap::from([(PROVIDER.to_owned(), 0)]);
        counts.extend(kept.models.keys().map(|provider| (provider.clone(), 0)));
        for model in kept.all(agents) {
            *counts.entry(model.provider).or_default() += 1;
        }
        let told = counts.into_iter().map(|(name, count)| {
            let is_on = !kept.off.contains(&name);
            (name, count, is_on)
        });
        Ok(told.collect())
    }

    /// Adds a model, or changes an existing one. `now` is in milliseconds since 1970. Fails with
    /// `bad_request` for a name that is empty or too long, with `too_many` if `FORGE_MODELS_MAX` are changed
    /// already, with `log_failed` if it cannot be written. What failed changes nothing.
    pub(crate) fn add<'a>(
        &self,
        agents: impl Iterator<Item = &'a str>,
        (provider, id): (&str, &str),
        change: &Change,
        now: u64,
    ) -> Result<Model, Refusal> {
        for (what, name) in [("provider", provider), ("model_id", id)] {
            if name.is_empty() || name.len() > ID_BYTES_MAX {
                let why = format!("{what}: a name of 1 to {ID_BYTES_MAX} bytes is expected");
                return Err(Refusal::new(ErrorCode::BadRequest, why));
            }
        }
        self.change(agents, (provider, id), |kept, is_known| {
            if provider == PROVIDER {
                kept.removed.remove(id);
            }
            if !is_known {
                kept.has_room()?;
            }
            let entry = kept.models.entry(provider.to_owned()).or_default().entry(id.to_owned());
            entry.or_insert_with(|| Entry { added_at: now, ..Entry::default() }).take(change.clone());
            Ok(())
        })
    }

    /// Changes a model. Fails with `unknown_agent` if there is none of that name, and otherwise as
    /// [`Shelf::add`] does.
    pub(crate) fn update<'a>(
        &self,
        agents: impl Iterator<Item = &'a str>,
        (provider, id): (&str, &str),
        change: &Change,
    ) -> Result<Model, Refusal> {
        self.change(agents, (provider, id), |kept, is_known| {
            if !is_known {
                return Err(no_model(provider, id));
            }
            if kept.models.get(provider).is_none_or(|models| !models.contains_key(id)) {
                kept.has_room()?;
            }
            kept.models
                .entry(provider.to_owned())
                .or_default()
                .entry(id.to_owned())
                .or_default()
                .take(change.clone());
            Ok(())
        })
    }

    /// Removes a model from the list. An agent stays an agent, and [`Shelf::fetch`] puts it back. Fails with
    /// `unknown_agent` if it is not on the list, with `log_failed` if it cannot be written.
    pub(crate) fn remove<'a>(
        &self,
        agents: impl Iterator<Item = &'a str>,
        (provider, id): (&str, &str),
    ) -> Result<(), Refusal> {
        let agents: Vec<&str> = agents.collect();
        self.store.change(|kept| {
            if !kept.has(&agents, provider, id) {
                return Err(no_model(provider, id));
            }
            let mut new = kept.clone();
            if let Some(models) = new.models.get_mut(provider) {
                models.remove(id);
                if models.is_empty() {
                    new.models.remove(provider);
                }
            }
            if provider == PROVIDER && agents.contains(&id) {
                new.removed.insert(id.to_owned());
            }
            Ok((new, ()))
        })
    }

    /// Puts all agents back on the list; `agents` is their number. Returns how many had been removed, and how
    /// many had not. Fails with `unknown_agent` for any provider but [`PROVIDER`].
    pub(crate) fn fetch(&self, provider: &str, agents: usize) -> Result<(usize, usize), Refusal> {
        if provider != PROVIDER {
            return Err(no_provider(provider));
        }
        self.store.change(|kept| {
            let added = kept.removed.len().min(agents);
            let new = Kept { removed: BTreeSet::new(), ..kept.clone() };
            Ok((new, (added, agents.saturating_sub(added))))
        })
    }

    /// Turns a provider on or off, which shows or hides its models. Fails with `unknown_agent` if nobody has
    /// added a model of that provider.
    pub(crate) fn turn(&self, provider: &str, power: Power) -> Result<(), Refusal> {
        self.store.change(|kept| {
            if provider != PROVIDER && !kept.models.contains_key(provider) {
                return Err(no_provider(provider));
            }
            let mut new = kept.clone();
            match power {
                Power::On => new.off.remove(provider),
                Power::Off => new.off.insert(provider.to_owned()),
            };
            Ok((new, ()))
        })
    }

    /// Applies `change` to a copy, writes it and returns the model.
    fn change<'a>(
        &self,
        agents: impl Iterator<Item = &'a str>,
        (provider, id): (&str, &str),
        change: impl Fn(&mut Kept, bool) -> Result<(), Refusal>,
    ) -> Result<Model, Refusal> {
        let agents: Vec<&str> = agents.collect();
        self.store.change(|kept| {
            let mut new = kept.clone();
            let is_known = kept.has(&agents, provider, id);
            change(&mut new, is_known)?;
            let model = new.all(agents.iter().copied()).into_iter();
            let model = { model }.find(|model| model.provider == provider && model.id == id);
            let model = model.ok_or_else(|| no_model(provider, id))?;
            Ok((new, model))
        })
    }
}

/// Whether a provider is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Power {
    /// The models of the provider are shown.
    On,
    /// The models of the provider are hidden.
    Off,
}

impl Kept {
    /// All models, also those of providers that are off.
    fn all<'a>(&self, agents: impl Iterator<Item = &'a str>) -> Vec<Model> {
        let mut all = BTreeMap::new();
        for agent in agents.filter(|agent| !self.removed.contains(*agent)) {
            all.insert((PROVIDER.to_owned(), agent.to_owned()), (Entry::default(), true));
        }
        for (provider, models) in &self.models {
            for (id, entry) in models {
                let told = all.entry((provider.clone(), id.clone())).or_default();
                told.0 = entry.clone();
            }
        }
        let model = |((provider, id), (entry, is_agent))| Model { provider, id, entry, is_agent };
        all.into_iter().map(model).collect()
    }

    /// Whether the model is on the list.
    fn has(&self, agents: &[&str], provider: &str, id: &str) -> bool {
        let is_added = self.models.get(provider).is_some_and(|models| models.contains_key(id));
        is_added || (provider == PROVIDER && agents.contains(&id) && !self.removed.contains(id))
    }

    /// Fails if there are as many changed models as may be.
    fn has_room(&self) -> Result<(), Refusal> {
        let count: usize = self.models.values().map(BTreeMap::len).sum();
        if count < FORGE_MODELS_MAX {
            return Ok(());
        }
        let why = format!("the list has {count} models that were added or changed, and no room for more");
        Err(Refusal::new(ErrorCode::TooMany, why))
    }
}

impl Entry {
    /// Applies a change of a user.
    fn take(&mut self, change: Change) {
        let Change { favorited, display_name, capabilities } = change;
        self.favorited = favorited.unwrap_or(self.favorited);
        self.display_name = display_name.filter(|name| !name.is_empty()).or(self.display_name.take());
        self.capabilities = capabilities.or(self.capabilities);
    }
}

/// The refusal for a model that does not exist.
fn no_model(provider: &str, id: &str) -> Refusal {
    Refusal::new(ErrorCode::UnknownAgent, format!("Model not found: {provider}/{id}"))
}

/// The refusal for a provider that does not exist.
pub(crate) fn no_provider(provider: &str) -> Refusal {
    Refusal::new(ErrorCode::UnknownAgent, format!("Provider not found: {provider}"))
}

#[cfg(test)]
mod tests;
