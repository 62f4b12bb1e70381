//! Turns (a message of the user and everything up to the next one) and the names of new conversations.

use encode::document::only;
use model::event::ToolState;
use model::view::{Item, TopItem, View};
use model::{ConversationId, MessageId};

use crate::format;

/// The longest beginning of a text that becomes the name of a conversation, in words and in characters.
const NAME_WORDS: usize = 5;
const NAME_CHARS: usize = 40;

/// The first message of the user after the one with which a turn begins; `None` if there is none.
pub fn turn_after(view: &View, message: &MessageId) -> Option<MessageId> {
    let mut rest = view.items.iter().skip_while(|item| !is_message(item, message)).skip(1);
    rest.find_map(|item| match item {
        TopItem::Message(id) if is_users(view, id) => Some(id.clone()),
        _ => None,
    })
}

/// Whether `item` is the message `message`.
fn is_message(item: &TopItem, message: &MessageId) -> bool {
    matches!(item, TopItem::Message(id) if id == message)
}

/// Whether the message `id` is from the user.
fn is_users(view: &View, id: &MessageId) -> bool {
    view.messages.get(id).is_some_and(|message| message.role == "user")
}

/// Whether a run of the turn that begins with `message` goes on.
pub fn turn_goes_on(view: &View, message: &MessageId) -> bool {
    only::turn(view, message).into_iter().any(|item| match item {
        TopItem::Run(id) => view.runs.get(id).is_some_and(model::view::RunView::is_running),
        TopItem::Message(_) => false,
    })
}

/// The turn that begins with `message`, as Markdown: the question, the called tools, the answer. It covers
/// the same items as the export of a turn.
pub fn turn(view: &View, message: &MessageId) -> String {
    let mut pieces: Vec<String> = Vec::new();
    for item in only::turn(view, message) {
        match item {
            TopItem::Message(id) => {
                let said = view.messages.get(id);
                pieces.extend(said.map(|it| format!("**{}**\n\n{}", it.role, it.text.trim())));
            }
            TopItem::Run(id) => {
                let Some(run) = view.runs.get(id) else { continue };
                let name = run.name.as_deref().or(run.model.as_deref()).unwrap_or("assistant");
                let calls: Vec<String> = run.items.iter().filter_map(|item| called(run, item)).collect();
                let mut said = vec![format!("**{name}**"), calls.join("\n"), run.answer().trim().to_owned()];
                said.extend(run.error.as_ref().map(|error| format!("> {}: {}", error.code, error.message)));
                said.retain(|piece| !piece.is_empty());
                pieces.push(said.join("\n\n"));
            }
        }
    }
    pieces.join("\n\n") + "\n"
}

/// A call as a line of Markdown; `None` for other items.
fn called(run: &model::view::RunView, item: &Item) -> Option<String> {
    let Item::Tool(id) = item else { return None };
    let tool = run.tools.get(id)?;
    let state = if tool.state == ToolState::Complete { "" } else { tool.state.as_str() };
    let took = tool.latency_ms().map(format::duration).unwrap_or_default();
    let words = [state, &took].into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(", ");
    let words = if words.is_empty() { words } else { format!(" ({words})") };
    Some(format!("- `{}`{words}", tool.name))
}

/// The name of a conversation that begins with `text`. `random` makes it unique. `beginning`, its first words in lower
/// case with dashes, and four more characters; `None` if that is no valid name.
pub fn name_for(beginning: &str, text: &str, random: u64) -> Option<ConversationId> {
    let words = text.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty());
    let mut name = String::new();
    for word in words.take(NAME_WORDS) {
        if !name.is_empty() && name.chars().count().saturating_add(word.chars().count()) > NAME_CHARS {
            break;
        }
        name.extend(word.chars().flat_map(char::to_lowercase).take(NAME_CHARS.min(16)));
        name.push('-');
    }
    let rest = random % (36 * 36 * 36 * 36);
    for place in [36 * 36 * 36, 36 * 36, 36, 1] {
        let digit = u32::try_from(rest / place % 36).unwrap_or_default();
        name.extend(char::from_digit(digit, 36));
    }
    ConversationId::parse(&format!("{beginning}{name}")).ok()
}
