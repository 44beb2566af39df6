//! Requests that agents make on their own: for a title, a summary, what a command does, or just to see whether anybody
//! answers.
//!
//! They must not use up the scenario. They are told by what they lack (tools) and by what they ask for.

use crate::conversation::Conversation;

/// What is answered to a request that is not part of the scenario; `None` if it may be part of it.
pub(crate) fn answer(conversation: &Conversation, known_message: bool) -> Option<&'static str> {
    let says = |text: &str, words: &[&str]| {
        let text = text.to_lowercase();
        words.iter().any(|word| text.contains(word))
    };
    let last = conversation.last_user_text();
    let anywhere = |words: &[&str]| says(&conversation.instructions, words) || says(last, words);
    if conversation.output_limit == Some(1) {
        return Some("ok");
    }
    if conversation.tools.is_empty() {
        if anywhere(&["title"]) {
            return Some("A scripted title");
        }
        if anywhere(&["summar", "compact"]) {
            return Some("A scripted summary.");
        }
        if !known_message && let Some(answer) = about_command(last) {
            return Some(answer);
        }
    }
    // Claude Code 2.0 prepares its sub-agents with this word, with all tools on offer.
    if !known_message && last == "Warmup" {
        return Some("ok");
    }
    // Some ask for a summary with all tools on offer, as the last message of the conversation.
    (!known_message && says(last, &["summar", "compact"])).then_some("A scripted summary.")
}

/// What Claude Code 2.0 and 2.1 want to know of a command: by which prefix it may be allowed, and which files it showed.
fn about_command(last: &str) -> Option<&'static str> {
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
    use crate::offered::Offered;

    fn conversation(instructions: &str, last: &str, tools: usize) -> Conversation {
        Conversation {
            instructions: instructions.to_owned(),
            entries: vec![Entry::User(last.to_owned())],
            tools: vec![Offered::default(); tools],
            ..Conversation::default()
        }
    }

    #[test]
    fn titles_summaries_and_probes_are_no_part_of_the_scenario() {
        assert_eq!(answer(&conversation("You make up a title", "Hello", 0), true), Some("A scripted title"));
        assert_eq!(answer(&conversation("", "Write a summary of it all", 9), false), Some("A scripted summary."));
        let probe = Conversation { output_limit: Some(1), ..conversation("", "quota", 0) };
        assert_eq!(answer(&probe, false), Some("ok"));
    }

    #[test]
    fn what_claude_code_asks_about_commands_is_no_part_of_the_scenario() {
        let asked = |last, tools, known| answer(&conversation("", last, tools), known);
        assert_eq!(asked("<policy_spec>\n…\nCommand: ls", 0, false), Some("none"));
        assert!(asked("Command: ls\nOutput: notes.txt\n", 0, false).unwrap().contains("<filepaths>"));
        assert_eq!(asked("Warmup", 9, false), Some("ok"));
        assert_eq!(asked("Warmup", 9, true), None);
    }

    #[test]
    fn a_turn_may_speak_of_titles_and_a_plain_client_may_offer_no_tools() {
        assert_eq!(answer(&conversation("You are an agent", "FileChange the title", 9), true), None);
        assert_eq!(answer(&conversation("", "Hello there", 0), true), None);
    }
}
