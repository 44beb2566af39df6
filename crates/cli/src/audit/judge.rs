//! One line at a time: which native type it is, and how well it fits.

use std::collections::HashMap;

use interlingua_convert::Agent;
use interlingua_native::codex::{JsonrpcError, Response, ServerNotificationEnvelope, ServerRequestEnvelope};
use interlingua_native::{
    DecodeError, Decoded, LossList, MissingFields, Native, Repair, Union, UnknownKind, UnknownPart, amp, claude, codex,
    opencode,
};
use serde::Serialize;
use serde_json::Value;

use super::fields::{UnknownField, differences};

/// How well one line fits the types.
#[derive(Debug, Clone, PartialEq)]
pub struct Judgement {
    /// The native type: the payload's tag, or what it answers.
    pub name: String,
    /// Whether it decoded.
    pub verdict: Verdict,
    /// Fields that the types do not know.
    pub unknown_fields: Vec<UnknownField>,
    /// Parts that did not fit their type or lack a needed field, and were left out.
    pub repairs: Vec<Repair>,
    /// Expected fields that are missing or null.
    pub missing: Vec<MissingFields>,
    /// Enum values and kinds of JSON that the types do not know.
    pub unknown_values: Vec<UnknownPart>,
}

impl Judgement {
    /// A verdict on a line of which nothing more is known.
    pub(super) fn new(name: impl Into<String>, verdict: Verdict) -> Self {
        Self {
            name: name.into(),
            verdict,
            unknown_fields: Vec::new(),
            repairs: Vec::new(),
            missing: Vec::new(),
            unknown_values: Vec::new(),
        }
    }
}

/// Whether a line decoded.
#[derive(Debug, Clone, PartialEq)]
pub enum Verdict {
    /// Into the variant that its tag names.
    Decoded,
    /// Somewhere in it is a tag that the types do not know, said with its union and path.
    UnknownTag(String),
    /// It does not fit the type that its tag names, for this reason.
    Malformed(String),
    /// It is no payload the types cover: an answer to a request outside the roots, or an HTTP reply.
    Untyped,
    /// It is not JSON.
    NotJson,
}

/// Judges the lines of one log, in order.
#[derive(Debug)]
pub struct Judge {
    agent: Agent,
    /// What the host asked, by request id: an answer does not say what it answers.
    asked: HashMap<String, String>,
}

impl Judge {
    /// A judge of one agent's lines.
    #[must_use]
    pub fn new(agent: Agent) -> Self {
        Self { agent, asked: HashMap::new() }
    }

    /// Notes a line that the host sent.
    pub fn sent(&mut self, line: &str) {
        if self.agent != Agent::Codex {
            return;
        }
        let Ok(request) = serde_json::from_str::<Value>(line) else { return };
        if let (Some(id), Some(method)) = (request.get("id"), request.get("method").and_then(Value::as_str)) {
            self.asked.insert(id.to_string(), method.to_owned());
        }
    }

    /// Judges a line that the agent sent.
    pub fn received(&mut self, line: &str) -> Judgement {
        let payload = match serde_json::from_str::<Value>(line) {
            Ok(payload) => payload,
            // What begins like a payload should have been one; everything else is plain text.
            Err(error) if line.starts_with(['{', '[']) => {
                return Judgement::new("broken JSON", Verdict::Malformed(format!("not JSON: {error}")));
            }
            Err(_) => return Judgement::new("not JSON", Verdict::NotJson),
        };
        match self.agent {
            Agent::Claude => union::<claude::StdoutMessage>(line, &payload, &["type", "subtype"]),
            Agent::Amp => union::<amp::StreamMessage>(line, &payload, &["type", "subtype"]),
            Agent::OpenCode => opencode(line, &payload),
            Agent::Codex => self.codex(line, &payload),
        }
    }

    fn codex(&mut self, line: &str, payload: &Value) -> Judgement {
        let has = |key: &str| payload.get(key).is_some();
        if has("method") {
            let name = tag(payload, &["method"]);
            return if has("id") {
                let decoded = ServerRequestEnvelope::decode(line);
                judge(name, payload, decoded, |message| variant_fits(&message.message, payload, &["method"]))
            } else {
                let decoded = ServerNotificationEnvelope::decode(line);
                judge(name, payload, decoded, |message| variant_fits(&message.message, payload, &["method"]))
            };
        }
        if !has("type") && has("error") {
            self.asked.remove(&payload.get("id").map(Value::to_string).unwrap_or_default());
            return judge("error answer".to_owned(), payload, JsonrpcError::decode(line), |_| Ok(()));
        }
        if let (false, Some(id), Some(result)) = (has("type"), payload.get("id"), payload.get("result")) {
            let Some(method) = self.asked.remove(&id.to_string()) else {
                return Judgement::new("answer to an unseen request", Verdict::Untyped);
            };
            let name = format!("answer to {method}");
            return match Response::decode(&method, &result.to_string()) {
                Some(decoded) => judge(name, result, decoded, |_| Ok(())),
                None => Judgement::new(name, Verdict::Untyped),
            };
        }
        union::<codex::exec::ThreadEvent>(line, payload, &["type"])
    }
}

