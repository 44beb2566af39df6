//! The completion of a session.

use std::borrow::Cow;
use std::io;

use interlingua_schema::{wire_enum, wire_struct};
use serde::{Deserialize, Serialize, Serializer, de};
use serde_json::Value;

use crate::AgentWrapperEvent;
#[cfg(doc)]
use crate::EnvelopeMetadata;
use crate::bounds::{Data, FinalText};
#[cfg(feature = "json-schema")]
use crate::json_schema::DataSchema;

wire_enum! {
    /// The outcome of a session.
    pub enum AgentWrapperCompletionStatus {
        /// The last turn completed, and the agent, if it exited, exited with code 0.
        Completed = "completed",
        /// The last turn failed, or the agent exited with another code than 0.
        Failed = "failed",
        /// The host interrupted the last turn.
        Interrupted = "interrupted",
        /// A client of the Interlingua API ended the session.
        Terminated = "terminated",
        /// The outcome is not known: the stream stops during a turn, or before the first turn.
        Incomplete = "incomplete",
    }
}

wire_struct! {
    /// The outcome of a session. Each session has one, after its last event.
    ///
    /// `final_text` is the last message of the agent in the last turn. Messages of sub-agents, reasoning and interrupted
    /// messages do not count. It has at most 65536 bytes and is truncated like a `message`; the events have the full text.
    ///
    /// The limits are also enforced when a completion is read from JSON.
    #[cfg_attr(feature = "json-schema", schemars(description = "The outcome of a session."))]
    #[derive(Debug, Clone, PartialEq)]
    pub struct AgentWrapperCompletion {
        /// Outcome of the session.
        status: AgentWrapperCompletionStatus,
        /// Last message of the agent in the last turn, at most 65536 bytes.
        #[cfg_attr(feature = "json-schema", schemars(with = "Option<String>", length(max = 65_536)))]
        final_text?: Option<FinalText>,
        /// Ids, names and numbers of the session, at most 65536 bytes as compact JSON.
        #[cfg_attr(feature = "json-schema", schemars(with = "Option<DataSchema>"))]
        data?: Option<Data>,
    }
}

impl AgentWrapperCompletion {
    pub(crate) fn new(status: AgentWrapperCompletionStatus, final_text: Option<FinalText>, data: Data) -> Self {
        Self { status, final_text, data: Some(data) }
    }

    /// Outcome of the session.
    #[must_use]
    pub fn status(&self) -> AgentWrapperCompletionStatus {
        self.status
    }

    /// Last message of the agent in the last turn; `None` if there was none.
    #[must_use]
    pub fn final_text(&self) -> Option<&str> {
        self.final_text.as_ref().map(FinalText::as_str)
    }

    /// [`EnvelopeMetadata`] with `session_id`, `thread_id`, `turns`, `exit_code` and `usage`.
    #[must_use]
    pub fn data(&self) -> Option<Value> {
        self.data.as_ref().map(Data::to_value)
    }
}

wire_struct! {
    /// The line after the last event of a session.
    #[cfg_attr(feature = "json-schema", schemars(inline))]
    pub(crate) struct CompletionLine<'a> {
        completion: Cow<'a, AgentWrapperCompletion>,
    }
}

/// One line of an envelope stream, as `interlingua convert --envelope` writes it: an event, or `{"completion": …}` after
/// the last event of each session.
#[derive(Debug, Clone, PartialEq)]
pub enum EnvelopeLine {
    /// An event.
    Event(AgentWrapperEvent),
    /// The completion of a session.
    Completion(AgentWrapperCompletion),
}

impl EnvelopeLine {
    /// Appends the line as JSON, without the line break. Writes the same bytes as `serde_json::to_writer`.
    ///
    /// # Errors
    ///
    /// Never: writing to memory does not fail.
    pub fn write_json(&self, out: &mut Vec<u8>) -> io::Result<()> {
        match self {
            Self::Event(event) => event.write_json(out),
            Self::Completion(completion) => {
                CompletionLine::write_members(out, completion);
                Ok(())
            }
        }
    }
}

impl Serialize for EnvelopeLine {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Event(event) => event.serialize(serializer),
            Self::Completion(completion) => {
                CompletionLine { completion: Cow::Borrowed(completion) }.serialize(serializer)
            }
        }
    }
}

impl<'de> Deserialize<'de> for EnvelopeLine {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut line = Value::deserialize(deserializer)?;
        let decoded = match line.get_mut("completion").map(Value::take) {
            Some(completion) => serde_json::from_value(completion).map(Self::Completion),
            None => serde_json::from_value(line).map(Self::Event),
        };
        decoded.map_err(de::Error::custom)
    }
}
