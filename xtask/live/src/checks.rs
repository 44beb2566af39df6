//! What must have happened.

use anyhow::{Context as _, Result, bail, ensure};
use interlingua_convert::Agent;
use interlingua_schema::{Checker, ContentPart, EventData, ItemKind, ItemStatus, Role, TurnStatus, UniversalEvent};
use interlingua_scripted_model::scenario::{ModelReply, Step};
use interlingua_snapshots::canonical::{CanonicalScenario, Evidence, Focus, TraceException, trace};

use crate::flow::Flow;
use crate::session::Session;
use crate::stage::Stage;

/// What is true after every flow: streams keep the rules, everything in them was understood, and the agent says what the
/// model said.
pub(crate) fn always(flow: &Flow<'_>, stage: &Stage<'_>) -> Result<()> {
    for (name, session) in &stage.sessions {
        keeps_the_rules(&session.lines).with_context(|| format!("session {name:?}"))?;
        is_understood(&session.events).with_context(|| format!("session {name:?}"))?;
    }
    for (at, turn) in stage.scenario.turns.iter().enumerate() {
        let canonical = flow.canonical(at, stage.agent);
        if canonical
            .is_some_and(|canonical| !matches!(canonical, CanonicalScenario::Interrupt | CanonicalScenario::ModelError))
        {
            let session = session(stage, &turn.session)?;
            is_said(session, &turn.replies).with_context(|| format!("turn {}", at + 1))?;
        }
    }
    Ok(())
}

/// The traces of a flow's turns are those of the recordings.
pub(crate) fn traces(flow: &Flow<'_>, stage: &Stage<'_>) -> Result<()> {
    let mut turns_of = std::collections::BTreeMap::<&str, usize>::new();
    for (at, turn) in stage.scenario.turns.iter().enumerate() {
        let of_session = turns_of.entry(turn.session.as_str()).or_default();
        let place = *of_session;
        *of_session += 1;
        let Some(canonical) = flow.canonical(at, stage.agent) else { continue };
        let session = session(stage, &turn.session)?;
        has_trace(&session.events, place, canonical, stage.agent).with_context(|| format!("turn {}", at + 1))?;
    }
    Ok(())
}

/// The model was asked for all that the scenario has.
pub(crate) fn all_was_played(stage: &Stage<'_>) -> Result<()> {
    let unplayed = stage.model.report().unplayed_replies;
    ensure!(unplayed.is_empty(), "nobody asked the model for {}", unplayed.join(", "));
    Ok(())
}

/// Something that the model was told, or that a tool gave it, has these words in it.
pub(crate) fn model_heard(stage: &Stage<'_>, turn: usize, words: &str) -> Result<()> {
    let heard = stage.model.received_texts(turn);
    ensure!(
        heard.iter().any(|text| text.contains(words)),
        "the model should have heard {words:?} in turn {}, and heard {:?}",
        turn + 1,
        heard.iter().map(|text| text.chars().take(200).collect::<String>()).collect::<Vec<_>>()
    );
    Ok(())
}

/// The agent came to the model with this key and no other.
pub(crate) fn has_key(stage: &Stage<'_>, key: &str) -> Result<()> {
    let keys = stage.model.api_keys();
    ensure!(keys.iter().eq([key]), "the agent should come with the key {key:?}, and came with {keys:?}");
    Ok(())
}

/// Whether there is such a file in the workspace.
pub(crate) fn has_file(stage: &Stage<'_>, name: &str) -> bool {
    stage.place.workspace.join(name).exists()
}

/// How the turns of a session ended.
pub(crate) fn ends(session: &Session) -> Vec<TurnStatus> {
    let end = |event: &UniversalEvent| match &event.data {
        EventData::TurnEnded(ended) => Some(ended.status.clone()),
        _ => None,
    };
    session.events.iter().filter_map(end).collect()
}

/// How often a kind of event is in a session.
pub(crate) fn count(session: &Session, kind: &str) -> usize {
    session.events.iter().filter(|event| event.data.kind() == kind).count()
}

/// A session of the scenario.
pub(crate) fn session<'s>(stage: &'s Stage<'_>, name: &str) -> Result<&'s Session> {
    stage.sessions.get(name).with_context(|| format!("there is no session {name:?}"))
}

/// What `interlingua check` says.
fn keeps_the_rules(lines: &[String]) -> Result<()> {
    let mut checker = Checker::with_raw();
    let mut violations = Vec::new();
    for line in lines {
        violations.extend(checker.push_line(line)?.iter().map(ToString::to_string));
    }
    ensure!(violations.is_empty(), "the stream breaks the rules: {}", violations.join("; "));
    Ok(())
}

fn is_understood(events: &[UniversalEvent]) -> Result<()> {
    let strange = events.iter().find(|event| matches!(event.data, EventData::AgentUnparsed(_) | EventData::Unknown(_)));
    if let Some(event) = strange {
        bail!("something was not understood: {}", serde_json::to_string(event)?);
    }
    Ok(())
}

fn has_trace(events: &[UniversalEvent], turn: usize, canonical: CanonicalScenario, agent: Agent) -> Result<()> {
    let (expected, target) = match TraceException::find(canonical, agent) {
        Some(exception) => match exception.evidence {
            Evidence::Trace(expected) => (expected, exception.target()),
            _ => bail!("it cannot be: {}", exception.reason),
        },
        None => (canonical.trace(), canonical.target()),
    };
    let found = trace(events, Focus { turn, target });
    ensure!(
        found == expected,
        "the trace of {canonical:?} should be\n    {}\n  and is\n    {}",
        expected.join("\n    "),
        found.join("\n    ")
    );
    Ok(())
}

/// The agent says what the model said last in a turn.
fn is_said(session: &Session, replies: &[ModelReply]) -> Result<()> {
    let mut said = replies.iter().flatten().filter_map(|step| match step {
        Step::Text(speech) => Some(speech.text()),
        _ => None,
    });
    let Some(last) = said.next_back() else { return Ok(()) };
    let messages = session.events.iter().filter_map(|event| match &event.data {
        EventData::ItemCompleted(completed) => Some(&completed.item),
        _ => None,
    });
    let mut messages = messages.filter(|item| {
        item.kind == ItemKind::Message && item.role == Some(Role::Assistant) && item.status == ItemStatus::Completed
    });
    let says = |part: &ContentPart| matches!(part, ContentPart::Text { text, .. } if text.contains(last.trim()));
    ensure!(messages.any(|message| message.content.iter().any(says)), "the agent never says {last:?}");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_that_breaks_a_rule_is_told() {
        let line = r#"{"event_id":"e","sequence":2,"time":"1970-01-01T00:00:00.000Z","session_id":"s","native_session_id":null,"source":"daemon","synthetic":true,"type":"session.started","data":{},"raw":null}"#;
        let told = keeps_the_rules(&[line.to_owned()]).unwrap_err().to_string();
        assert!(told.contains("L1 seq 2"), "{told}");
        keeps_the_rules(&[line.replace("\"sequence\":2", "\"sequence\":1")]).unwrap();
    }

    #[test]
    fn a_trace_that_differs_is_told_beside_the_expected() {
        let told = has_trace(&[], 0, CanonicalScenario::PlainText, Agent::Claude).unwrap_err().to_string();
        assert!(told.contains("turn.ended completed"), "{told}");
    }
}
