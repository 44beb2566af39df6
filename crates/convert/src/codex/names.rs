//! What items are called where the agent's own ids repeat.
//!
//! Most ids come from the model's provider, and some give the same ones again, in the next turn or the next answer. An
//! item that begins is another one than the item of that id before it, so it gets a name of its own.

use crate::Key;
use crate::sequencer::RecentMap;

/// So many items are remembered.
const REMEMBERED: usize = 2048;

/// The items of a thread.
#[derive(Debug, Default)]
pub(super) struct Names {
    begun: RecentMap<Key, Begun, REMEMBERED>,
    /// Some ids began more than once, so that names have to be looked up.
    repeat: bool,
    /// How many messages are over.
    said: u64,
    /// How many were when the turn began.
    before_turn: u64,
    /// How many were when the model was asked again.
    before_retry: u64,
    /// Counts the turns, and how often the model was asked again in them: what was open before is given up.
    stretch: u64,
}

/// What is known of an id.
#[derive(Debug, Default)]
struct Begun {
    /// How often an item of this id began.
    times: u64,
    /// The place of the last one among the messages that are over, if it is one.
    said: Option<u64>,
    /// The stretch in which the last one began, while it is not over.
    open_since: Option<u64>,
}

impl Names {
    /// The name of the item that has this id now.
    pub(super) fn of(&self, id: &str) -> Key {
        let id = Key::from(id);
        if !self.repeat {
            return id;
        }
        match self.begun.get(&id) {
            Some(Begun { times, .. }) if *times > 1 => format!("{id}#{times}").into(),
            _ => id,
        }
    }

    /// An item begins. One that is told twice before it is over stays the same. What the model says once more because
    /// it was asked again is told apart by its words, which are not known yet, so such a message keeps its name.
    pub(super) fn begins(&mut self, id: &str) -> Key {
        let repeatable = self.before_turn + 1..=self.before_retry;
        let now = Some(self.stretch);
        let is_another = |begun: &mut Begun| {
            if begun.open_since != now && begun.said.is_none_or(|said| !repeatable.contains(&said)) {
                begun.times += 1;
                begun.said = None;
            }
            begun.open_since = now;
            begun.times > 1
        };
        self.repeat |= self.learn(id, is_another);
        self.of(id)
    }

    /// An item is over, which may never have begun.
    pub(super) fn ends(&mut self, id: &str) -> Key {
        self.learn(id, |begun| *begun = Begun { times: begun.times.max(1), said: begun.said, open_since: None });
        self.of(id)
    }

    /// A message is over.
    pub(super) fn said(&mut self, id: &str) -> Key {
        self.said += 1;
        let said = self.said;
        self.learn(id, |begun| *begun = Begun { times: begun.times.max(1), said: Some(said), open_since: None });
        self.of(id)
    }

    /// The model is asked again.
    pub(super) fn ask_again(&mut self) {
        self.before_retry = self.said;
        self.stretch += 1;
    }

    /// A turn begins, in which nothing was said yet.
    pub(super) fn turn_begins(&mut self) {
        self.before_turn = self.said;
        self.stretch += 1;
    }

    fn learn<T>(&mut self, id: &str, learn: impl FnOnce(&mut Begun) -> T) -> T {
        let id = Key::from(id);
        if let Some(begun) = self.begun.get_mut(&id) {
            return learn(begun);
        }
        let mut begun = Begun::default();
        let learned = learn(&mut begun);
        self.begun.insert(id, begun);
        learned
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_item_that_begins_is_another_one() {
        let mut names = Names::default();
        let first = names.begins("a");
        assert_eq!((names.of("a"), names.ends("a")), (first.clone(), first.clone()));
        let second = names.begins("a");
        assert_ne!(first, second);
        assert_eq!((names.of("a"), names.ends("a")), (second.clone(), second.clone()));
        let third = names.begins("a");
        assert_ne!(third, second);
        assert_eq!(names.begins("a"), third, "it is not over");
        names.turn_begins();
        assert_ne!(names.begins("a"), third);
        assert_eq!(names.of("b"), "b".into());
    }

    #[test]
    fn a_message_may_be_said_once_more_when_the_model_is_asked_again() {
        let mut names = Names::default();
        let first = names.begins("m");
        names.said("m");
        names.ask_again();
        assert_eq!(names.begins("m"), first);
        names.said("m");
        names.turn_begins();
        let second = names.begins("m");
        assert_ne!(first, second);
        // It was taken back, and is not what was said before.
        names.ask_again();
        assert_ne!(names.begins("m"), second);
    }
}
