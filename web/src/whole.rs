//! Results of which the hub sent the beginning only: how far the whole is loaded, and what is copied of a call, byte for
//! byte.

use std::sync::Arc;

use model::view::ToolView;

/// How far the loading of a result is.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Loaded {
    /// Nobody has asked for it.
    #[default]
    No,
    /// It is on its way.
    Loading,
    /// The whole result, as the JSON that was sent.
    Yes(Arc<str>),
    /// Why it is not there, for the reader.
    Failed(String),
}

impl Loaded {
    /// The JSON of the whole result, once it is there.
    pub fn json(&self) -> Option<&Arc<str>> {
        if let Self::Yes(json) = self { Some(json) } else { None }
    }
}

/// What of a call is copied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// What it was given.
    Arguments,
    /// What it gave, or printed so far.
    Result,
    /// Both, as they came.
    Raw,
}

/// What a reader should see of the JSON of a result: the content of a string, else the JSON as it was written.
pub fn text(json: &str) -> String {
    let said = json.starts_with('"').then(|| serde_json::from_str::<String>(json).ok()).flatten();
    said.unwrap_or_else(|| json.to_owned())
}

/// What is copied of `tool`. `whole` is the JSON of its result, where that had to be loaded; nothing comes back where it
/// still has to be.
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

/// Bytes of the result that nobody has kept: what is copied of it is its beginning.
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
