//! What a conversation does not show: which failures were played, and what went wrong.

use std::collections::{BTreeSet, HashMap};

use crate::conversation::Conversation;
use crate::route::{Label, Place, scripts};
use crate::scenario::{Scenario, Step, is_failing};

/// What became of a scenario.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ScenarioReport {
    /// What the model could not do as the scenario says, each with its place.
    pub problems: Vec<String>,
    /// The replies that no agent asked for.
    pub unplayed_replies: Vec<String>,
}

/// How far the scenario was played.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    /// How often a reply that breaks off was played: session, script, reply.
    spent: HashMap<(String, String, usize), u32>,
    /// What was played: script, reply.
    played: BTreeSet<(String, usize)>,
    problems: Vec<String>,
    /// What the conversation held when a reply of a script was last asked for.
    heard: HashMap<String, Vec<String>>,
    /// The keys that agents came with.
    pub(crate) keys: BTreeSet<String>,
}

impl Progress {
    /// Notes what a conversation holds that asks for a reply of a script.
    pub(crate) fn hear(&mut self, place: &Place<'_>, conversation: &Conversation) {
        self.heard.insert(place.script.label.to_string(), conversation.told().map(str::to_owned).collect());
    }

    /// What the conversation held when a reply of a turn was last asked for; the first turn is 0.
    pub(crate) fn received_texts(&self, turn: usize) -> Vec<String> {
        self.heard.get(&Label::Turn(turn + 1).to_string()).cloned().unwrap_or_default()
    }

    /// The reply that is next, counting the failures that left no trace; `None` when there is none left.
    pub(crate) fn next(&mut self, session: &str, place: &Place<'_>) -> Option<usize> {
        let replies = place.script.replies;
        let label = place.script.label.to_string();
        let mut at = place.replies;
        loop {
            let reply = replies.get(at)?;
            if is_failing(reply) {
                let times = match reply.first() {
                    Some(Step::HttpError { times, .. }) => *times,
                    _ => 1,
                };
                let spent = self.spent.entry((session.to_owned(), label.clone(), at)).or_default();
                // A failure with nothing after it lasts.
                if *spent >= times && at + 1 < replies.len() {
                    at += 1;
                    continue;
                }
                *spent += 1;
            }
            self.played.insert((label, at));
            return Some(at);
        }
    }

    /// Notes that something is not as the scenario says. The same is noted once.
    pub(crate) fn problem(&mut self, problem: String) {
        tracing::warn!("{problem}");
        if !self.problems.contains(&problem) {
            self.problems.push(problem);
        }
    }

    /// Whether every reply of a turn was played; the first turn is 0.
    pub(crate) fn has_played_turn(&self, scenario: &Scenario, turn: usize) -> bool {
        let label = Label::Turn(turn + 1).to_string();
        let replies = scenario.turns.get(turn).map_or(0, |turn| turn.replies.len());
        (0..replies).all(|at| self.played.contains(&(label.clone(), at)))
    }

    /// What became of it so far.
    pub(crate) fn report(&self, scenario: &Scenario) -> ScenarioReport {
        let all = scripts(scenario);
        let replies =
            all.iter().flat_map(|script| (0..script.replies.len()).map(move |at| (script.label.to_string(), at)));
        let unplayed = replies.filter(|reply| !self.played.contains(reply));
        ScenarioReport {
            problems: self.problems.clone(),
            unplayed_replies: unplayed.map(|(label, at)| format!("reply {} of {label}", at + 1)).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conversation::Entry;
    use crate::route::place;

    fn played(model: &str, requests: usize) -> Vec<Option<usize>> {
        let text = format!("about = \"x\"\n[[turn]]\nuser = \"Hello\"\nmodel = {model}\n");
        let scenario = Scenario::parse("test", &text).unwrap();
        let conversation = Conversation { entries: vec![Entry::User("Hello".to_owned())], ..Conversation::default() };
        let place = place(&scenario, &conversation).unwrap();
        let mut progress = Progress::default();
        (0..requests).map(|_| progress.next("s", &place)).collect()
    }

    #[test]
    fn a_failure_is_played_as_often_as_it_says_and_then_the_next_reply() {
        let model = "[[{ status = 429, times = 2 }], [{ cut = true }], [{ say = \"a\" }]]";
        assert_eq!(played(model, 5), [Some(0), Some(0), Some(1), Some(2), Some(2)]);
    }

    #[test]
    fn a_failure_with_nothing_after_it_lasts() {
        assert_eq!(played("[[{ status = 400 }]]", 3), [Some(0), Some(0), Some(0)]);
    }

    #[test]
    fn what_is_not_in_the_scenario_is_not_made_up() {
        assert_eq!(played("[]", 1), [None]);
    }

    #[test]
    fn the_report_names_what_nobody_asked_for() {
        let text = "about = \"x\"\n[[turn]]\nuser = \"Hello\"\nmodel = [[{ run = \"ls\" }], [{ say = \"a\" }]]\n";
        let scenario = Scenario::parse("test", text).unwrap();
        let mut progress = Progress::default();
        progress.problem("twice".to_owned());
        progress.problem("twice".to_owned());
        let report = progress.report(&scenario);
        assert_eq!(report.unplayed_replies, ["reply 1 of t1", "reply 2 of t1"]);
        assert_eq!(report.problems, ["twice"]);
    }
}
