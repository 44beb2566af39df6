//! What became of a recording with one broken line.

use std::collections::BTreeMap;

use interlingua_convert::{Agent, Conversion, ConversionOptions, Launch, StreamEnd, converter_for};
use interlingua_schema::{AgentUnparsed, EventData, ItemKind, ItemStatus, TurnStatus, UniversalEvent};
use interlingua_snapshots::Line;
use serde_json::Value;

use super::Case;
use super::places::BRAND_NEW;

/// Keys that say how something ended.
const OUTCOME_KEYS: [&str; 9] =
    ["status", "is_error", "isError", "success", "subtype", "exitCode", "exit_code", "outcome", "state"];

/// What a broken place leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Outcome {
    /// The stream means the same.
    Same,
    /// An `agent.unparsed` names the place or the payload.
    Unparsed,
    /// The stream is another one, and nothing says why.
    Lost,
    /// Something is completed whose outcome could not be understood.
    FalseSuccess,
}

/// The events of a recording.
pub(super) struct Played {
    /// Those that mean something.
    events: Vec<UniversalEvent>,
    unparsed: Vec<AgentUnparsed>,
    /// The broken line completed a tool result or a turn.
    completes: bool,
}

/// Plays the lines, of which one may be broken.
pub(super) fn play(agent: Agent, launch: &Launch, lines: &[Line], broken: Option<usize>) -> Played {
    let mut stream = Conversion::new(converter_for(agent), ConversionOptions::default());
    let mut all = Vec::new();
    let mut completes = false;
    stream.observe_launch(None, launch, &mut all);
    for (index, line) in lines.iter().enumerate() {
        let before = all.len();
        stream.push(None, line.borrowed(), &mut all);
        if broken == Some(index) {
            completes = all[before..].iter().any(|event| is_success(&event.data));
        }
    }
    stream.finish(None, StreamEnd::Log, &mut all);
    let mut played = Played { events: Vec::with_capacity(all.len()), unparsed: Vec::new(), completes };
    for event in all {
        match event.data {
            EventData::AgentUnparsed(unparsed) => played.unparsed.push(unparsed),
            _ => played.events.push(event),
        }
    }
    played
}

/// Whether an event says that a tool or a turn went well.
fn is_success(data: &EventData) -> bool {
    match data {
        EventData::ItemCompleted(completed) => {
            completed.item.kind == ItemKind::ToolResult && completed.item.status == ItemStatus::Completed
        }
        EventData::TurnEnded(ended) => ended.status == TurnStatus::Completed,
        _ => false,
    }
}

/// Compares a recording with the same one with a broken line.
pub(super) fn judge(original: &Played, mutated: &Played, case: &Case, broken: &Value) -> Outcome {
    if is_false_success(original, mutated, case, broken) {
        return Outcome::FalseSuccess;
    }
    let more = mutated.unparsed.iter().filter(|unparsed| !original.unparsed.contains(unparsed));
    let names = |unparsed: &AgentUnparsed| is_named(unparsed, case);
    let mut more = more.peekable();
    let is_said = more.peek().is_some();
    let is_named = more.any(names);
    match (is_named, is_said, is_same(original, mutated)) {
        (true, ..) => Outcome::Unparsed,
        (false, false, true) => Outcome::Same,
        _ => Outcome::Lost,
    }
}

/// Whether an `agent.unparsed` names the place or the payload that is broken.
fn is_named(AgentUnparsed { error, native_type, .. }: &AgentUnparsed, case: &Case) -> bool {
    let place = case.mutation.pointer.trim_start_matches("/result").trim_start_matches('/').replace('/', ".");
    let around = place.rsplit_once('.').map_or("", |(around, _)| around);
    let is_type = |tag: &str| case.native_type.starts_with(tag) || tag.contains(BRAND_NEW);
    native_type.as_deref().is_some_and(is_type)
        || error.contains(BRAND_NEW)
        || error.contains(&format!("`{}`", case.mutation.key()))
        || error.contains(&place)
        || (!around.is_empty() && error.contains(around))
}

/// Whether two streams mean the same, apart from ids of events and times.
fn is_same(original: &Played, mutated: &Played) -> bool {
    let same = |(one, other): (&UniversalEvent, &UniversalEvent)| {
        one.session_id == other.session_id
            && one.native_session_id == other.native_session_id
            && one.origin == other.origin
            && one.data == other.data
    };
    original.events.len() == mutated.events.len() && original.events.iter().zip(&mutated.events).all(same)
}

fn is_false_success(original: &Played, mutated: &Played, case: &Case, broken: &Value) -> bool {
    let (before, after) = (endings(original), endings(mutated));
    let turned = after.iter().any(|(what, went_well)| *went_well && before.get(what) == Some(&false));
    let key = case.mutation.key();
    // How other agents are doing is not how the call went that asks for it.
    let is_outcome = OUTCOME_KEYS.contains(&key) && !case.mutation.field.starts_with("CollabAgentState.");
    // An exit code that is there says how a command ended, whatever its status.
    let exit_code = |name: &str| !key.starts_with("exit") && find(broken, name).is_some_and(|code| code == 0);
    turned || (is_outcome && mutated.completes && !exit_code("exitCode") && !exit_code("exit_code"))
}

/// Every turn and every tool result with a native id, and whether it went well.
fn endings(played: &Played) -> BTreeMap<String, bool> {
    let mut endings = BTreeMap::new();
    let mut turns = 0;
    for event in &played.events {
        match &event.data {
            EventData::ItemCompleted(completed) if completed.item.kind == ItemKind::ToolResult => {
                if let Some(id) = &completed.item.native_item_id {
                    endings.insert(format!("result {id:?}"), completed.item.status == ItemStatus::Completed);
                }
            }
            EventData::TurnEnded(ended) => {
                turns += 1;
                endings.insert(format!("turn {turns}"), ended.status == TurnStatus::Completed);
            }
            _ => {}
        }
    }
    endings
}

/// The first number under this key, at any depth.
fn find(value: &Value, name: &str) -> Option<i64> {
    match value {
        Value::Object(fields) => {
            fields.get(name).and_then(Value::as_i64).or_else(|| fields.values().find_map(|value| find(value, name)))
        }
        Value::Array(list) => list.iter().find_map(|value| find(value, name)),
        _ => None,
    }
}
