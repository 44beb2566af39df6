//! Corrupted lines: decoding never panics, never takes a known payload for an unknown one, and reports every loss.

use std::sync::LazyLock;

use interlingua::audit::{FieldDifferences, compare_fields, generic_path};
use interlingua_convert::Agent;
use interlingua_native::{Native, Union, acp, amp, claude, codex, opencode};
use interlingua_snapshots::{CorruptionKind, corrupt, recordings};
use proptest::prelude::*;
use serde_json::Value;

/// The received lines of one agent. Of lines that differ only in their values, one is kept.
fn distinct_lines(agent: Agent) -> &'static [String] {
    static LINES: LazyLock<Vec<(Agent, Vec<String>)>> = LazyLock::new(|| {
        let mut all: Vec<(Agent, Vec<String>)> = Agent::ALL.into_iter().map(|agent| (agent, Vec::new())).collect();
        let mut seen = std::collections::HashSet::new();
        for recording in recordings().unwrap() {
            let (_, lines) = all.iter_mut().find(|(agent, _)| *agent == recording.agent).unwrap();
            for line in recording.received_lines().unwrap() {
                if let Ok(value) = serde_json::from_str::<Value>(&line)
                    && line.len() < 20_000
                    && seen.insert((recording.agent, shape(&value)))
                {
                    lines.push(line);
                }
            }
        }
        all
    });
    LINES.iter().find(|(other, _)| *other == agent).map(|(_, lines)| lines.as_slice()).unwrap()
}

/// The keys and tags of a value, without other values.
fn shape(value: &Value) -> String {
    match value {
        Value::Object(fields) => {
            let fields = fields.iter().map(|(key, value)| match value {
                Value::String(tag) if ["type", "subtype", "method", "status"].contains(&key.as_str()) => {
                    format!("{key}={tag}")
                }
                value => format!("{key}:{}", shape(value)),
            });
            format!("{{{}}}", fields.collect::<Vec<_>>().join(","))
        }
        Value::Array(list) => format!("[{}]", list.first().map(shape).unwrap_or_default()),
        _ => String::new(),
    }
}

/// The variant of a union that the tag of a payload selects. `None` for an unknown tag.
fn variant_of_tag<T: Union>(payload: &Value, keys: &[&str]) -> Option<&'static str> {
    let mut tag = String::new();
    keys.iter().find_map(|key| {
        if !tag.is_empty() {
            tag.push('/');
        }
        tag.push_str(payload.get(key)?.as_str()?);
        T::TAGS.iter().find(|(known, _)| *known == tag).map(|(_, variant)| *variant)
    })
}

/// Decodes a line. Returns the value, the paths that are lost, and the paths that decoding reports as left out.
fn decode_with_losses<T: Native>(line: &str) -> Option<(T, Vec<String>, Vec<String>)> {
    let decoded = T::decode(line).ok()?;
    let payload: Value = serde_json::from_str(line).ok()?;
    let found = compare_fields(&payload, &serde_json::to_value(&decoded.value).unwrap());
    let lost = found.missing.into_iter().map(|field| field.path).chain(found.changed).collect();
    let reported = decoded.losses.repairs.iter().map(|repair| generic_path(&repair.path)).collect();
    Some((decoded.value, lost, reported))
}

/// Whether two paths are equal, or one is a prefix of the other.
fn is_related(one: &str, other: &str) -> bool {
    one.starts_with(other) || other.starts_with(one)
}

/// The type of a payload, and the union in it whose variant the tag selects.
struct PayloadType<T, U> {
    tag_keys: &'static [&'static str],
    union: fn(&T) -> &U,
}

impl<T: Native, U: Union> PayloadType<T, U> {
    /// Corrupts a line and describes what is wrong with its decoding, if anything is.
    fn find_problem(&self, line: &str, kind: CorruptionKind, position: usize, variant: usize) -> Option<String> {
        let corrupted = corrupt(line, kind, position, variant);
        let (value, lost, reported) = decode_with_losses::<T>(&corrupted.line)?;
        let payload: Value = serde_json::from_str(&corrupted.line).ok()?;
        let found = (self.union)(&value).variant();
        match variant_of_tag::<U>(&payload, self.tag_keys) {
            Some(expected) if found != expected => return Some(format!("decoded as {found} instead of {expected}")),
            None if found == "Unknown" => {
                let lost = compare_fields(&payload, &serde_json::to_value(&value).unwrap());
                return (lost != FieldDifferences::default()).then(|| format!("the unknown payload lost {lost:?}"));
            }
            _ => {}
        }
        // If the text was corrupted without regard to its structure, there is no expected result.
        let changed = generic_path(&corrupted.pointer?.trim_start_matches('/').replace('/', "."));
        let before = decode_with_losses::<T>(line).map(|(_, lost, _)| lost).unwrap_or_default();
        let unreported = lost.into_iter().find(|path| {
            !before.contains(path)
                && !reported.iter().any(|reported| is_related(reported, path))
                && !is_related(&changed, path)
        });
        unreported.map(|path| format!("{path} is lost and not reported"))
    }

