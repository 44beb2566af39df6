//! What a session came to.

use std::io;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer, de};
use serde_json::Value;

use crate::AgentWrapperEvent;
#[cfg(doc)]
use crate::Facts;
use crate::bounds::{Data, FinalText};
use crate::event::DataSchema;

/// How a session went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AgentWrapperCompletionStatus {
    /// The last turn was completed, and the agent, if it left, left in good order.
    Completed,
    /// The last turn failed, or the agent left with another exit code than 0.
    Failed,
    /// The host asked the agent to stop the last turn.
    Interrupted,
    /// The host's own API ended the session.
    Terminated,
    /// Nobody knows yet: the stream stops in the middle of a turn, or before the first.
    Incomplete,
}

/// What a session came to: one per session, after its last event.
///
/// `final_text` is the last thing that the agent itself (no sub-agent) said in the last turn, without its reasoning;
/// messages that were cut off do not count. It has at most 65536 bytes and is cut as a `message` is: the events have all of
/// it.
///
/// Reading keeps the limits too.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(from = "Wire")]
pub struct AgentWrapperCompletion {
    status: AgentWrapperCompletionStatus,
    #[serde(skip_serializing_if = "Option::is_none")]
    final_text: Option<FinalText>,
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<Data>,
}

impl AgentWrapperCompletion {
    pub(crate) fn new(status: AgentWrapperCompletionStatus, final_text: Option<FinalText>, facts: Data) -> Self {
        Self { status, final_text, data: Some(facts) }
    }

    /// How it went.
    #[must_use]
    pub fn status(&self) -> AgentWrapperCompletionStatus {
        self.status
    }

    /// The last thing that the agent said in the last turn; none when it said nothing in it.
    #[must_use]
    pub fn final_text(&self) -> Option<&str> {
        self.final_text.as_ref().map(FinalText::as_str)
    }

    /// What else there is to know: [`Facts`] with `session_id`, `thread_id`, `turns`, `exit_code` and `usage`.
    #[must_use]
    pub fn data(&self) -> Option<Value> {
        self.data.as_ref().map(Data::value)
    }
}

impl AgentWrapperCompletion {
    fn write_json(&self, out: &mut Vec<u8>) -> io::Result<()> {
        out.extend_from_slice(b"{\"status\":");
        serde_json::to_writer(&mut *out, &self.status)?;
        if let Some(text) = self.final_text() {
            out.extend_from_slice(b",\"final_text\":");
            serde_json::to_writer(&mut *out, text)?;
        }
        if let Some(data) = &self.data {
            out.extend_from_slice(b",\"data\":");
            out.extend_from_slice(data.as_bytes());
        }
        out.push(b'}');
        Ok(())
    }
}

/// A completion as it is read.
#[derive(Deserialize)]
struct Wire {
    status: AgentWrapperCompletionStatus,
    final_text: Option<String>,
    data: Option<Value>,
}

impl From<Wire> for AgentWrapperCompletion {
    fn from(wire: Wire) -> Self {
        Self {
            status: wire.status,
            final_text: wire.final_text.as_deref().map(FinalText::new),
            data: wire.data.as_ref().map(Data::new),
        }
    }
}

/// A completion as its JSON Schema shows it.
#[derive(JsonSchema)]
#[schemars(rename = "AgentWrapperCompletion")]
#[allow(dead_code, reason = "only its schema is used")]
pub(crate) struct CompletionSchema {
    /// How it went.
    status: AgentWrapperCompletionStatus,
    /// The last thing that the agent said in the last turn, at most 65536 bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 65_536))]
    final_text: Option<String>,
    /// What else there is to know. At most 65536 bytes of compact JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    data: Option<DataSchema>,
}

/// One line of an envelope stream, as `interlingua convert --envelope` writes it: an event as it is, or
/// `{"completion": …}` after the last event of each session.
#[derive(Debug, Clone, PartialEq)]
pub enum EnvelopeLine {
    /// An event.
    Event(AgentWrapperEvent),
    /// What a session came to.
    Completion(AgentWrapperCompletion),
}

impl EnvelopeLine {
    /// Appends the line as JSON, without the line break: the same bytes as `serde_json::to_writer`.
    ///
    /// # Errors
    ///
    /// Never in practice: memory does not fail to be written.
    pub fn write_json(&self, out: &mut Vec<u8>) -> io::Result<()> {
        match self {
            Self::Event(event) => event.write_json(out),
            Self::Completion(completion) => {
                out.extend_from_slice(b"{\"completion\":");
                completion.write_json(out)?;
                out.push(b'}');
                Ok(())
            }
        }
    }
}

impl Serialize for EnvelopeLine {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Completed<'a> {
            completion: &'a AgentWrapperCompletion,
        }
        match self {
            Self::Event(event) => event.serialize(serializer),
            Self::Completion(completion) => Completed { completion }.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for EnvelopeLine {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut line = Value::deserialize(deserializer)?;
        let read = match line.get_mut("completion").map(Value::take) {
            Some(completion) => serde_json::from_value(completion).map(Self::Completion),
            None => serde_json::from_value(line).map(Self::Event),
        };
        read.map_err(de::Error::custom)
    }
}
