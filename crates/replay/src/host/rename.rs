//! Other ids than the recorded host chose.

use serde_json::Value;

use crate::Agent;
use crate::launch::Launch;

/// Gives other ids, and remembers which.
#[derive(Debug)]
pub(super) struct Renamed {
    agent: Agent,
    wanted: bool,
    pub(super) pairs: Vec<(String, String)>,
}

impl Renamed {
    pub(super) fn new(agent: Agent, wanted: bool) -> Self {
        Self { agent, wanted, pairs: Vec::new() }
    }

    /// A command line with another session in it, if there is one.
    pub(super) fn command_line(&mut self, argv: &[String]) -> Vec<String> {
        let session = Launch::read(self.agent, argv.get(1..).unwrap_or_default()).session;
        let Some(session) = session.filter(|_| self.wanted) else {
            return argv.to_vec();
        };
        let other = self.another(&session);
        argv.iter().map(|word| word.replace(&session, &other)).collect()
    }

    /// A line with other ids, and its keys in another order. An answer stays as it is: the agent's own ids are in it,
    /// and what it says may be shown to people as it is written.
    pub(super) fn line(&mut self, line: &str) -> String {
        let Ok(mut value) = serde_json::from_str::<Value>(line) else {
            return line.to_owned();
        };
        if value["result"].is_object() || value["type"] == "control_response" {
            return line.to_owned();
        }
        if self.wanted {
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
                        value["uuid"] = self.another(&id).into();
                    }
                }
                _ => {}
            }
        }
        value.to_string()
    }

    /// An id of the same form.
    fn another(&mut self, id: &str) -> String {
        let next = |c: char| c.to_digit(16).and_then(|digit| char::from_digit((digit + 1) % 16, 16)).unwrap_or(c);
        let other: String = id.chars().map(next).collect();
        self.pairs.push((id.to_owned(), other.clone()));
        other
    }
}
