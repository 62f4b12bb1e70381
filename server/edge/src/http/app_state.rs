//! The state of the router, of which a handler extracts the part that it uses: `State<Arc<Hub>>`, `State<Arc<Fanout>>` and so on.

use std::sync::Arc;

use agents::{Agents, Toolbox};
use axum::extract::FromRef;
use hub::{Fanout, Hub};

use crate::access::Gate;
use crate::commands::CommandExecutor;
use crate::config::Config;
use crate::frozen::Copies;
use crate::peers::Ownership;
use crate::proxy::Proxy;
use crate::shelf::Shelf;
use crate::state::Shared;
use crate::traces::Traces;
use crate::work::Work;
use tokio_util::sync::CancellationToken;
use upstream::Egress;

/// The running hub, as the router gives it to handlers.
#[derive(Debug, Clone)]
pub(crate) struct AppState(Arc<Shared>);

impl AppState {
    /// The state of a router that serves `shared`.
    pub(crate) fn of(shared: &Arc<Shared>) -> Self {
        Self(Arc::clone(shared))
    }
}

/// What readers of conversations use, who come over HTTP: streams, pages of events, waits.
#[derive(Debug, Clone)]
pub(crate) struct Reading {
    /// The conversations.
    pub(crate) hub: Arc<Hub>,
    /// Whether access control is on, so that viewers have names.
    pub(crate) gate: Arc<Gate>,
    /// The bounds of expensive work.
    pub(crate) work: Arc<Work>,
    /// The settings of the hub.
    pub(crate) config: Arc<Config>,
    /// Cancelled when the hub begins to drain.
    pub(crate) drain: CancellationToken,
}

impl Reading {
    /// What readers of this hub use.
    pub(crate) fn of(shared: &Shared) -> Self {
        Self {
            hub: Arc::clone(&shared.hub),
            gate: Arc::clone(&shared.gate),
            work: Arc::clone(&shared.work),
            config: Arc::clone(&shared.config),
            drain: shared.drain.clone(),
        }
    }
}

impl FromRef<AppState> for Reading {
    fn from_ref(state: &AppState) -> Self {
        Self::of(&state.0)
    }
}

/// The way on which a request goes to the hub that has its conversation.
#[derive(Debug, Clone)]
pub(crate) struct OwnerRoute {
    /// Finds the owner.
    pub(crate) ownership: Arc<Ownership>,
    /// Relays sockets of the proxy.
    pub(crate) proxy: Arc<Proxy>,
    /// Knows the tokens that calls through the proxy have.
    pub(crate) gate: Arc<Gate>,
}

impl OwnerRoute {
    /// The way from this hub.
    pub(crate) fn of(shared: &Shared) -> Self {
        Self {
            ownership: Arc::clone(&shared.ownership),
            proxy: Arc::clone(&shared.proxy),
            gate: Arc::clone(&shared.gate),
        }
    }
}

impl FromRef<AppState> for OwnerRoute {
    fn from_ref(state: &AppState) -> Self {
        Self::of(&state.0)
    }
}

impl FromRef<AppState> for Arc<Shared> {
    fn from_ref(state: &AppState) -> Self {
        Self::clone(&state.0)
    }
}

impl FromRef<AppState> for CancellationToken {
    /// Cancelled when the hub begins to drain.
    fn from_ref(state: &AppState) -> Self {
        state.0.drain.clone()
    }
}

/// Lets handlers extract the part of the state that each field is.
macro_rules! extracted {
    ($($field:ident: $part:ty),* $(,)?) => {
        $(impl FromRef<AppState> for Arc<$part> {
            fn from_ref(state: &AppState) -> Self {
                Self::clone(&state.0.$field)
            }
        })*
    };
}

extracted! {
    agents: Agents,
    commands: CommandExecutor,
    config: Config,
    copies: Copies,
    egress: Egress,
    fanout: Fanout,
    forge: Shelf,
    gate: Gate,
    hub: Hub,
    ownership: Ownership,
    proxy: Proxy,
    tools: Toolbox,
    traces: Traces,
    work: Work,
}
