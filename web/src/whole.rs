//! Results of which the hub sent only the beginning: the state of loading the whole, and the bytes that are
//! copied of a call.

use std::sync::Arc;

use model::view::ToolView;

/// The state of loading a whole result.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum ResultLoad {
    /// Nobody has requested the result.
    #[default]
    No,
    /// The result is being loaded.
    Loading,
    /// Loaded: the result as JSON, as it was sent.
    Yes(Arc<str>),
    /// Failed; why, for the reader.
    Failed(String),
}

impl ResultLoad {
    /// The JSON of the whole result, if it is loaded.
    pub fn json(&self) -> Option<&Arc<str>> {
        if let Self::Yes(json) = self { Some(json) } else { None }
    }
}

/// The side of a call that is copied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// The arguments of the call.
    Arguments,
    /// The result, or the output so far.
    Result,
    /// Both sides, as they were received.
    Raw,
}

/// The text of a result in JSON for the reader: the content of a string, otherwise the JSON as written.
pub fn text(json: &str) -> String {
    let said = json.starts_with('"').then(|| serde_json::from_str::<String>(json).ok()).flatten();
    said.unwrap_or_else(|| json.to_owned())
}

/// The text that is copied of `tool`. `whole` is the JSON of its whole result, if it was loaded. `None` if
/// the whole must be loaded first.
pub fn copied(tool: &ToolView, side: Side, whole: Option<&str>) -> Option<String> {
    if side == Side::Arguments {
        return Some(tool.arguments.text.to_string());
    }
    let json = match (whole, &tool.result) {
        (Some(whole), _) => Some(whole),
        (None, _) if tool.result_ref.is_some() => return None,
        (None, result) => result.as_ref().map(model::Json::as_str),
    };
    Some(match (side, json) {
        (Side::Raw, json) => format!("{}\n{}", tool.arguments.text, json.unwrap_or(&tool.output.text)),
        (_, Some(json)) => text(json),
        (_, None) => tool.output.text.to_string(),
    })
}

/// How many bytes of the side were not kept anywhere, so that only its beginning can be copied.
pub fn lost(tool: &ToolView, side: Side) -> u64 {
    if side == Side::Arguments { tool.arguments.cut } else { tool.result_cut }
}

#[cfg(test)]
mod tests {
    //! Tests of what is copied.

    use model::Json;
    use model::event::ResultRef;
    use model::view::Streamed;

    use super::*;

    fn call(result: &str) -> ToolView {
        ToolView {
            arguments: Streamed::whole("{\"n\":1}"),
            result: Some(Json::string(result)),
            ..ToolView::default()
        }
    }

    #[test]
    fn of_a_beginning_nothing_is_copied_before_the_whole_is_there() {
        let mut tool = call("begin");
        assert_eq!(copied(&tool, Side::Result, None).as_deref(), Some("begin"));
        tool.result_ref = Some(ResultRef { bytes: 400_000, hash: "0".into() });
        assert_eq!(copied(&tool, Side::Result, None), None, "the beginning is not the result");
        assert_eq!(copied(&tool, Side::Raw, None), None);
        assert_eq!(copied(&tool, Side::Arguments, None).as_deref(), Some("{\"n\":1}"));
        let whole = r#""begin and end\n""#;
        assert_eq!(copied(&tool, Side::Result, Some(whole)).as_deref(), Some("begin and end\n"));
        assert_eq!(copied(&tool, Side::Raw, Some(whole)).as_deref(), Some("{\"n\":1}\n\"begin and end\\n\""));
    }

    #[test]
    fn what_is_copied_has_no_word_of_the_page_in_it() {
        let mut tool = call("begin");
        tool.result_cut = 7;
        assert_eq!(copied(&tool, Side::Raw, None).as_deref(), Some("{\"n\":1}\n\"begin\""));
        assert_eq!((lost(&tool, Side::Result), lost(&tool, Side::Arguments)), (7, 0));
    }

    #[test]
    fn json_stays_as_it_was_written() {
        assert_eq!(text("{\"a\" : 1,\n \"b\":2}"), "{\"a\" : 1,\n \"b\":2}");
        assert_eq!(text("\"a\\nb\""), "a\nb");
        assert_eq!(text("\"broken"), "\"broken");
    }

    #[test]
    fn a_call_without_a_result_gives_what_it_has_printed() {
        let tool = ToolView { output: Streamed::whole("12 %"), ..ToolView::default() };
        assert_eq!(copied(&tool, Side::Result, None).as_deref(), Some("12 %"));
        assert_eq!(copied(&tool, Side::Raw, None).as_deref(), Some("\n12 %"));
    }
}
