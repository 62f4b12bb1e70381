//! The arguments of `fanlight ask`.

use std::path::PathBuf;
use std::str::FromStr;

use model::ConversationId;

use super::client::HubArgs;

/// See [`super::CliCommand::Ask`].
#[derive(Debug, clap::Args)]
pub(crate) struct AskArgs {
    /// What is asked [default: what stdin says]
    #[arg(value_name = "TEXT")]
    pub(crate) text: Option<String>,
    /// The agent [default: the only one that the hub has]
    #[arg(long, value_name = "NAME", env = "FANLIGHT_AGENT")]
    pub(crate) agent: Option<String>,
    /// The conversation that goes on [default: a new one]
    #[arg(long, value_name = "NAME", env = "FANLIGHT_CONVERSATION")]
    pub(crate) conversation: Option<ConversationId>,
    /// A file that comes with the question: an image, a PDF or a text; may be repeated
    #[arg(long = "file", value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// How freely the model chooses its words; the provider says which values there are
    #[arg(long, value_name = "NUMBER", value_parser = number, allow_negative_numbers = true)]
    pub(crate) temperature: Option<f64>,
    /// Of how likely words the model chooses: those that make up this share of the probability
    #[arg(long, value_name = "NUMBER", value_parser = number, allow_negative_numbers = true)]
    pub(crate) top_p: Option<f64>,
    /// The most tokens of one answer of the model
    #[arg(long, value_name = "N")]
    pub(crate) max_tokens: Option<u32>,
    /// The number from which the model draws its chances, so that it may answer the same again
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub(crate) seed: Option<i64>,
    /// A text at which the model stops; may be repeated
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub(crate) stop: Vec<String>,
    /// The form of the answer: text, json, or a file with the JSON Schema that it must keep
    #[arg(long, value_name = "text|json|FILE")]
    pub(crate) response_format: Option<AnswerFormat>,
    /// Write the events of the answer instead, one envelope a line, as JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) hub: HubArgs,
}

/// The form in which a model is to answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum AnswerFormat {
    /// A text in any form.
    Text,
    /// JSON of any form.
    Json,
    /// JSON that keeps to the schema in this file.
    Schema(PathBuf),
}

impl FromStr for AnswerFormat {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        match word {
            "" => Err(String::from("say text, json, or a file")),
            "text" => Ok(Self::Text),
            "json" => Ok(Self::Json),
            file => Ok(Self::Schema(file.into())),
        }
    }
}

/// A number that JSON can have.
fn number(text: &str) -> Result<f64, String> {
    let number: f64 = text.parse().map_err(|_no_number| String::from("it is no number"))?;
    if number.is_finite() { Ok(number) } else { Err(String::from("it is no finite number")) }
}
