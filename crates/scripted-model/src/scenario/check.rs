//! Consistency checks between the parts of a scenario.

use super::{MAIN_SESSION, ModelReply, Scenario, Step, ToolAction, Trigger};

/// Finds the first inconsistency.
pub(super) fn find_problem(scenario: &Scenario) -> Option<String> {
    let messages = scenario.turns.iter().map(|turn| &turn.prompt);
    let messages: Vec<&String> = messages.chain(scenario.sub_agents.values().map(|child| &child.task)).collect();
    // The model recognises a turn by its message, so the messages must be distinct.
    for (index, message) in messages.iter().enumerate() {
        if message.trim().len() < 4 {
            return Some(format!("the message {message:?} is too short to be recognised: give it four letters"));
        }
        let same = messages.iter().enumerate().find(|(other, text)| *other != index && text.contains(message.as_str()));
        if let Some((_, other)) = same {
            return Some(format!(
                "the message {message:?} is contained in {other:?}; the model cannot distinguish them"
            ));
        }
    }
    for (index, turn) in scenario.turns.iter().enumerate() {
        let location = format!("turn {}", index + 1);
        if let Some(problem) = find_reply_problem(scenario, &turn.replies, &location) {
            return Some(problem);
        }
        if let Some(path) = turn.attachments.iter().find(|path| !scenario.setup.files.contains_key(*path)) {
            return Some(format!("{location} attaches {path:?}: add it to the files of [setup]"));
        }
        for action in &turn.actions {
            let is_last = index + 1 == scenario.turns.len();
            if action.action == super::HostAction::SendMessage && is_last {
                return Some(format!("{location} sends the message of the next turn: add a turn with the message"));
            }
            if matches!(&action.trigger, Trigger::File(path) if escapes(path)) {
                return Some(format!("{location} waits for a file outside the workspace"));
            }
        }
    }
    for (name, sub_agent) in &scenario.sub_agents {
        if let Some(problem) = find_reply_problem(scenario, &sub_agent.replies, &format!("sub-agent {name:?}")) {
            return Some(problem);
        }
    }
    let outside = scenario.setup.files.keys().find(|path| escapes(path));
    outside.map(|path| format!("the file {path:?} is outside the workspace"))
}

fn find_reply_problem(scenario: &Scenario, replies: &[ModelReply], location: &str) -> Option<String> {
    for (index, reply) in replies.iter().enumerate() {
        let location = format!("reply {} of {location}", index + 1);
        if reply.is_empty() {
            return Some(format!("{location} is empty"));
        }
        if reply.len() > 1 && reply.iter().any(|step| matches!(step, Step::HttpError { .. })) {
            return Some(format!("{location} is an HTTP error, so it cannot have other steps"));
        }
        for (step, number) in reply.iter().zip(1..) {
            let is_last = number == reply.len();
            let ends = matches!(step, Step::Disconnect | Step::StreamError { .. } | Step::Stall(None) | Step::Stop(_));
            if ends && !is_last {
                return Some(format!("step {number} of {location} ends the reply, but another step follows"));
            }
            match step {
                Step::ToolCall(ToolAction::Delegate { name }) if !scenario.sub_agents.contains_key(name) => {
                    return Some(format!("{location} delegates to {name:?}: add [subagent.{name}]"));
                }
                Step::WaitForTurn(session) if !scenario.session_names().contains(&session.as_str()) => {
                    return Some(format!("{location} waits for the session {session:?}, which no turn has"));
                }
                Step::WaitForTurn(session) if session == MAIN_SESSION && scenario.session_names().len() == 1 => {
                    return Some(format!("{location} waits for its own session"));
                }
                _ => {}
            }
        }
    }
    None
}

/// Whether a path leaves the workspace.
fn escapes(path: &str) -> bool {
    path.starts_with('/') || path.split('/').any(|part| part == "..")
}

#[cfg(test)]
mod tests {
    use crate::Scenario;

    fn error(turns: &str) -> String {
        Scenario::parse("test", &format!("about = \"x\"\n{turns}")).unwrap_err().to_string()
    }

    #[test]
    fn an_inconsistent_scenario_is_rejected_with_the_reason() {
        for (turns, expected) in [
            ("[[turn]]\nuser = \"Hi\"\nmodel = [[{ say = \"a\" }]]", "too short to be recognised"),
            (
                "[[turn]]\nuser = \"Hello\"\nmodel = []\n[[turn]]\nuser = \"Hello you\"\nmodel = []",
                "is contained in \"Hello you\"",
            ),
            ("[[turn]]\nuser = \"Hello\"\nmodel = [[]]", "reply 1 of turn 1 is empty"),
            ("[[turn]]\nuser = \"Hello\"\nmodel = [[{ cut = true }, { say = \"a\" }]]", "step 1 of reply 1 of turn 1"),
            ("[[turn]]\nuser = \"Hello\"\nmodel = [[{ status = 500 }, { say = \"a\" }]]", "it cannot have other steps"),
            ("[[turn]]\nuser = \"Hello\"\nmodel = [[{ delegate = \"x\" }]]", "add [subagent.x]"),
            ("[[turn]]\nuser = \"Hello\"\nmodel = [[{ until = \"b\" }]]", "which no turn has"),
            (
                "[[turn]]\nuser = \"Hello\"\nmodel = []\nact = [{ on = \"text\", do = \"say\" }]",
                "add a turn with the message",
            ),
            ("[[turn]]\nuser = \"Hello\"\nattach = [\"a.png\"]\nmodel = []", "add it to the files of [setup]"),
            ("[setup]\nfiles = { \"../x\" = \"\" }\n[[turn]]\nuser = \"Hello\"\nmodel = []", "outside the workspace"),
        ] {
            let error = error(turns);
            assert!(error.contains(expected), "{error}");
        }
    }
}
