//! Tests of what of a result a person is told.

use super::*;

#[test]
fn a_command_to_the_graph_is_completed_and_other_results_are_themselves() {
    let told = |text: &str| shown(Json::string(text)).to_text().into_owned();
    for command in ["Command(update={'files': {}})", "\"Command(update={'todos': []})\"", " Command() "] {
        assert_eq!(told(command), "✓ completed", "{command}");
    }
    for result in ["Commander", "Command(", "a Command()", "", "\"quoted\""] {
        assert_eq!(told(result), result);
    }
}
