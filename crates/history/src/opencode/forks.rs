//! The sessions that sessions were forked from. OpenCode copies the messages, and does not store where they are from.

use interlingua_schema::Timestamp;
use serde::Deserialize;

use super::storage::{SessionRow, Storage};
use crate::HistoryReport;
use crate::json::{Field, number};

#[derive(Default, Deserialize)]
#[serde(default)]
struct Message<'a> {
    #[serde(borrow)]
    time: Time<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Time<'a> {
    #[serde(borrow)]
    created: Field<'a>,
}

/// The session that a session was forked from: the latest one with the same title that has the copied messages.
pub(super) fn find_parent(storage: &dyn Storage, fork: &SessionRow) -> Option<String> {
    let (base, number) = fork_number(fork.title.as_deref()?)?;
    let copied = last_copied(storage, fork)?;
    // The fork of a fork has the next number.
    let sibling = format!("{base} (fork #{})", number.checked_sub(1)?);
    let mut candidates = storage.titled(base, &sibling).ok()?;
    candidates.retain(|candidate| candidate.id != fork.id && candidate.created <= fork.created);
    let parent = candidates.into_iter().rev().find(|candidate| message_times(storage, candidate).contains(&copied));
    parent.map(|parent| parent.id)
}

/// Splits `title (fork #2)`.
fn fork_number(title: &str) -> Option<(&str, u64)> {
    let (base, number) = title.strip_suffix(')')?.rsplit_once(" (fork #")?;
    Some((base, number.parse().ok()?))
}

/// Time of the last message that is older than its session.
fn last_copied(storage: &dyn Storage, session: &SessionRow) -> Option<u64> {
    let created = session.created.map(Timestamp::as_millis).and_then(|time| u64::try_from(time).ok())?;
    message_times(storage, session).into_iter().filter(|time| *time < created).max()
}

fn message_times(storage: &dyn Storage, session: &SessionRow) -> Vec<u64> {
    // What cannot be read is reported when the session is converted.
    let messages = storage.messages(&session.id, &mut HistoryReport::default()).unwrap_or_default();
    let times = messages.iter().map(|message| serde_json::from_str::<Message<'_>>(&message.json).unwrap_or_default());
    times.filter_map(|message| number(message.time.created)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_title_of_a_fork_has_its_number() {
        assert_eq!(fork_number("a (b) (fork #12)"), Some(("a (b)", 12)));
        assert_eq!(fork_number("a (fork #x)"), None);
        assert_eq!(fork_number("a"), None);
    }
}
