//! Where in the scenario a conversation is.
//!
//! Everything is read off the conversation itself, so it does not matter in which order requests arrive, how many
//! sessions there are, or whether the agent was started anew in between.

use crate::conversation::{Conversation, Entry};
use crate::player::WAIT;
use crate::scenario::{MAIN_SESSION, ModelReply, Scenario};

/// A list of replies, and how it is known in ids.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Script<'a> {
    /// The message that begins it.
    pub(crate) message: &'a str,
    /// The replies.
    pub(crate) replies: &'a [ModelReply],
    /// Which turn of the scenario, or which sub-agent.
    pub(crate) label: Label<'a>,
    /// The session of the turn.
    pub(crate) session: &'a str,
}

/// What a script is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Label<'a> {
    /// A turn, counted from 1.
    Turn(usize),
    /// A sub-agent.
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

/// A place in the scenario.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place<'a> {
    /// The script that is being played.
    pub(crate) script: Script<'a>,
    /// How many of its replies the conversation shows.
    pub(crate) replies: usize,
    /// Where in the conversation it begins.
    begin: usize,
}

/// A sub-agent that was started and not yet waited for.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Unawaited<'c> {
    /// The id of the call that waits for it.
    pub(crate) wait: String,
    /// The label of its script.
    pub(crate) child: String,
    /// What the agent said when it was started.
    pub(crate) spawned: &'c str,
}

/// Every script of a scenario.
pub(crate) fn scripts(scenario: &Scenario) -> Vec<Script<'_>> {
    let turns = scenario.turns.iter().zip(1..).map(|(turn, number)| Script {
        message: &turn.prompt,
        replies: &turn.replies,
        label: Label::Turn(number),
        session: &turn.session,
    });
    let children = scenario.sub_agents.iter().map(|(name, child)| Script {
        message: &child.task,
        replies: &child.replies,
        label: Label::SubAgent(name),
        session: MAIN_SESSION,
    });
    turns.chain(children).collect()
}

/// Where the conversation is; `None` when the user said nothing that the scenario knows.
pub(crate) fn place<'a>(scenario: &'a Scenario, conversation: &Conversation) -> Option<Place<'a>> {
    let scripts = scripts(scenario);
    let (begin, script) = conversation.entries.iter().enumerate().rev().find_map(|(index, entry)| {
        let (Entry::User(text) | Entry::Told(text)) = entry else { return None };
        // Two messages that were sent at once may come as one: the later counts.
        let last =
            scripts.iter().filter_map(|script| Some((text.rfind(script.message)?, script))).max_by_key(|(at, _)| *at);
        Some((index, *last?.1))
    })?;
    let label = script.label.to_string();
    let given = calls_after(conversation, begin).filter_map(|id| {
        let (of, reply, _) = read_id(id)?;
        (of == label).then_some(reply + 1)
    });
    Some(Place { script, replies: given.max().unwrap_or(0), begin })
}

impl Place<'_> {
    /// The id of a call in this script.
    pub(crate) fn call_id(&self, reply: usize, call: usize) -> String {
        format!("{}_{reply}_{call}", self.script.label)
    }

    /// The id of the call that looks for a tool which a reply needs.
    pub(crate) fn search_id(&self, reply: usize) -> String {
        format!("{}_{reply}_find", self.script.label)
    }

    /// The first sub-agent that was started and not yet waited for.
    ///
    /// Codex starts sub-agents with one tool and waits for them with another.
    pub(crate) fn unawaited<'c>(&self, scenario: &Scenario, conversation: &'c Conversation) -> Option<Unawaited<'c>> {
        if !conversation.offers(WAIT) {
            return None;
        }
        let entries = &conversation.entries[self.begin..];
        entries.iter().find_map(|entry| {
            let Entry::Called { id, name, arguments } = entry else { return None };
            let (label, reply, call) = read_id(id).filter(|_| name == "spawn_agent")?;
            let wait = format!("{label}_{reply}_wait{call}");
            if self.was_called(conversation, &wait) {
                return None;
            }
            let spawned = entries.iter().find_map(|entry| match entry {
                Entry::Output { id: of, text } if of == id => Some(text.as_str()),
                _ => None,
            })?;
            let (child, _) = scenario.sub_agents.iter().find(|(_, child)| arguments.contains(&child.task))?;
            Some(Unawaited { wait, child: Label::SubAgent(child).to_string(), spawned })
        })
    }

    /// Whether a call with this id is in the conversation.
    pub(crate) fn was_called(&self, conversation: &Conversation, id: &str) -> bool {
        calls_after(conversation, self.begin).any(|called| called.ends_with(id))
    }
}

