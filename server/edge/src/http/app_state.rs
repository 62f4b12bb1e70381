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
