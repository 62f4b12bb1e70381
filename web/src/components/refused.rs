//! Why the hub refused something, with a link to what its help says of the code.

use leptos::prelude::*;

use crate::search::help_of;

/// `why`, as [`crate::search::refusal`] and commands tell it: the address of the help that it ends with becomes a link.
pub(crate) fn refused(why: &str) -> AnyView {
    let (text, help) = help_of(why);
    let help =
        help.map(|help| view! { " " <a href=help.to_owned() target="_blank" data-t="help">"Help"</a> });
    view! { {text.to_owned()} {help} }.into_any()
}