fn calls_after(conversation: &Conversation, begin: usize) -> impl Iterator<Item = &str> {
    conversation.entries[begin..].iter().filter_map(|entry| match entry {
        Entry::Called { id, .. } => Some(id.as_str()),
        _ => None,
    })
}

/// The label, reply and call in an id that the model gave out; languages put a prefix of their own before it.
fn read_id(id: &str) -> Option<(&str, usize, usize)> {
    let mut parts = id.rsplitn(3, '_');
    let call = parts.next()?.parse().ok()?;
    let reply = parts.next()?.parse().ok()?;
    let label = parts.next()?;
    Some((label.rsplit_once('_').map_or(label, |(_, label)| label), reply, call))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::offered::Offered;

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

    fn called(id: &str, name: &str) -> Entry {
        Entry::Called { id: id.to_owned(), name: name.to_owned(), arguments: "Look around".to_owned() }
    }

    fn at(entries: Vec<Entry>) -> Option<(String, usize)> {
        let scenario = scenario();
        let conversation = Conversation { entries, ..Conversation::default() };
        place(&scenario, &conversation).map(|place| (place.script.label.to_string(), place.replies))
    }

    #[test]
    fn the_last_known_message_is_the_turn_and_its_calls_the_replies() {
        assert_eq!(at(vec![user("<reminder/>"), user("First thing")]), Some(("t1".to_owned(), 0)));
        let more = vec![user("First thing"), called("toolu_t1_0_0", "Agent"), user("<reminder/>")];
        assert_eq!(at(more.clone()), Some(("t1".to_owned(), 1)));
        let next = more.into_iter().chain([user("Second thing")]).collect();
        assert_eq!(at(next), Some(("t2".to_owned(), 0)));
        assert_eq!(at(vec![user("What?")]), None);
    }

    #[test]
    fn a_sub_agent_is_known_by_its_task_whatever_else_its_conversation_holds() {
        let fork = vec![user("First thing"), called("call_t1_0_0", "spawn_agent"), user("Task: Look around")];
        assert_eq!(at(fork.clone()), Some(("a-helper".to_owned(), 0)));
        let ran = fork.into_iter().chain([called("call_a-helper_0_0", "exec_command")]).collect();
        assert_eq!(at(ran), Some(("a-helper".to_owned(), 1)));
    }

    #[test]
    fn the_later_of_two_messages_in_one_counts() {
        assert_eq!(at(vec![user("First thing\nSecond thing")]), Some(("t2".to_owned(), 0)));
    }

    #[test]
    fn a_sub_agent_that_was_started_is_waited_for_once() {
        let scenario = scenario();
        let mut conversation = Conversation {
            entries: vec![
                user("First thing"),
                called("call_t1_0_0", "spawn_agent"),
                Entry::Output { id: "call_t1_0_0".to_owned(), text: "{\"agent_id\":\"x\"}".to_owned() },
            ],
            tools: vec![Offered { name: "wait_agent".to_owned(), ..Offered::default() }],
            ..Conversation::default()
        };
        let unawaited = |conversation: &Conversation| {
            let place = place(&scenario, conversation).unwrap();
            place.unawaited(&scenario, conversation).map(|unawaited| (unawaited.wait, unawaited.child))
        };
        assert_eq!(unawaited(&conversation), Some(("t1_0_wait0".to_owned(), "a-helper".to_owned())));
        conversation.entries.push(called("call_t1_0_wait0", "wait_agent"));
        assert_eq!(unawaited(&conversation), None);
    }
}
