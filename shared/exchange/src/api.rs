//! The APIs whose requests are read, and how the path of a request tells which it is.

use compact_str::CompactString;

use dialects::{anthropic, cohere, gemini, ollama, openai_chat, openai_responses};

/// The API of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ModelApi {
    /// OpenAI's chat completions, also as other vendors offer them.
    OpenAiChat,
    /// The legacy completions API of OpenAI.
    OpenAiCompletions,
    /// The responses API of OpenAI.
    OpenAiResponses,
    /// The messages API of Anthropic.
    Anthropic,
    /// Google's `generateContent` and `streamGenerateContent`.
    Gemini,
    /// The chat API of Ollama, `/api/chat`.
    OllamaChat,
    /// The completion API of Ollama, `/api/generate`.
    OllamaGenerate,
    /// The chat API of Cohere, `/v2/chat`.
    Cohere,
}

impl ModelApi {
    /// The API that a POST to `path` speaks, whatever stands before the known end of the path (`/v1`, a
    /// deployment, a project). Nothing for paths whose answers are no conversation (models, embeddings,
    /// counting of tokens).
    pub fn of_path(path: &str) -> Option<Self> {
        let path = path.split('?').next().unwrap_or_default().trim_end_matches('/');
        let ends = |tail: &str| path == tail.trim_start_matches('/') || path.ends_with(tail);
        if ends("/chat/completions") {
            Some(Self::OpenAiChat)
        } else if ends("/completions") {
            Some(Self::OpenAiCompletions)
        } else if ends("/responses") {
            Some(Self::OpenAiResponses)
        } else if ends("/messages") {
            Some(Self::Anthropic)
        } else if ends(":generateContent") || ends(":streamGenerateContent") {
            Some(Self::Gemini)
        } else if ends(":rawPredict") || ends(":streamRawPredict") {
            // Anthropic's models, as Google serves them.
            Some(Self::Anthropic)
        } else if ends("/api/chat") {
            Some(Self::OllamaChat)
        } else if ends("/api/generate") {
            Some(Self::OllamaGenerate)
        } else if ends("/v2/chat") {
            Some(Self::Cohere)
        } else {
            None
        }
    }

    /// The dialect of the API's answers: a name for [`dialects::decoder`].
    pub fn dialect(self) -> &'static str {
        match self {
            Self::OpenAiChat => openai_chat::NAME,
            Self::OpenAiCompletions => "openai-completions",
            Self::OpenAiResponses => openai_responses::NAME,
            Self::Anthropic => anthropic::NAME,
            Self::Gemini => gemini::NAME,
            Self::OllamaChat | Self::OllamaGenerate => ollama::NAME,
            Self::Cohere => cohere::NAME,
        }
    }

    /// The model that the path names, for APIs that put it there.
    pub(crate) fn model_in(path: &str) -> Option<CompactString> {
        let tail = path.rsplit_once("models/")?.1;
        let model = tail.split([':', '?', '/']).next().filter(|model| !model.is_empty())?;
        Some(CompactString::new(model))
    }
}

#[cfg(test)]
mod tests;
