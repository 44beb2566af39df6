//! The position of a conversation in the scenario.
//!
//! The conversation itself contains everything that determines it. So it does not matter in which order requests
//! arrive, how many sessions there are, or whether the agent was restarted meanwhile.

use crate::conversation::{Conversation, Entry};
use crate::player::WAIT_TOOL;
use crate::scenario::{MAIN_SESSION, ModelReply, Scenario};

/// The replies of a turn or of a sub-agent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Script<'a> {
    /// The message that starts it.
    pub(crate) message: &'a str,
    /// Replies in order.
    pub(crate) replies: &'a [ModelReply],
    /// Name of the script in ids.
    pub(crate) label: Label<'a>,
    /// Session of the turn.
    pub(crate) session: &'a str,
}

/// Name of a script in ids and reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Label<'a> {
    /// A turn; the first is 1.
    Turn(usize),
    /// A sub-agent, by its name in the scenario.
    SubAgent(&'a str),
}

impl std::fmt::Display for Label<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Turn(number) => write!(f, "t{number}"),
            Self::SubAgent(name) => write!(f, "a-{name}"),
        }
    }
}

/// A position in the scenario.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Position<'a> {
    /// The current script.
    pub(crate) script: Script<'a>,
    /// Number of its replies that the conversation contains.
    pub(crate) replies_given: usize,
    /// Index of the conversation's entry that starts the script.
    start: usize,
}

/// A sub-agent that was started and that the agent has not waited for yet.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct UnawaitedSubAgent<'c> {
    /// Id of the call that waits for it.
    pub(crate) wait_id: String,
    /// Label of its script.
    pub(crate) label: String,
    /// Result of the call that started it.
    pub(crate) spawn_result: &'c str,
}

/// All scripts of a scenario.
pub(crate) fn scripts(scenario: &Scenario) -> Vec<Script<'_>> {
    let turns = scenario.turns.iter().zip(1..).map(|(turn, number)| Script {
        message: &turn.prompt,
        replies: &turn.replies,
        label: Label::Turn(number),
        session: &turn.session,
    });
    let sub_agents = scenario.sub_agents.iter().map(|(name, sub_agent)| Script {
        message: &sub_agent.task,
        replies: &sub_agent.replies,
        label: Label::SubAgent(name),
        session: MAIN_SESSION,
    });
    turns.chain(sub_agents).collect()
}

/// Finds the position of a conversation; `None` if the scenario has none of the user's messages.
pub(crate) fn find_position<'a>(scenario: &'a Scenario, conversation: &Conversation) -> Option<Position<'a>> {
    let scripts = scripts(scenario);
    let (start, script) = conversation.entries.iter().enumerate().rev().find_map(|(index, entry)| {
        let (Entry::User(text) | Entry::System(text)) = entry else { return None };
        // Two messages that were sent at once may arrive as one. Then the later counts.
        let last =
            scripts.iter().filter_map(|script| Some((text.rfind(script.message)?, script))).max_by_key(|(at, _)| *at);
        Some((index, *last?.1))
    })?;
    let label = script.label.to_string();
    let given = call_ids_after(conversation, start).filter_map(|id| {
        let (script, reply, _) = parse_call_id(id)?;
        (script == label).then_some(reply + 1)
    });
    Some(Position { script, replies_given: given.max().unwrap_or(0), start })
}

impl Position<'_> {
    /// Id of a tool call in this script.
    pub(crate) fn call_id(&self, reply: usize, call: usize) -> String {
        format!("{}_{reply}_{call}", self.script.label)
    }

    /// Id of the call that searches for a tool which a reply needs.
    pub(crate) fn search_id(&self, reply: usize) -> String {
        format!("{}_{reply}_find", self.script.label)
    }

    /// Finds the first sub-agent that was started and that the agent has not waited for yet.
    ///
    /// Codex starts sub-agents with one tool and waits for them with another.
    pub(crate) fn find_unawaited<'c>(
        &self,
        scenario: &Scenario,
        conversation: &'c Conversation,
    ) -> Option<UnawaitedSubAgent<'c>> {
        if !conversation.has_tool(WAIT_TOOL) {
            return None;
        }
        let entries = &conversation.entries[self.start..];
        entries.iter().find_map(|entry| {
            let Entry::ToolCall { id, name, arguments } = entry else { return None };
            let (label, reply, call) = parse_call_id(id).filter(|_| name == "spawn_agent")?;
            let wait_id = format!("{label}_{reply}_wait{call}");
            if self.has_call(conversation, &wait_id) {
                return None;
            }
            let spawn_result = entries.iter().find_map(|entry| match entry {
                Entry::ToolResult { id: call_id, text } if call_id == id => Some(text.as_str()),
                _ => None,
            })?;
            let mut sub_agents = scenario.sub_agents.iter();
            let (name, _) = sub_agents.find(|(_, sub_agent)| arguments.contains(&sub_agent.task))?;
            Some(UnawaitedSubAgent { wait_id, label: Label::SubAgent(name).to_string(), spawn_result })
        })
    }

    /// Whether the conversation has a call with this id.
    pub(crate) fn has_call(&self, conversation: &Conversation, id: &str) -> bool {
        call_ids_after(conversation, self.start).any(|called| called.ends_with(id))
    }
}