/// A payload of `/event`; those of `/global/event` come in a wrapper, and once more as `sync`.
fn opencode(line: &str, payload: &Value) -> Judgement {
    match payload.get("payload") {
        Some(inner) if payload.get("type").is_none() => {
            if inner.get("type").and_then(Value::as_str) == Some("sync") {
                return Judgement::new("sync", Verdict::Untyped);
            }
            union::<opencode::Event>(&inner.to_string(), inner, &["type"])
        }
        _ => union::<opencode::Event>(line, payload, &["type"]),
    }
}

fn union<T: Native + Union>(line: &str, payload: &Value, keys: &[&str]) -> Judgement {
    let known = tag_in::<T>(payload, keys).map(|(tag, _)| (*tag).to_owned());
    let name = known.unwrap_or_else(|| tag(payload, keys));
    judge(name, payload, T::decode(line), |value| variant_fits(value, payload, keys))
}

fn judge<T: Serialize>(
    name: String,
    payload: &Value,
    decoded: Result<Decoded<T>, DecodeError>,
    fits: impl FnOnce(&T) -> Result<(), String>,
) -> Judgement {
    let decoded = match decoded {
        Ok(decoded) => decoded,
        Err(error) => return Judgement::new(name, Verdict::Malformed(error.to_string())),
    };
    let kept = serde_json::to_value(&decoded.value).unwrap_or_default();
    let mut differences = differences(payload, &kept);
    // What was left out because it did not fit is known, and told apart.
    let LossList { repairs, missing, unknown, .. } = decoded.losses.into_list();
    let left_out: Vec<String> = repairs.iter().map(|repair| generic_path(&repair.path)).collect();
    let is_told = |path: &str| left_out.iter().any(|left_out| left_out.starts_with(path));
    differences.missing.retain(|field| !is_told(&field.path));
    differences.changed.retain(|path| !is_told(path));
    let (unknown_tags, unknown_values): (Vec<UnknownPart>, Vec<UnknownPart>) =
        unknown.into_iter().partition(|unknown| unknown.kind == UnknownKind::Tag);
    let verdict = match (unknown_tags.into_iter().next(), fits(&decoded.value), differences.changed.first()) {
        (Some(UnknownPart { path, reason, .. }), ..) => Verdict::UnknownTag(format!("{reason}, at {path}")),
        (None, Err(reason), _) => Verdict::Malformed(reason),
        (None, Ok(()), Some(path)) => Verdict::Malformed(format!("another value after decoding, at {path}")),
        (None, Ok(()), None) => Verdict::Decoded,
    };
    Judgement { name, verdict, unknown_fields: differences.missing, repairs, missing, unknown_values }
}

/// A path with `[]` for its list indexes: `content.3.text` is `content[].text`.
#[must_use]
pub fn generic_path(path: &str) -> String {
    let mut out = String::with_capacity(path.len());
    for step in path.split('.') {
        if !step.is_empty() && step.bytes().all(|byte| byte.is_ascii_digit()) {
            out.push_str("[]");
        } else {
            if !out.is_empty() {
                out.push('.');
            }
            out.push_str(step);
        }
    }
    out
}

/// The payload's tag as the union knows it, with the variant it names.
fn tag_in<T: Union>(payload: &Value, keys: &[&str]) -> Option<&'static (&'static str, &'static str)> {
    let mut joined = String::new();
    keys.iter().find_map(|key| {
        let part = payload.get(key)?.as_str()?;
        if !joined.is_empty() {
            joined.push('/');
        }
        joined.push_str(part);
        T::TAGS.iter().find(|(tag, _)| *tag == joined)
    })
}

fn variant_fits<T: Union>(value: &T, payload: &Value, keys: &[&str]) -> Result<(), String> {
    let expected = tag_in::<T>(payload, keys).map_or("Unknown", |(_, variant)| variant);
    let found = value.variant();
    if found == expected { Ok(()) } else { Err(format!("decoded as {found}, its tag says {expected}")) }
}

fn tag(payload: &Value, keys: &[&str]) -> String {
    let parts: Vec<&str> = keys.iter().filter_map(|key| payload.get(key)?.as_str()).collect();
    if parts.is_empty() { "no tag".to_owned() } else { parts.join("/") }
}
