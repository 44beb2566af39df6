//! What must hold between the parts of a scenario.

use super::{MAIN_SESSION, ModelReply, Scenario, Step, ToolAction, Trigger};

/// The first contradiction, if there is one.
pub(super) fn problem(scenario: &Scenario) -> Option<String> {
    let messages = scenario.turns.iter().map(|turn| &turn.prompt);
    let messages: Vec<&String> = messages.chain(scenario.sub_agents.values().map(|child| &child.task)).collect();
    // The model recognises a turn by its message.
    for (index, message) in messages.iter().enumerate() {
        if message.trim().len() < 4 {
            return Some(format!("the message {message:?} is too short to be recognised: give it four letters"));
        }
        let same = messages.iter().enumerate().find(|(other, text)| *other != index && text.contains(message.as_str()));
        if let Some((_, other)) = same {
            return Some(format!("the message {message:?} is also in {other:?}, so they cannot be told apart"));
        }
    }
    for (index, turn) in scenario.turns.iter().enumerate() {
        let place = format!("turn {}", index + 1);
        if let Some(problem) = of_replies(scenario, &turn.replies, &place) {
            return Some(problem);
        }
        if let Some(path) = turn.attachments.iter().find(|path| !scenario.setup.files.contains_key(*path)) {
            return Some(format!("in {place} {path:?} is attached: add it to the files of [setup]"));
        }
        for action in &turn.actions {
            let last = index + 1 == scenario.turns.len();
            if action.action == super::HostAction::SendMessage && last {
                return Some(format!("in {place} the user says something more: add a turn with the message"));
            }
            if matches!(&action.trigger, Trigger::File(path) if escapes(path)) {
                return Some(format!("in {place} a file is waited for outside the workspace"));
            }
        }
    }
    for (name, child) in &scenario.sub_agents {
        if let Some(problem) = of_replies(scenario, &child.replies, &format!("sub-agent {name:?}")) {
            return Some(problem);
        }
    }
    let outside = scenario.setup.files.keys().find(|path| escapes(path));
    outside.map(|path| format!("the file {path:?} is outside the workspace"))
}

fn of_replies(scenario: &Scenario, replies: &[ModelReply], place: &str) -> Option<String> {
    for (index, reply) in replies.iter().enumerate() {
        let place = format!("reply {} of {place}", index + 1);
        if reply.is_empty() {
            return Some(format!("{place} is empty"));
        }
        if reply.len() > 1 && reply.iter().any(|step| matches!(step, Step::HttpError { .. })) {
            return Some(format!("{place} refuses the request, so it can do nothing else"));
        }
        for (step, number) in reply.iter().zip(1..) {
            let last = number == reply.len();
            let ends = matches!(step, Step::Disconnect | Step::StreamError { .. } | Step::Stall(None) | Step::Stop(_));
            if ends && !last {
                return Some(format!("step {number} of {place} ends the reply, but another follows"));
            }
            match step {
                Step::ToolCall(ToolAction::Delegate { name }) if !scenario.sub_agents.contains_key(name) => {
                    return Some(format!("{place} delegates to {name:?}: add [subagent.{name}]"));
                }
                Step::WaitForTurn(session) if !scenario.session_names().contains(&session.as_str()) => {
                    return Some(format!("{place} waits for the session {session:?}, which no turn has"));
                }
                Step::WaitForTurn(session) if session == MAIN_SESSION && scenario.session_names().len() == 1 => {
                    return Some(format!("{place} waits for its own session"));
                }
                _ => {}
            }
        }
    }
    None
}

fn escapes(path: &str) -> bool {
    path.starts_with('/') || path.split('/').any(|part| part == "..")
}

#[cfg(test)]
mod tests {
    use crate::Scenario;

    fn refused(turns: &str) -> String {
        Scenario::parse("test", &format!("about = \"x\"\n{turns}")).unwrap_err().to_string()
    }

    #[test]
    fn a_scenario_that_cannot_be_played_says_why() {
        for (turns, told) in [
            ("[[turn]]\nuser = \"Hi\"\nmodel = [[{ say = \"a\" }]]", "too short to be recognised"),
            (
                "[[turn]]\nuser = \"Hello\"\nmodel = []\n[[turn]]\nuser = \"Hello you\"\nmodel = []",
                "is also in \"Hello you\"",
            ),
            ("[[turn]]\nuser = \"Hello\"\nmodel = [[]]", "reply 1 of turn 1 is empty"),
            ("[[turn]]\nuser = \"Hello\"\nmodel = [[{ cut = true }, { say = \"a\" }]]", "step 1 of reply 1 of turn 1"),
            ("[[turn]]\nuser = \"Hello\"\nmodel = [[{ status = 500 }, { say = \"a\" }]]", "it can do nothing else"),
            ("[[turn]]\nuser = \"Hello\"\nmodel = [[{ delegate = \"x\" }]]", "add [subagent.x]"),
            ("[[turn]]\nuser = \"Hello\"\nmodel = [[{ until = \"b\" }]]", "which no turn has"),
            (
                "[[turn]]\nuser = \"Hello\"\nmodel = []\nact = [{ on = \"text\", do = \"say\" }]",
                "add a turn with the message",
            ),
            ("[[turn]]\nuser = \"Hello\"\nattach = [\"a.png\"]\nmodel = []", "add it to the files of [setup]"),
            ("[setup]\nfiles = { \"../x\" = \"\" }\n[[turn]]\nuser = \"Hello\"\nmodel = []", "outside the workspace"),
        ] {
            let error = refused(turns);
            assert!(error.contains(told), "{error}");
        }
    }
}
