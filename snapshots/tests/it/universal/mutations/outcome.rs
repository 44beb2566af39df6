//! The effect of a mutation on the universal stream.

use std::collections::BTreeMap;

use interlingua_convert::{Agent, Conversion, ConversionOptions, Launch, StreamEnd, converter_for};
use interlingua_schema::{AgentUnparsed, EventData, ItemKind, ItemStatus, TurnStatus, UniversalEvent};
use interlingua_wirelog::Input;
use serde_json::Value;

use super::Case;
use super::generator::UNKNOWN_STRING;

/// Keys whose values say how something ended.
const OUTCOME_KEYS: [&str; 9] =
    ["status", "is_error", "isError", "success", "subtype", "exitCode", "exit_code", "outcome", "state"];

/// The effect of a mutation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Outcome {
    /// The stream has the same meaning.
    Same,
    /// An `agent.unparsed` names the mutated value or the payload.
    Unparsed,
    /// The stream differs, and no event reports why.
    Lost,
    /// A tool or turn is reported as successful although its outcome is unknown.
    FalseSuccess,
}

/// The universal stream of a recording.
pub(super) struct ConvertedInputs {
    /// All events except `agent.unparsed`.
    events: Vec<UniversalEvent>,
    unparsed: Vec<AgentUnparsed>,
    /// Whether the mutated line completed a tool result or a turn successfully.
    has_success: bool,
}

/// Converts the inputs. `mutated` is the index of the mutated line, if there is one.
pub(super) fn convert(agent: Agent, launch: &Launch, inputs: &[Input], mutated: Option<usize>) -> ConvertedInputs {
    let mut conversion = Conversion::new(converter_for(agent), ConversionOptions::default());
    let mut all = Vec::new();
    let mut has_success = false;
    conversion.observe_launch(None, launch, &mut all);
    for (index, input) in inputs.iter().enumerate() {
        let before = all.len();
        conversion.push(None, input.borrowed(), &mut all);
        if mutated == Some(index) {
            has_success = all[before..].iter().any(|event| is_success(&event.data));
        }
    }
    conversion.finish(None, StreamEnd::Log, &mut all);
    let mut converted = ConvertedInputs { events: Vec::with_capacity(all.len()), unparsed: Vec::new(), has_success };
    for event in all {
        match event.data {
            EventData::AgentUnparsed(unparsed) => converted.unparsed.push(unparsed),
            _ => converted.events.push(event),
        }
    }
    converted
}

/// Whether an event reports that a tool or a turn succeeded.
fn is_success(data: &EventData) -> bool {
    match data {
        EventData::ItemCompleted(completed) => {
            completed.item.kind == ItemKind::ToolResult && completed.item.status == ItemStatus::Completed
        }
        EventData::TurnEnded(ended) => ended.status == TurnStatus::Completed,
        _ => false,
    }
}

/// Compares the stream of a recording with that of the mutated recording.
pub(super) fn judge(
    original: &ConvertedInputs,
    mutated: &ConvertedInputs,
    case: &Case,
    mutated_line: &Value,
) -> Outcome {
    if is_false_success(original, mutated, case, mutated_line) {
        return Outcome::FalseSuccess;
    }
    let new_reports = mutated.unparsed.iter().filter(|unparsed| !original.unparsed.contains(unparsed));
    let mut new_reports = new_reports.peekable();
    let is_reported = new_reports.peek().is_some();
    let is_named = new_reports.any(|unparsed| names_mutation(unparsed, case));
    match (is_named, is_reported, is_same(original, mutated)) {
        (true, ..) => Outcome::Unparsed,
        (false, false, true) => Outcome::Same,
        _ => Outcome::Lost,
    }
}

/// Whether an `agent.unparsed` names the mutated value or its payload.
fn names_mutation(AgentUnparsed { error, native_type, .. }: &AgentUnparsed, case: &Case) -> bool {
    let path = case.mutation.pointer.trim_start_matches("/result").trim_start_matches('/').replace('/', ".");
    let parent = path.rsplit_once('.').map_or("", |(parent, _)| parent);
    let is_native_type = |tag: &str| case.native_type.starts_with(tag) || tag.contains(UNKNOWN_STRING);
    native_type.as_deref().is_some_and(is_native_type)
        || error.contains(UNKNOWN_STRING)
        || error.contains(&format!("`{}`", case.mutation.key()))
        || error.contains(&path)
        || (!parent.is_empty() && error.contains(parent))
}

/// Whether two streams have the same meaning, that is, are equal except for event ids and times.
fn is_same(original: &ConvertedInputs, mutated: &ConvertedInputs) -> bool {
    let is_equal = |(one, other): (&UniversalEvent, &UniversalEvent)| {
        one.session_id == other.session_id
            && one.native_session_id == other.native_session_id
            && one.origin == other.origin
            && one.data == other.data
    };
    original.events.len() == mutated.events.len() && original.events.iter().zip(&mutated.events).all(is_equal)
}

fn is_false_success(original: &ConvertedInputs, mutated: &ConvertedInputs, case: &Case, mutated_line: &Value) -> bool {
    let (before, after) = (successes(original), successes(mutated));
    let failure_became_success = after.iter().any(|(name, succeeded)| *succeeded && before.get(name) == Some(&false));
    let key = case.mutation.key();
    // The state of other agents is not the outcome of the call that asks for it.
    let is_outcome = OUTCOME_KEYS.contains(&key) && !case.mutation.field.starts_with("CollabAgentState.");
    // An exit code of 0 proves that a command succeeded, regardless of its status.
    let has_exit_code_zero =
        |name: &str| !key.starts_with("exit") && find_number(mutated_line, name).is_some_and(|code| code == 0);
    failure_became_success
        || (is_outcome && mutated.has_success && !has_exit_code_zero("exitCode") && !has_exit_code_zero("exit_code"))
}

/// Every turn, and every tool result with a native id, and whether it succeeded.
fn successes(converted: &ConvertedInputs) -> BTreeMap<String, bool> {
    let mut successes = BTreeMap::new();
    let mut turns = 0;
    for event in &converted.events {
        match &event.data {
            EventData::ItemCompleted(completed) if completed.item.kind == ItemKind::ToolResult => {
                if let Some(id) = &completed.item.native_item_id {
                    successes.insert(format!("result {id:?}"), completed.item.status == ItemStatus::Completed);
                }
            }
            EventData::TurnEnded(ended) => {
                turns += 1;
                successes.insert(format!("turn {turns}"), ended.status == TurnStatus::Completed);
            }
            _ => {}
        }
    }
    successes
}

/// The first number under this key, at any depth.
fn find_number(value: &Value, name: &str) -> Option<i64> {
    match value {
        Value::Object(fields) => fields
            .get(name)
            .and_then(Value::as_i64)
            .or_else(|| fields.values().find_map(|value| find_number(value, name))),
        Value::Array(list) => list.iter().find_map(|value| find_number(value, name)),
        _ => None,
    }
}
