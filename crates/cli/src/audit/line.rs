//! Auditing one line: its native type, and whether it matches.

use std::collections::HashMap;

use interlingua_convert::Agent;
use interlingua_native::codex::{JsonrpcError, Response, ServerNotificationEnvelope, ServerRequestEnvelope};
use interlingua_native::{
    DecodeError, Decoded, LossList, MissingFields, Native, Repair, Union, UnknownKind, UnknownPart, acp, amp, claude,
    codex, opencode,
};
use serde::Serialize;
use serde_json::Value;

use super::fields::{UnknownField, compare_fields};

/// Audit of one line.
#[derive(Debug, Clone, PartialEq)]
pub struct LineAudit {
    /// Native type: the payload's tag, or the request that it answers.
    pub name: String,
    /// Whether it decoded.
    pub status: DecodeStatus,
    /// Fields that the types do not know.
    pub unknown_fields: Vec<UnknownField>,
    /// Parts that were left out, because they do not match their type or lack a required field.
    pub repairs: Vec<Repair>,
    /// Expected fields that are missing or null.
    pub missing: Vec<MissingFields>,
    /// Enum values and kinds of JSON that the types do not know.
    pub unknown_values: Vec<UnknownPart>,
}

impl LineAudit {
    /// An audit with a status and nothing else.
    pub(super) fn new(name: impl Into<String>, status: DecodeStatus) -> Self {
        Self {
            name: name.into(),
            status,
            unknown_fields: Vec::new(),
            repairs: Vec::new(),
            missing: Vec::new(),
            unknown_values: Vec::new(),
        }
    }
}

/// Whether a line decoded.
#[derive(Debug, Clone, PartialEq)]
pub enum DecodeStatus {
    /// It decoded into the variant of its tag.
    Decoded,
    /// It contains a tag that the types do not know. The text has the union and the path.
    UnknownTag(String),
    /// It does not match the type of its tag. The text has the reason.
    Malformed(String),
    /// There is no type for it: an answer to a request outside the schema's roots, or an HTTP reply.
    Untyped,
    /// It is not JSON.
    NotJson,
}

/// Audits the lines of one log, in order.
#[derive(Debug)]
pub struct LineAuditor {
    agent: Agent,
    /// Methods of the host's open requests by id, because an answer does not contain its method.
    pending_methods: HashMap<String, String>,
}

impl LineAuditor {
    /// An auditor for a log of this agent.
    #[must_use]
    pub fn new(agent: Agent) -> Self {
        Self { agent, pending_methods: HashMap::new() }
    }

    /// Remembers the method of a request that the host sent.
    pub fn observe_sent(&mut self, line: &str) {
        if !matches!(self.agent, Agent::Codex | Agent::Acp) {
            return;
        }
        let Ok(request) = serde_json::from_str::<Value>(line) else { return };
        if let (Some(id), Some(method)) = (request.get("id"), request.get("method").and_then(Value::as_str)) {
            self.pending_methods.insert(id.to_string(), method.to_owned());
        }
    }

    /// Audits a line that the agent sent.
    pub fn audit_received(&mut self, line: &str) -> LineAudit {
        let payload = match serde_json::from_str::<Value>(line) {
            Ok(payload) => payload,
            // A line that starts like a JSON payload is malformed; everything else is plain text.
            Err(error) if line.starts_with(['{', '[']) => {
                return LineAudit::new("broken JSON", DecodeStatus::Malformed(format!("not JSON: {error}")));
            }
            Err(_) => return LineAudit::new("not JSON", DecodeStatus::NotJson),
        };
        match self.agent {
            Agent::Claude => audit_union::<claude::StdoutMessage>(line, &payload, &["type", "subtype"]),
            Agent::Amp => audit_union::<amp::StreamMessage>(line, &payload, &["type", "subtype"]),
            Agent::OpenCode => audit_opencode(line, &payload),
            Agent::Codex => self.audit_codex(line, &payload),
            Agent::Acp => self.audit_acp(line, &payload),
        }
    }

    fn audit_acp(&mut self, line: &str, payload: &Value) -> LineAudit {
        let has = |key: &str| payload.get(key).is_some();
        if has("method") {
            let update = payload.pointer("/params/update/sessionUpdate").and_then(Value::as_str);
            let method = tag_text(payload, &["method"]);
            let name = update.map_or_else(|| method.clone(), |update| format!("{method} {update}"));
            return if has("id") {
                let decoded = acp::AgentRequestEnvelope::decode(line);
                audit_decoded(name, payload, decoded, |message| check_variant(&message.message, payload, &["method"]))
            } else {
                let decoded = acp::AgentNotificationEnvelope::decode(line);
                audit_decoded(name, payload, decoded, |message| check_variant(&message.message, payload, &["method"]))
            };
        }
        let method = self.pending_methods.remove(&payload.get("id").map(Value::to_string).unwrap_or_default());
        if has("error") {
            return audit_decoded("error answer".to_owned(), payload, acp::JsonRpcError::decode(line), |_| Ok(()));
        }
        let (Some(method), Some(result)) = (method, payload.get("result")) else {
            return LineAudit::new("answer to an unseen request", DecodeStatus::Untyped);
        };
        let name = format!("answer to {method}");
        match acp::Response::decode(&method, &result.to_string()) {
            Some(decoded) => audit_decoded(name, result, decoded, |_| Ok(())),
            None => LineAudit::new(name, DecodeStatus::Untyped),
        }
    }