fn call_ids_after(conversation: &Conversation, start: usize) -> impl Iterator<Item = &str> {
    conversation.entries[start..].iter().filter_map(|entry| match entry {
        Entry::ToolCall { id, .. } => Some(id.as_str()),
        _ => None,
    })
}

/// Parses the label, the reply and the call from an id that the model chose. The prefix of the API is ignored.
fn parse_call_id(id: &str) -> Option<(&str, usize, usize)> {
    let mut parts = id.rsplitn(3, '_');
    let call = parts.next()?.parse().ok()?;
    let reply = parts.next()?.parse().ok()?;
    let label = parts.next()?;
    Some((label.rsplit_once('_').map_or(label, |(_, label)| label), reply, call))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::offered_tool::OfferedTool;

    fn scenario() -> Scenario {
        let text = r#"
            about = "x"
            [[turn]]
            user = "First thing"
            model = [[{ delegate = "helper" }], [{ say = "a" }]]
            [[turn]]
            user = "Second thing"
            model = [[{ say = "b" }]]
            [subagent.helper]
            task = "Look around"
            model = [[{ run = "ls" }], [{ say = "c" }]]
        "#;
        Scenario::parse("test", text).unwrap()
    }

    fn user(text: &str) -> Entry {
        Entry::User(text.to_owned())
    }

    fn call(id: &str, name: &str) -> Entry {
        Entry::ToolCall { id: id.to_owned(), name: name.to_owned(), arguments: "Look around".to_owned() }
    }

    fn position(entries: Vec<Entry>) -> Option<(String, usize)> {
        let scenario = scenario();
        let conversation = Conversation { entries, ..Conversation::default() };
        find_position(&scenario, &conversation)
            .map(|position| (position.script.label.to_string(), position.replies_given))
    }

    #[test]
    fn the_last_known_message_determines_the_turn_and_its_calls_the_replies() {
        assert_eq!(position(vec![user("<reminder/>"), user("First thing")]), Some(("t1".to_owned(), 0)));
        let more = vec![user("First thing"), call("toolu_t1_0_0", "Agent"), user("<reminder/>")];
        assert_eq!(position(more.clone()), Some(("t1".to_owned(), 1)));
        let next = more.into_iter().chain([user("Second thing")]).collect();
        assert_eq!(position(next), Some(("t2".to_owned(), 0)));
        assert_eq!(position(vec![user("What?")]), None);
    }

    #[test]
    fn a_sub_agent_is_recognised_by_its_task_whatever_else_its_conversation_contains() {
        let fork = vec![user("First thing"), call("call_t1_0_0", "spawn_agent"), user("Task: Look around")];
        assert_eq!(position(fork.clone()), Some(("a-helper".to_owned(), 0)));
        let ran = fork.into_iter().chain([call("call_a-helper_0_0", "exec_command")]).collect();
        assert_eq!(position(ran), Some(("a-helper".to_owned(), 1)));
    }

    #[test]
    fn of_two_messages_in_one_entry_the_later_counts() {
        assert_eq!(position(vec![user("First thing\nSecond thing")]), Some(("t2".to_owned(), 0)));
    }

    #[test]
    fn the_agent_waits_once_for_a_sub_agent() {
        let scenario = scenario();
        let mut conversation = Conversation {
            entries: vec![
                user("First thing"),
                call("call_t1_0_0", "spawn_agent"),
                Entry::ToolResult { id: "call_t1_0_0".to_owned(), text: "{\"agent_id\":\"x\"}".to_owned() },
            ],
            tools: vec![OfferedTool { name: "wait_agent".to_owned(), ..OfferedTool::default() }],
            ..Conversation::default()
        };
        let unawaited = |conversation: &Conversation| {
            let position = find_position(&scenario, conversation).unwrap();
            position.find_unawaited(&scenario, conversation).map(|unawaited| (unawaited.wait_id, unawaited.label))
        };
        assert_eq!(unawaited(&conversation), Some(("t1_0_wait0".to_owned(), "a-helper".to_owned())));
        conversation.entries.push(call("call_t1_0_wait0", "wait_agent"));
        assert_eq!(unawaited(&conversation), None);
    }
}