    fn check(&self, agent: Agent, accepts: fn(&Value) -> bool) {
        let lines: Vec<&String> = distinct_lines(agent)
            .iter()
            .filter(|line| serde_json::from_str(line).is_ok_and(|value| accepts(&value)))
            .collect();
        assert!(!lines.is_empty(), "no recorded lines of {agent}");
        let defaults = ProptestConfig::default();
        let config = ProptestConfig { cases: defaults.cases * 8, failure_persistence: None, ..defaults };
        proptest!(config, |(line in 0..lines.len(), kind in 0..CorruptionKind::ALL.len(), position: u16, variant: u16)| {
            let kind = CorruptionKind::ALL[kind];
            let found = self.find_problem(lines[line], kind, position.into(), variant.into());
            let text = || corrupt(lines[line], kind, position.into(), variant.into()).line;
            prop_assert!(found.is_none(), "{kind:?}: {} in {}", found.unwrap_or_default(), text());
        });
    }
}

/// A payload that is itself a union.
fn union_payload<T: Native + Union>(tag_keys: &'static [&'static str]) -> PayloadType<T, T> {
    PayloadType { tag_keys, union: |value| value }
}

#[test]
fn corrupted_lines_of_acp_agents_decode_or_fail_cleanly() {
    let notifications: PayloadType<acp::AgentNotificationEnvelope, _> =
        PayloadType { tag_keys: &["method"], union: |envelope| &envelope.message };
    // Methods of the agents' own are not checked: no type keeps all of them.
    notifications
        .check(Agent::Acp, |value| value.get("id").is_none() && is_declared(acp::AgentNotification::TAGS, value));
    let requests: PayloadType<acp::AgentRequestEnvelope, _> =
        PayloadType { tag_keys: &["method"], union: |envelope| &envelope.message };
    requests.check(Agent::Acp, |value| value.get("id").is_some() && is_declared(acp::AgentRequest::TAGS, value));
}

/// Whether the method of a line is one of these.
fn is_declared(tags: &[(&str, &str)], value: &Value) -> bool {
    tags.iter().any(|(tag, _)| value["method"] == *tag)
}

#[test]
fn corrupted_lines_of_amp_decode_or_fail_cleanly() {
    union_payload::<amp::StreamMessage>(&["type", "subtype"]).check(Agent::Amp, |_| true);
}

#[test]
fn corrupted_lines_of_claude_decode_or_fail_cleanly() {
    union_payload::<claude::StdoutMessage>(&["type", "subtype"]).check(Agent::Claude, |_| true);
}

#[test]
fn corrupted_lines_of_codex_decode_or_fail_cleanly() {
    let notifications: PayloadType<codex::ServerNotificationEnvelope, _> =
        PayloadType { tag_keys: &["method"], union: |envelope| &envelope.message };
    notifications.check(Agent::Codex, |value| value.get("method").is_some() && value.get("id").is_none());
    let requests: PayloadType<codex::ServerRequestEnvelope, _> =
        PayloadType { tag_keys: &["method"], union: |envelope| &envelope.message };
    requests.check(Agent::Codex, |value| value.get("method").is_some() && value.get("id").is_some());
    union_payload::<codex::exec::ThreadEvent>(&["type"]).check(Agent::Codex, |value| value.get("type").is_some());
}

#[test]
fn corrupted_lines_of_opencode_decode_or_fail_cleanly() {
    union_payload::<opencode::Event>(&["type"]).check(Agent::OpenCode, |value| value.get("type").is_some());
}

#[test]
fn random_text_never_panics() {
    let config = ProptestConfig { failure_persistence: None, ..ProptestConfig::default() };
    proptest!(config, |(text in ".{0,80}")| {
        let _ = amp::StreamMessage::decode(&text);
        let _ = claude::StdoutMessage::decode(&text);
        let _ = codex::ServerNotification::decode(&text);
        let _ = codex::ServerRequest::decode(&text);
        let _ = codex::exec::ThreadEvent::decode(&text);
        let _ = opencode::Event::decode(&text);
    });
}