    fn audit_codex(&mut self, line: &str, payload: &Value) -> LineAudit {
        let has = |key: &str| payload.get(key).is_some();
        if has("method") {
            let name = tag_text(payload, &["method"]);
            return if has("id") {
                let decoded = ServerRequestEnvelope::decode(line);
                audit_decoded(name, payload, decoded, |message| check_variant(&message.message, payload, &["method"]))
            } else {
                let decoded = ServerNotificationEnvelope::decode(line);
                audit_decoded(name, payload, decoded, |message| check_variant(&message.message, payload, &["method"]))
            };
        }
        if !has("type") && has("error") {
            self.pending_methods.remove(&payload.get("id").map(Value::to_string).unwrap_or_default());
            return audit_decoded("error answer".to_owned(), payload, JsonrpcError::decode(line), |_| Ok(()));
        }
        if let (false, Some(id), Some(result)) = (has("type"), payload.get("id"), payload.get("result")) {
            let Some(method) = self.pending_methods.remove(&id.to_string()) else {
                return LineAudit::new("answer to an unseen request", DecodeStatus::Untyped);
            };
            let name = format!("answer to {method}");
            return match Response::decode(&method, &result.to_string()) {
                Some(decoded) => audit_decoded(name, result, decoded, |_| Ok(())),
                None => LineAudit::new(name, DecodeStatus::Untyped),
            };
        }
        audit_union::<codex::exec::ThreadEvent>(line, payload, &["type"])
    }
}

/// Audits a payload of `/event`. Payloads of `/global/event` have a wrapper, and are repeated as `sync`.
fn audit_opencode(line: &str, payload: &Value) -> LineAudit {
    match payload.get("payload") {
        Some(inner) if payload.get("type").is_none() => {
            if inner.get("type").and_then(Value::as_str) == Some("sync") {
                return LineAudit::new("sync", DecodeStatus::Untyped);
            }
            audit_union::<opencode::Event>(&inner.to_string(), inner, &["type"])
        }
        _ => audit_union::<opencode::Event>(line, payload, &["type"]),
    }
}

fn audit_union<T: Native + Union>(line: &str, payload: &Value, keys: &[&str]) -> LineAudit {
    let known = find_tag::<T>(payload, keys).map(|(tag, _)| (*tag).to_owned());
    let name = known.unwrap_or_else(|| tag_text(payload, keys));
    audit_decoded(name, payload, T::decode(line), |value| check_variant(value, payload, keys))
}

/// Audits a decoded payload. `check_variant` compares its variant with its tag.
fn audit_decoded<T: Serialize>(
    name: String,
    payload: &Value,
    decoded: Result<Decoded<T>, DecodeError>,
    check_variant: impl FnOnce(&T) -> Result<(), String>,
) -> LineAudit {
    let decoded = match decoded {
        Ok(decoded) => decoded,
        Err(error) => return LineAudit::new(name, DecodeStatus::Malformed(error.to_string())),
    };
    let encoded = serde_json::to_value(&decoded.value).unwrap_or_default();
    let mut differences = compare_fields(payload, &encoded);
    // Parts that were left out by a repair are reported as repairs only.
    let LossList { repairs, missing, unknown, .. } = decoded.losses.into_list();
    let repaired_paths: Vec<String> = repairs.iter().map(|repair| generic_path(&repair.path)).collect();
    let is_repaired = |path: &str| repaired_paths.iter().any(|repaired| repaired.starts_with(path));
    differences.missing.retain(|field| !is_repaired(&field.path));
    differences.changed.retain(|path| !is_repaired(path));
    let (unknown_tags, unknown_values): (Vec<UnknownPart>, Vec<UnknownPart>) =
        unknown.into_iter().partition(|unknown| unknown.kind == UnknownKind::Tag);
    let status = match (unknown_tags.into_iter().next(), check_variant(&decoded.value), differences.changed.first()) {
        (Some(UnknownPart { path, reason, .. }), ..) => DecodeStatus::UnknownTag(format!("{reason}, at {path}")),
        (None, Err(reason), _) => DecodeStatus::Malformed(reason),
        (None, Ok(()), Some(path)) => DecodeStatus::Malformed(format!("the value changed by decoding, at {path}")),
        (None, Ok(()), None) => DecodeStatus::Decoded,
    };
    LineAudit { name, status, unknown_fields: differences.missing, repairs, missing, unknown_values }
}

/// Replaces the list indexes of a path by `[]`: `content.3.text` becomes `content[].text`.
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

/// The entry of the union's tag table for the payload: the tag and the name of its variant.
fn find_tag<T: Union>(payload: &Value, keys: &[&str]) -> Option<&'static (&'static str, &'static str)> {
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

fn check_variant<T: Union>(value: &T, payload: &Value, keys: &[&str]) -> Result<(), String> {
    let expected = find_tag::<T>(payload, keys).map_or("Unknown", |(_, variant)| variant);
    let found = value.variant();
    if found == expected {
        Ok(())
    } else {
        Err(format!("expected the variant {expected} of its tag, decoded as {found}"))
    }
}

/// The payload's tag as text.
fn tag_text(payload: &Value, keys: &[&str]) -> String {
    let parts: Vec<&str> = keys.iter().filter_map(|key| payload.get(key)?.as_str()).collect();
    if parts.is_empty() { "no tag".to_owned() } else { parts.join("/") }
}
