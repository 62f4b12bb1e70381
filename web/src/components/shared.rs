//! What the page says of links outside their dialog: the button in the top bar, and the line for whoever came by a link.

use leptos::prelude::*;

use super::icon::icon;
use crate::browser;
use crate::rights::ReaderAction;
use crate::sharing::{self, ReaderLink};
use crate::store::use_store;

/// The button in the top bar, for those who may share the conversation or see that it is shared. It says by how many links.
#[component]
pub(super) fn ShareButton() -> impl IntoView {
    let store = use_store();
    move || {
        let links = store.link_count();
        (links > 0 || store.may(ReaderAction::Share)).then(|| {
            view! {
                <button type="button" class="icon of-conversation shared" aria-label="Share" title="Share (g k)" data-t="share"
                    on:click=move |_| store.open_sharing(None)>
                    {icon("#share", "")}<span class="hide num" data-t="shared">{(links > 0).then(|| sharing::pill(links))}</span></button>
            }
        })
    }
}

/// The line that says to whoever follows a link by whom it was shared, what it shows and until when.
/// `answer` is the hub's answer about the link.
pub(super) fn shared_line(answer: &str) -> AnyView {
    let line = ReaderLink::read(answer).map(|link| {
        let words = link.words(browser::date_and_time);
        view! { <p class="composer meta shared-line" role="note" data-t="shared-by">{icon("#share", "")} " " {words}</p> }
    });
    line.into_any()
}
