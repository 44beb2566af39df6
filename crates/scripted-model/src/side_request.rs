//! Requests that agents make on their own: for a title, a summary or the effect of a command, or to probe the model.
//!
//! They must not use up replies of the scenario. They are recognised by their content, and most of them offer no tools.

use crate::conversation::Conversation;

/// The answer to a request that is not part of the scenario; `None` if it may be part of it. `is_known` says whether
/// the last message is one of the scenario.
pub(crate) fn answer(conversation: &Conversation, is_known: bool) -> Option<&'static str> {
    let contains_any = |text: &str, words: &[&str]| {
        let text = text.to_lowercase();
        words.iter().any(|word| text.contains(word))
    };
    let last = conversation.last_user_text();
    let asks_for = |words: &[&str]| contains_any(&conversation.instructions, words) || contains_any(last, words);
    if conversation.output_limit == Some(1) {
        return Some("ok");
    }
    if conversation.tools.is_empty() {
        if asks_for(&["title"]) {
            return Some("A scripted title");
        }
        if asks_for(&["summar", "compact"]) {
            return Some("A scripted summary.");
        }
        if !is_known && let Some(answer) = answer_about_command(last) {
            return Some(answer);
        }
    }
    // Claude Code 2.0 warms up its sub-agents with this message, and offers all tools.
    if !is_known && last == "Warmup" {
        return Some("ok");
    }
    // Some agents offer all tools and ask for a summary in the last message of the conversation.
    (!is_known && contains_any(last, &["summar", "compact"])).then_some("A scripted summary.")
}

/// Answers the questions of Claude Code 2.0 and 2.1 about a command: which prefix permits it, and which files it
/// showed.
fn answer_about_command(last: &str) -> Option<&'static str> {
    if last.contains("<policy_spec>") {
        return Some("none");
    }
    let is_output = last.starts_with("Command: ") && last.contains("\nOutput: ");
    is_output.then_some("<is_displaying_contents>\nfalse\n</is_displaying_contents>\n\n<filepaths>\n</filepaths>")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conversation::Entry;
    use crate::offered_tool::OfferedTool;

    fn conversation(instructions: &str, last: &str, tools: usize) -> Conversation {
        Conversation {
            instructions: instructions.to_owned(),
            entries: vec![Entry::User(last.to_owned())],
            tools: vec![OfferedTool::default(); tools],
            ..Conversation::default()
        }
    }

    #[test]
    fn titles_summaries_and_probes_are_not_part_of_the_scenario() {
        assert_eq!(answer(&conversation("You make up a title", "Hello", 0), true), Some("A scripted title"));
        assert_eq!(answer(&conversation("", "Write a summary of it all", 9), false), Some("A scripted summary."));
        let probe = Conversation { output_limit: Some(1), ..conversation("", "quota", 0) };
        assert_eq!(answer(&probe, false), Some("ok"));
    }

    #[test]
    fn questions_of_claude_code_about_commands_are_not_part_of_the_scenario() {
        let asked = |last, tools, known| answer(&conversation("", last, tools), known);
        assert_eq!(asked("<policy_spec>\n…\nCommand: ls", 0, false), Some("none"));
        assert!(asked("Command: ls\nOutput: notes.txt\n", 0, false).unwrap().contains("<filepaths>"));
        assert_eq!(asked("Warmup", 9, false), Some("ok"));
        assert_eq!(asked("Warmup", 9, true), None);
    }

    #[test]
    fn a_turn_may_mention_titles_and_a_plain_client_may_offer_no_tools() {
        assert_eq!(answer(&conversation("You are an agent", "FileChange the title", 9), true), None);
        assert_eq!(answer(&conversation("", "Hello there", 0), true), None);
    }
}
