//! The functions at which the program is cut. Each returns what its module draws or reads; with the feature `split`, a call fetches the module first.
//!
//! A module has one function: each would be fetched for itself. What a module draws in several places is chosen by an argument.

use leptos::prelude::*;
use leptos::wasm_split::SplitLoaderError;
#[cfg(feature = "split")]
use leptos::wasm_split::wasm_split;
use model::{ConversationId, View};

use crate::components::{
    Agents, CallContent, Compared, Composer, Content, Counts, Details, Find, Newest, OpenTimeline,
    OutlineTab, ReplayControls, Tools, Wall, drawn_content, shown_dialog,
};
use crate::dom;
use crate::store::{OpenDialog, Tab};

/// What a module draws, or that it cannot be fetched.
pub(crate) type Drawn = Result<AnyView, SplitLoaderError>;

/// A view that was read, or what is wrong with its JSON; or that the module cannot be fetched.
type ReadView = Result<Result<Box<View>, serde_json::Error>, SplitLoaderError>;

/// The parts that the module of the conversation draws.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Piece {
    /// The messages and runs of the conversation.
    Content,
    /// The form in which a reader writes.
    Composer,
    /// Totals in the bar at the top, beside the newest run that the bar shows.
    Counts(Memo<Option<Newest>>),
}

/// Declares the function of a module, and the function that fetches the module.
macro_rules! module {
    ($(#[$doc:meta])* $name:ident, $fetch:ident, $draw:ident($($argument:ident: $of:ty)?) -> $made:ty; $body:expr) => {
        $(#[$doc])*
        #[cfg(feature = "split")]
        #[wasm_split($name, fallible, preload($fetch), wasm_split_path = leptos::wasm_split)]
        pub(crate) fn $draw($($argument: $of)?) -> $made {
            Ok($body)
        }

        $(#[$doc])*
        #[cfg(not(feature = "split"))]
        pub(crate) fn $draw($($argument: $of)?) -> std::future::Ready<$made> {
            std::future::ready(Ok($body))
        }

        #[cfg(not(feature = "split"))]
        pub(super) fn $fetch() -> std::future::Ready<Result<(), SplitLoaderError>> {
            std::future::ready(Ok(()))
        }
    };
}

module! {
    /// A part of the open conversation.
    conversation, fetch_conversation, conversation(piece: Piece) -> Drawn; match piece {
        Piece::Content => view! { <Content /> }.into_any(),
        Piece::Composer => view! { <Composer /> }.into_any(),
        Piece::Counts(newest) => view! { <Counts newest=newest /> }.into_any(),
    }
}

module! {
    /// The view of a snapshot, from its JSON. It is fetched with the conversation.
    snapshots, fetch_snapshots, read_view(json: String) -> ReadView; serde_json::from_str(&json)
}

module! {
    /// Arguments or a result in a form of their own.
    kinds, fetch_kinds, call_content(content: CallContent) -> Drawn; drawn_content(content)
}

module! {
    /// Nothing: typesets the formulas and has the diagrams drawn that wait in the conversation.
    formulas, fetch_formulas, typeset_formulas() -> Drawn; {
        dom::formula::typeset();
        dom::diagram::draw();
        ().into_any()
    }
}

module! {
    /// A tab of the panel.
    panel, fetch_panel, panel(tab: Tab) -> Drawn; match tab {
        Tab::Tools => view! { <Tools /> }.into_any(),
        Tab::Agents => view! { <Agents /> }.into_any(),
        Tab::Outline => view! { <OutlineTab /> }.into_any(),
        Tab::Find => view! { <Find /> }.into_any(),
        Tab::Details => view! { <Details /> }.into_any(),
    }
}

module! {
    /// The dialog that is open.
    dialogs, fetch_dialogs, dialog(open: OpenDialog) -> Drawn; shown_dialog(open)
}

module! {
    /// The timeline, while it is open.
    timeline, fetch_timeline, timeline() -> Drawn; view! { <OpenTimeline /> }.into_any()
}

module! {
    /// The wall of tiles.
    wall, fetch_wall, wall() -> Drawn; view! { <Wall /> }.into_any()
}

module! {
    /// The bar of the replay that goes on.
    replay, fetch_replay, replay() -> Drawn; view! { <ReplayControls /> }.into_any()
}

module! {
    /// The open conversation beside another.
    compare, fetch_compare, compared(other: ConversationId) -> Drawn; view! { <Compared other=other /> }.into_any()
}
