//! What a session came to.

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
    /// How a session went.
    pub enum AgentWrapperCompletionStatus {
        /// The last turn was completed, and the agent, if it left, left in good order.
        Completed = "completed",
        /// The last turn failed, or the agent left with another exit code than 0.
        Failed = "failed",
        /// The host asked the agent to stop the last turn.
        Interrupted = "interrupted",
        /// The host's own API ended the session.
        Terminated = "terminated",
        /// Nobody knows yet: the stream stops in the middle of a turn, or before the first.
        Incomplete = "incomplete",
    }
}

wire_struct! {
    /// What a session came to: one per session, after its last event.
    ///
    /// `final_text` is the last thing that the agent itself (no sub-agent) said in the last turn, without its reasoning;
    /// messages that were cut off do not count. It has at most 65536 bytes and is cut as a `message` is: the events have all of
    /// it.
    ///
    /// Reading keeps the limits too.
    #[cfg_attr(feature = "json-schema", schemars(description = "A completion as its JSON Schema shows it."))]
    #[derive(Debug, Clone, PartialEq)]
    pub struct AgentWrapperCompletion {
        /// How it went.
        status: AgentWrapperCompletionStatus,
        /// The last thing that the agent said in the last turn, at most 65536 bytes.
        #[cfg_attr(feature = "json-schema", schemars(with = "Option<String>", length(max = 65_536)))]
        final_text?: Option<FinalText>,
        /// What else there is to know. At most 65536 bytes of compact JSON.
        #[cfg_attr(feature = "json-schema", schemars(with = "Option<DataSchema>"))]
        data?: Option<Data>,
    }
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

    /// What else there is to know: [`EnvelopeMetadata`] with `session_id`, `thread_id`, `turns`, `exit_code` and `usage`.
    #[must_use]
    pub fn data(&self) -> Option<Value> {
        self.data.as_ref().map(Data::value)
    }
}

wire_struct! {
    /// After the last event of each session.
    #[cfg_attr(feature = "json-schema", schemars(inline))]
    pub(crate) struct Completed<'a> {
        completion: Cow<'a, AgentWrapperCompletion>,
    }
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
                Completed::write_members(out, completion);
                Ok(())
            }
        }
    }
}

impl Serialize for EnvelopeLine {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Event(event) => event.serialize(serializer),
            Self::Completion(completion) => Completed { completion: Cow::Borrowed(completion) }.serialize(serializer),
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
