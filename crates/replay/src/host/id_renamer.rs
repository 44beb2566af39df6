//! Replaces the ids that the recorded host chose.

use serde_json::Value;

use crate::Agent;
use crate::command_line::CommandLine;

/// Replaces ids and remembers the replacements.
#[derive(Debug)]
pub(super) struct IdRenamer {
    agent: Agent,
    is_enabled: bool,
    pub(super) pairs: Vec<(String, String)>,
}

impl IdRenamer {
    pub(super) fn new(agent: Agent, is_enabled: bool) -> Self {
        Self { agent, is_enabled, pairs: Vec::new() }
    }

    /// Replaces the session id in a command line, if it has one.
    pub(super) fn rename_command_line(&mut self, argv: &[String]) -> Vec<String> {
        let session = CommandLine::parse(self.agent, argv.get(1..).unwrap_or_default()).session;
        let Some(session) = session.filter(|_| self.is_enabled) else {
            return argv.to_vec();
        };
        let other = self.rename(&session);
        argv.iter().map(|argument| argument.replace(&session, &other)).collect()
    }

    /// Replaces the ids in a line, and the order of its keys. An answer stays as it is: it contains the agent's own
    /// ids, and its text may be shown to people as it is written.
    pub(super) fn rename_line(&mut self, line: &str) -> String {
        let Ok(mut value) = serde_json::from_str::<Value>(line) else {
            return line.to_owned();
        };
        if value["result"].is_object() || value["type"] == "control_response" {
            return line.to_owned();
        }
        if self.is_enabled {
            match self.agent {
                Agent::Codex if value["method"].is_string() && !value["id"].is_null() => {
                    value["id"] = format!("other-{}", value["id"].to_string().trim_matches('"')).into();
                }
                Agent::Claude if value["type"] == "control_request" => {
                    if let Some(id) = value["request_id"].as_str().map(str::to_owned) {
                        let other = format!("other-{id}");
                        value["request_id"] = other.as_str().into();
                        self.pairs.push((id, other));
                    }
                }
                Agent::Claude if value["type"] == "user" => {
                    if let Some(id) = value["uuid"].as_str().map(str::to_owned) {
                        value["uuid"] = self.rename(&id).into();
                    }
                }
                _ => {}
            }
        }
        value.to_string()
    }

    /// Returns another id of the same form.
    fn rename(&mut self, id: &str) -> String {
        let next = |c: char| c.to_digit(16).and_then(|digit| char::from_digit((digit + 1) % 16, 16)).unwrap_or(c);
        let other: String = id.chars().map(next).collect();
        self.pairs.push((id.to_owned(), other.clone()));
        other
    }
}
