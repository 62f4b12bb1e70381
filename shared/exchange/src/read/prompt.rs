//! Reads APIs without messages: OpenAI's legacy completions and Ollama's generate.

use super::{ForeignFields, MessagePiece, ModelRequest, RequestRole, file, instruct, say};

/// Reads the fields of the body.
pub(super) fn read(fields: &ForeignFields<'_>, request: &mut ModelRequest) {
    instruct(request, &fields.get("system").text().unwrap_or_default());
    let prompt = fields.get("prompt");
    let texts = match prompt.word() {
        Some(text) => vec![text.into_owned()],
        // A prompt in tokens instead of text is left out: nobody could read it.
        None => prompt.list_of_texts(),
    };
    let mut pieces: Vec<MessagePiece> = texts.into_iter().map(MessagePiece::Text).collect();
    let images = fields.get("images").list_of_texts();
    pieces.extend(images.iter().map(|image| MessagePiece::File(file("image", "", image))));
    say(request, RequestRole::User, pieces);
}
