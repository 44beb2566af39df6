//! State that a conversation does not show: which failures were played, and which problems occurred.

use std::collections::{BTreeSet, HashMap};

use crate::conversation::Conversation;
use crate::position::{Label, Position, scripts};
use crate::scenario::{Scenario, Step, is_failing};

/// How the play of a scenario went.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ScenarioReport {
    /// Requests that the model could not answer as the scenario says, each with its place in the scenario.
    pub problems: Vec<String>,
    /// Replies that no agent has requested.
    pub unplayed_replies: Vec<String>,
}

/// How far the scenario was played.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    /// How often each failing reply was played: session, script, reply → count.
    failures: HashMap<(String, String, usize), u32>,
    /// Replies that were played: script, reply.
    played: BTreeSet<(String, usize)>,
    problems: Vec<String>,
    /// Texts of the last conversation that requested a reply of a script, by the label of the script.
    received_texts: HashMap<String, Vec<String>>,
    /// API keys that agents sent.
    pub(crate) api_keys: BTreeSet<String>,
}

impl Progress {
    /// Remembers the texts of a conversation that requests a reply of a script.
    pub(crate) fn observe_request(&mut self, position: &Position<'_>, conversation: &Conversation) {
        let texts = conversation.received_texts().map(str::to_owned).collect();
        self.received_texts.insert(position.script.label.to_string(), texts);
    }

    /// Texts of the last conversation that requested a reply of a turn; the first turn is 0.
    pub(crate) fn received_texts(&self, turn: usize) -> Vec<String> {
        self.received_texts.get(&Label::Turn(turn + 1).to_string()).cloned().unwrap_or_default()
    }

    /// The index of the next reply, skipping failures that were played often enough; `None` if there is none left.
    pub(crate) fn next_reply(&mut self, session: &str, position: &Position<'_>) -> Option<usize> {
        let replies = position.script.replies;
        let label = position.script.label.to_string();
        let mut index = position.replies_given;
        loop {
            let reply = replies.get(index)?;
            if is_failing(reply) {
                let times = match reply.first() {
                    Some(Step::HttpError { times, .. }) => *times,
                    _ => 1,
                };
                let played = self.failures.entry((session.to_owned(), label.clone(), index)).or_default();
                // A failure without a reply after it is permanent.
                if *played >= times && index + 1 < replies.len() {
                    index += 1;
                    continue;
                }
                *played += 1;
            }
            self.played.insert((label, index));
            return Some(index);
        }
    }

    /// Records a mismatch between a request and the scenario. Equal problems are recorded once.
    pub(crate) fn add_problem(&mut self, problem: String) {
        tracing::warn!(problem, "request does not match the scenario");
        if !self.problems.contains(&problem) {
            self.problems.push(problem);
        }
    }

    /// Whether every reply of a turn was played; the first turn is 0.
    pub(crate) fn has_played_turn(&self, scenario: &Scenario, turn: usize) -> bool {
        let label = Label::Turn(turn + 1).to_string();
        let replies = scenario.turns.get(turn).map_or(0, |turn| turn.replies.len());
        (0..replies).all(|index| self.played.contains(&(label.clone(), index)))
    }

    pub(crate) fn report(&self, scenario: &Scenario) -> ScenarioReport {
        let scripts = scripts(scenario);
        let replies = scripts.iter().flat_map(|script| {
            let label = script.label.to_string();
            (0..script.replies.len()).map(move |index| (label.clone(), index))
        });
        let unplayed = replies.filter(|reply| !self.played.contains(reply));
        ScenarioReport {
            problems: self.problems.clone(),
            unplayed_replies: unplayed.map(|(label, index)| format!("reply {} of {label}", index + 1)).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conversation::Entry;
    use crate::position::find_position;

    /// The replies that this many requests get.
    fn play(model: &str, requests: usize) -> Vec<Option<usize>> {
        let text = format!("about = \"x\"\n[[turn]]\nuser = \"Hello\"\nmodel = {model}\n");
        let scenario = Scenario::parse("test", &text).unwrap();
        let conversation = Conversation { entries: vec![Entry::User("Hello".to_owned())], ..Conversation::default() };
        let position = find_position(&scenario, &conversation).unwrap();
        let mut progress = Progress::default();
        (0..requests).map(|_| progress.next_reply("s", &position)).collect()
    }

    #[test]
    fn a_failure_is_played_as_often_as_the_scenario_says_and_then_the_next_reply() {
        let model = "[[{ status = 429, times = 2 }], [{ cut = true }], [{ say = \"a\" }]]";
        assert_eq!(play(model, 5), [Some(0), Some(0), Some(1), Some(2), Some(2)]);
    }

    #[test]
    fn a_failure_without_a_reply_after_it_is_permanent() {
        assert_eq!(play("[[{ status = 400 }]]", 3), [Some(0), Some(0), Some(0)]);
    }

    #[test]
    fn a_turn_without_replies_has_no_next_reply() {
        assert_eq!(play("[]", 1), [None]);
    }

    #[test]
    fn the_report_lists_unplayed_replies_and_each_problem_once() {
        let text = "about = \"x\"\n[[turn]]\nuser = \"Hello\"\nmodel = [[{ run = \"ls\" }], [{ say = \"a\" }]]\n";
        let scenario = Scenario::parse("test", text).unwrap();
        let mut progress = Progress::default();
        progress.add_problem("twice".to_owned());
        progress.add_problem("twice".to_owned());
        let report = progress.report(&scenario);
        assert_eq!(report.unplayed_replies, ["reply 1 of t1", "reply 2 of t1"]);
        assert_eq!(report.problems, ["twice"]);
    }
}
