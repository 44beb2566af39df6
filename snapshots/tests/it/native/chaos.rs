//! Broken lines: decoding never panics, never takes a known payload for an unknown one, and loses nothing unsaid.

use std::sync::LazyLock;

use interlingua::audit::{Differences, differences, generic_path};
use interlingua_convert::Agent;
use interlingua_native::{Native, Union, amp, claude, codex, opencode};
use interlingua_snapshots::{Damage, corrupt, recordings};
use proptest::prelude::*;
use serde_json::Value;

/// Every different line of one agent. Lines that differ only in their values count once.
fn lines(agent: Agent) -> &'static [String] {
    static LINES: LazyLock<Vec<(Agent, Vec<String>)>> = LazyLock::new(|| {
        let mut all: Vec<(Agent, Vec<String>)> = Agent::ALL.into_iter().map(|agent| (agent, Vec::new())).collect();
        let mut seen = std::collections::HashSet::new();
        for recording in recordings().unwrap() {
            let (_, lines) = all.iter_mut().find(|(agent, _)| *agent == recording.agent).unwrap();
            for line in recording.received().unwrap() {
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
    LINES.iter().find(|(of, _)| *of == agent).map(|(_, lines)| lines.as_slice()).unwrap()
}

/// The keys and tags of a value, without the rest.
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

/// The tag of a payload as the union knows it, with its variant.
fn known_tag<T: Union>(payload: &Value, keys: &[&str]) -> Option<&'static str> {
    let mut tag = String::new();
    keys.iter().find_map(|key| {
        if !tag.is_empty() {
            tag.push('/');
        }
        tag.push_str(payload.get(key)?.as_str()?);
        T::TAGS.iter().find(|(known, _)| *known == tag).map(|(_, variant)| *variant)
    })
}

/// The paths that decoding loses of a payload, and those that it names as left out.
fn losses<T: Native>(line: &str) -> Option<(T, Vec<String>, Vec<String>)> {
    let decoded = T::decode(line).ok()?;
    let payload: Value = serde_json::from_str(line).ok()?;
    let found = differences(&payload, &serde_json::to_value(&decoded.value).unwrap());
    let lost = found.missing.into_iter().map(|field| field.path).chain(found.changed).collect();
    let named = decoded.losses.repairs.iter().map(|repair| generic_path(&repair.path)).collect();
    Some((decoded.value, lost, named))
}

/// Whether one path is the other or leads to it.
fn related(one: &str, other: &str) -> bool {
    one.starts_with(other) || other.starts_with(one)
}

/// What a payload decodes into, and the union that its tag decides on.
struct Kind<T, U> {
    keys: &'static [&'static str],
    union: fn(&T) -> &U,
}

impl<T: Native, U: Union> Kind<T, U> {
    /// Breaks a line and says what is wrong with how it decodes.
    fn problem(&self, line: &str, damage: Damage, place: usize, with: usize) -> Option<String> {
        let broken = corrupt(line, damage, place, with);
        let (value, lost, named) = losses::<T>(&broken.line)?;
        let payload: Value = serde_json::from_str(&broken.line).ok()?;
        let variant = (self.union)(&value).variant();
        match known_tag::<U>(&payload, self.keys) {
            Some(expected) if variant != expected => return Some(format!("{variant} instead of {expected}")),
            None if variant == "Unknown" => {
                let found = differences(&payload, &serde_json::to_value(&value).unwrap());
                return (found != Differences::default()).then(|| format!("the unknown payload lost {found:?}"));
            }
            _ => {}
        }
        // Where the text itself was broken, nobody knows what should have been.
        let touched = generic_path(&broken.pointer?.trim_start_matches('/').replace('/', "."));
        let before = losses::<T>(line).map(|(_, lost, _)| lost).unwrap_or_default();
        let unsaid = lost.into_iter().find(|path| {
            !before.contains(path) && !named.iter().any(|named| related(named, path)) && !related(&touched, path)
        });
        unsaid.map(|path| format!("{path} is lost and not named"))
    }

    fn check(&self, agent: Agent, fits: fn(&Value) -> bool) {
        let lines: Vec<&String> =
            lines(agent).iter().filter(|line| serde_json::from_str(line).is_ok_and(|value| fits(&value))).collect();
        assert!(!lines.is_empty(), "no lines for {agent}");
        let usual = ProptestConfig::default();
        let config = ProptestConfig { cases: usual.cases * 8, failure_persistence: None, ..usual };
        proptest!(config, |(line in 0..lines.len(), damage in 0..Damage::ALL.len(), place: u16, with: u16)| {
            let damage = Damage::ALL[damage];
            let found = self.problem(lines[line], damage, place.into(), with.into());
            let shown = || corrupt(lines[line], damage, place.into(), with.into()).line;
            prop_assert!(found.is_none(), "{damage:?}: {} in {}", found.unwrap_or_default(), shown());
        });
    }
}

/// A payload that is itself the union.
fn whole<T: Native + Union>(keys: &'static [&'static str]) -> Kind<T, T> {
    Kind { keys, union: |value| value }
}

#[test]
fn broken_lines_of_amp() {
    whole::<amp::StreamMessage>(&["type", "subtype"]).check(Agent::Amp, |_| true);
}

#[test]
fn broken_lines_of_claude() {
    whole::<claude::StdoutMessage>(&["type", "subtype"]).check(Agent::Claude, |_| true);
}

#[test]
fn broken_lines_of_codex() {
    let notifications: Kind<codex::ServerNotificationEnvelope, _> =
        Kind { keys: &["method"], union: |envelope| &envelope.message };
    notifications.check(Agent::Codex, |value| value.get("method").is_some() && value.get("id").is_none());
    let requests: Kind<codex::ServerRequestEnvelope, _> =
        Kind { keys: &["method"], union: |envelope| &envelope.message };
    requests.check(Agent::Codex, |value| value.get("method").is_some() && value.get("id").is_some());
    whole::<codex::exec::ThreadEvent>(&["type"]).check(Agent::Codex, |value| value.get("type").is_some());
}

#[test]
fn broken_lines_of_opencode() {
    whole::<opencode::Event>(&["type"]).check(Agent::OpenCode, |value| value.get("type").is_some());
}

/// Bytes that never were a line.
#[test]
fn random_text_is_an_error_and_no_more() {
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
