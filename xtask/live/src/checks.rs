//! Checks of the results of a flow.

use anyhow::{Context as _, Result, bail, ensure};
use interlingua_convert::Agent;
use interlingua_schema::{Checker, ContentPart, EventData, ItemKind, ItemStatus, Role, TurnStatus, UniversalEvent};
use interlingua_scripted_model::scenario::{ModelReply, Step};
use interlingua_snapshots::canonical::{CanonicalScenario, Evidence, Focus, TraceException, trace};

use crate::flow::Flow;
use crate::session::Session;
use crate::test_environment::TestEnvironment;

/// Maximum number of characters of a received text in an error.
const MAX_SHOWN_CHARS: usize = 200;

/// Checks that apply to every flow: the streams keep the lifecycle rules, everything in them was parsed, and the agent
/// forwards the text of the model.
pub(crate) fn check_always(flow: &Flow<'_>, environment: &TestEnvironment<'_>) -> Result<()> {
    for (name, session) in &environment.sessions {
        check_rules(&session.lines).with_context(|| format!("session {name:?}"))?;
        check_all_parsed(&session.events).with_context(|| format!("session {name:?}"))?;
    }
    for (index, turn) in environment.scenario.turns.iter().enumerate() {
        let canonical = flow.canonical(index, environment.agent);
        if canonical
            .is_some_and(|canonical| !matches!(canonical, CanonicalScenario::Interrupt | CanonicalScenario::ModelError))
        {
            let session = session(environment, &turn.session)?;
            check_last_text(session, &turn.replies).with_context(|| format!("turn {}", index + 1))?;
        }
    }
    Ok(())
}

/// Checks that the canonical traces of a flow's turns are those of the recordings.
pub(crate) fn check_traces(flow: &Flow<'_>, environment: &TestEnvironment<'_>) -> Result<()> {
    let mut turn_counts = std::collections::BTreeMap::<&str, usize>::new();
    for (index, turn) in environment.scenario.turns.iter().enumerate() {
        let turn_count = turn_counts.entry(turn.session.as_str()).or_default();
        let session_turn = *turn_count;
        *turn_count += 1;
        let Some(canonical) = flow.canonical(index, environment.agent) else { continue };
        let session = session(environment, &turn.session)?;
        check_trace(&session.events, session_turn, canonical, environment.agent)
            .with_context(|| format!("turn {}", index + 1))?;
    }
    Ok(())
}

/// Checks that every reply of the scenario was played.
pub(crate) fn check_all_played(environment: &TestEnvironment<'_>) -> Result<()> {
    let unplayed = environment.model.report().unplayed_replies;
    ensure!(unplayed.is_empty(), "the agent did not request {}", unplayed.join(", "));
    Ok(())
}

/// Checks that a message or tool result that the model received in a turn contains a text.
pub(crate) fn check_received(environment: &TestEnvironment<'_>, turn: usize, expected: &str) -> Result<()> {
    let received = environment.model.received_texts(turn);
    ensure!(
        received.iter().any(|text| text.contains(expected)),
        "expected the model to receive {expected:?} in turn {}, found {:?}",
        turn + 1,
        received.iter().map(|text| text.chars().take(MAX_SHOWN_CHARS).collect::<String>()).collect::<Vec<_>>()
    );
    Ok(())
}

/// Checks that the agent sent this API key to the model and no other.
pub(crate) fn check_api_key(environment: &TestEnvironment<'_>, key: &str) -> Result<()> {
    let keys = environment.model.api_keys();
    ensure!(keys.iter().eq([key]), "expected the API key {key:?}, found {keys:?}");
    Ok(())
}

/// Whether the workspace has this file.
pub(crate) fn has_file(environment: &TestEnvironment<'_>, name: &str) -> bool {
    environment.dirs.workspace.join(name).exists()
}

/// Statuses with which the turns of a session ended.
fn turn_statuses(session: &Session) -> Vec<TurnStatus> {
    let status = |event: &UniversalEvent| match &event.data {
        EventData::TurnEnded(ended) => Some(ended.status.clone()),
        _ => None,
    };
    session.events.iter().filter_map(status).collect()
}

/// Checks that a session has one turn, which ended with this status.
pub(crate) fn check_only_turn(session: &Session, expected: &TurnStatus) -> Result<()> {
    let found = turn_statuses(session);
    ensure!(
        found.as_slice() == std::slice::from_ref(expected),
        "expected one turn with status {expected:?}, found {found:?}"
    );
    Ok(())
}

/// Number of events of a type in a session.
pub(crate) fn count_events(session: &Session, kind: &str) -> usize {
    session.events.iter().filter(|event| event.data.kind() == kind).count()
}

/// A session of the scenario.
pub(crate) fn session<'s>(environment: &'s TestEnvironment<'_>, name: &str) -> Result<&'s Session> {
    environment.sessions.get(name).with_context(|| format!("there is no session {name:?}"))
}

/// Checks the lifecycle rules, as `interlingua check` does.
fn check_rules(lines: &[String]) -> Result<()> {
    let mut checker = Checker::with_raw();
    let mut violations = Vec::new();
    for line in lines {
        violations.extend(checker.push_line(line)?.iter().map(ToString::to_string));
    }
    ensure!(violations.is_empty(), "the stream violates lifecycle rules: {}", violations.join("; "));
    Ok(())
}

fn check_all_parsed(events: &[UniversalEvent]) -> Result<()> {
    let is_unparsed =
        |event: &&UniversalEvent| matches!(event.data, EventData::AgentUnparsed(_) | EventData::Unknown(_));
    if let Some(event) = events.iter().find(is_unparsed) {
        bail!("the stream has an unparsed event: {}", serde_json::to_string(event)?);
    }
    Ok(())
}

fn check_trace(events: &[UniversalEvent], turn: usize, canonical: CanonicalScenario, agent: Agent) -> Result<()> {
    let (expected, target) = match TraceException::find(canonical, agent) {
        Some(exception) => match exception.evidence {
            Evidence::Trace(expected) => (expected, exception.target()),
            _ => bail!("the agent cannot do this: {}", exception.reason),
        },
        None => (canonical.trace(), canonical.target()),
    };
    let found = trace(events, Focus { turn, target });
    ensure!(
        found == expected,
        "the trace of {canonical:?} differs; expected\n    {}\n  found\n    {}",
        expected.join("\n    "),
        found.join("\n    ")
    );
    Ok(())
}

/// Checks that a message of the agent contains the model's last text of a turn.
fn check_last_text(session: &Session, replies: &[ModelReply]) -> Result<()> {
    let mut texts = replies.iter().flatten().filter_map(|step| match step {
        Step::Text(text) => Some(text.text()),
        _ => None,
    });
    let Some(last) = texts.next_back() else { return Ok(()) };
    let messages = session.events.iter().filter_map(|event| match &event.data {
        EventData::ItemCompleted(completed) => Some(&completed.item),
        _ => None,
    });
    let mut messages = messages.filter(|item| {
        item.kind == ItemKind::Message && item.role == Some(Role::Assistant) && item.status == ItemStatus::Completed
    });
    let has_text = |part: &ContentPart| matches!(part, ContentPart::Text { text, .. } if text.contains(last.trim()));
    ensure!(messages.any(|message| message.content.iter().any(has_text)), "no message of the agent contains {last:?}");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_that_violates_a_rule_is_rejected() {
        let line = r#"{"event_id":"e","sequence":2,"time":"1970-01-01T00:00:00.000Z","session_id":"s","native_session_id":null,"source":"daemon","synthetic":true,"type":"session.started","data":{},"raw":null}"#;
        let error = check_rules(&[line.to_owned()]).unwrap_err().to_string();
        assert!(error.contains("L1 seq 2"), "{error}");
        check_rules(&[line.replace("\"sequence\":2", "\"sequence\":1")]).unwrap();
    }

    #[test]
    fn the_error_for_a_different_trace_contains_the_expected_one() {
        let error = check_trace(&[], 0, CanonicalScenario::PlainText, Agent::Claude).unwrap_err().to_string();
        assert!(error.contains("turn.ended completed"), "{error}");
    }
}
