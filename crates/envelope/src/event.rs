//! The event itself.
//!
//! Its fields are private, and each is made of a type that [`bounds`](crate::bounds) alone can fill: there is no way to
//! an event that exceeds a limit, nor to one that has a `text` or a `message` which its kind does not have.

use std::io;

use schemars::JsonSchema;
use serde::ser::SerializeStruct;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;

use crate::bounds::{Channel, Data, Message, Piece, TEXT_BYTES};
use crate::{AgentWrapperEventKind, AgentWrapperKind, Facts, Tool, ToolsFacet};

/// One event of an agent, bounded and without any tool's payload.
///
/// `TextOutput` has a `text` and no `message`, `Status` and `Error` have a `message` and no `text`, the others have
/// neither. Made by a [`Projector`](crate::Projector), or read.
///
/// Reading keeps the limits too: a `channel` that is too long is left out, a `message` cut, `data` replaced. A `text` that
/// is too long is refused, for it should have come as several events, and so is a `text` or `message` that does not
/// belong to the kind or is missing from it.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(try_from = "Wire")]
pub struct AgentWrapperEvent {
    agent_kind: AgentWrapperKind,
    channel: Option<Channel>,
    payload: Payload,
    data: Option<Data>,
}

/// What an event is, with what that kind of event has.
#[derive(Debug, Clone, PartialEq)]
enum Payload {
    TextOutput(String),
    ToolCall,
    ToolResult,
    Status(Message),
    Error(Message),
    Unknown,
}

impl AgentWrapperEvent {
    /// The agent behind it.
    #[must_use]
    pub fn agent_kind(&self) -> &AgentWrapperKind {
        &self.agent_kind
    }

    /// What it is.
    #[must_use]
    pub fn kind(&self) -> AgentWrapperEventKind {
        match self.payload {
            Payload::TextOutput(_) => AgentWrapperEventKind::TextOutput,
            Payload::ToolCall => AgentWrapperEventKind::ToolCall,
            Payload::ToolResult => AgentWrapperEventKind::ToolResult,
            Payload::Status(_) => AgentWrapperEventKind::Status,
            Payload::Error(_) => AgentWrapperEventKind::Error,
            Payload::Unknown => AgentWrapperEventKind::Unknown,
        }
    }

    /// What it belongs to: `assistant`, `reasoning`, `user`, `tool`, `status` or `error`; none for `Unknown`.
    #[must_use]
    pub fn channel(&self) -> Option<&str> {
        self.channel.as_ref().map(Channel::as_str)
    }

    /// The words of a `TextOutput`.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        match &self.payload {
            Payload::TextOutput(text) => Some(text),
            _ => None,
        }
    }

    /// The line for a person of a `Status` or an `Error`.
    #[must_use]
    pub fn message(&self) -> Option<&str> {
        match &self.payload {
            Payload::Status(message) | Payload::Error(message) => Some(message.as_str()),
            _ => None,
        }
    }

    /// What else there is to know: a [`ToolsFacet`] for tools, [`Facts`] for everything else.
    #[must_use]
    pub fn data(&self) -> Option<Value> {
        self.data.as_ref().map(Data::value)
    }

    pub(crate) fn text_output(
        agent_kind: AgentWrapperKind,
        channel: &'static str,
        text: Piece<'_>,
        data: Data,
    ) -> Self {
        Self {
            agent_kind,
            channel: Channel::new(channel),
            payload: Payload::TextOutput(text.as_str().to_owned()),
            data: Some(data),
        }
    }

    pub(crate) fn tool_call(agent_kind: AgentWrapperKind, tool: &Tool) -> Self {
        Self::tool(agent_kind, Payload::ToolCall, tool)
    }

    pub(crate) fn tool_result(agent_kind: AgentWrapperKind, tool: &Tool) -> Self {
        Self::tool(agent_kind, Payload::ToolResult, tool)
    }

    fn tool(agent_kind: AgentWrapperKind, payload: Payload, tool: &Tool) -> Self {
        Self { agent_kind, channel: Channel::new("tool"), payload, data: Some(tool.facet()) }
    }

    pub(crate) fn status(agent_kind: AgentWrapperKind, message: &'static str, facts: Data) -> Self {
        let payload = Payload::Status(Message::fixed(message));
        Self { agent_kind, channel: Channel::new("status"), payload, data: Some(facts) }
    }

    pub(crate) fn error(agent_kind: AgentWrapperKind, message: &str, facts: Data) -> Self {
        let payload = Payload::Error(Message::new(message));
        Self { agent_kind, channel: Channel::new("error"), payload, data: Some(facts) }
    }

    pub(crate) fn unknown(agent_kind: AgentWrapperKind, facts: Data) -> Self {
        Self { agent_kind, channel: None, payload: Payload::Unknown, data: Some(facts) }
    }
}

impl AgentWrapperEvent {
    /// Appends the event as one line of JSON, without the line break: the same bytes as `serde_json::to_writer`, in half the
    /// time.
    ///
    /// # Errors
    ///
    /// Never in practice: memory does not fail to be written.
    pub fn write_json(&self, out: &mut Vec<u8>) -> io::Result<()> {
        // Kinds have nothing to escape.
        out.extend_from_slice(b"{\"agent_kind\":\"");
        out.extend_from_slice(self.agent_kind.as_str().as_bytes());
        out.extend_from_slice(b"\",\"kind\":\"");
        out.extend_from_slice(self.kind().as_str().as_bytes());
        out.push(b'"');
        let texts = [
            (&b",\"channel\":"[..], self.channel()),
            (&b",\"text\":"[..], self.text()),
            (&b",\"message\":"[..], self.message()),
        ];
        for (key, text) in texts {
            if let Some(text) = text {
                out.extend_from_slice(key);
                serde_json::to_writer(&mut *out, text)?;
            }
        }
        if let Some(data) = &self.data {
            out.extend_from_slice(b",\"data\":");
            out.extend_from_slice(data.as_bytes());
        }
        out.push(b'}');
        Ok(())
    }
}

/// A field without a value is left out.
impl Serialize for AgentWrapperEvent {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("AgentWrapperEvent", 6)?;
        fields.serialize_field("agent_kind", &self.agent_kind)?;
        fields.serialize_field("kind", &self.kind())?;
        if let Some(channel) = self.channel() {
            fields.serialize_field("channel", channel)?;
        }
        if let Some(text) = self.text() {
            fields.serialize_field("text", text)?;
        }
        if let Some(message) = self.message() {
            fields.serialize_field("message", message)?;
        }
        if let Some(data) = &self.data {
            fields.serialize_field("data", data)?;
        }
        fields.end()
    }
}

/// An event as it is read.
#[derive(Deserialize)]
struct Wire {
    agent_kind: AgentWrapperKind,
    kind: AgentWrapperEventKind,
    channel: Option<String>,
    text: Option<String>,
    message: Option<String>,
    data: Option<Value>,
}

impl TryFrom<Wire> for AgentWrapperEvent {
    type Error = String;

    fn try_from(wire: Wire) -> Result<Self, String> {
        use AgentWrapperEventKind as Kind;
        let found = |field: &Option<String>| if field.is_some() { "one" } else { "none" };
        let (text, message) = (found(&wire.text), found(&wire.message));
        let payload = match (wire.kind, wire.text, wire.message) {
            (Kind::TextOutput, Some(text), None) => {
                if Piece::whole(&text).is_none() {
                    let length = text.len();
                    return Err(format!(
                        "expected a text of at most {TEXT_BYTES} bytes, found {length}: a longer one comes as several events"
                    ));
                }
                Payload::TextOutput(text)
            }
            (Kind::Status, None, Some(message)) => Payload::Status(Message::new(&message)),
            (Kind::Error, None, Some(message)) => Payload::Error(Message::new(&message)),
            (Kind::ToolCall, None, None) => Payload::ToolCall,
            (Kind::ToolResult, None, None) => Payload::ToolResult,
            (Kind::Unknown, None, None) => Payload::Unknown,
            (kind, ..) => {
                let expected = match kind {
                    Kind::TextOutput => "a `text` and no `message`",
                    Kind::Status | Kind::Error => "a `message` and no `text`",
                    Kind::ToolCall | Kind::ToolResult | Kind::Unknown => "neither `text` nor `message`",
                };
                return Err(format!("a {kind:?} has {expected}; found {text} `text` and {message} `message`"));
            }
        };
        Ok(Self {
            agent_kind: wire.agent_kind,
            channel: wire.channel.and_then(Channel::new),
            payload,
            data: wire.data.as_ref().map(Data::new),
        })
    }
}

/// An event as its JSON Schema shows it.
#[derive(JsonSchema)]
#[schemars(rename = "AgentWrapperEvent")]
#[allow(dead_code, reason = "only its schema is used")]
pub(crate) struct EventSchema {
    /// The agent behind it.
    agent_kind: AgentWrapperKind,
    /// What it is.
    kind: AgentWrapperEventKind,
    /// What it belongs to: `assistant`, `reasoning`, `user`, `tool`, `status` or `error`. At most 128 bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 128))]
    channel: Option<String>,
    /// The words of a `TextOutput`, at most 65536 bytes: a longer text comes as several events.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 65_536))]
    text: Option<String>,
    /// The line for a person of a `Status` or an `Error`, at most 4096 bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 4096))]
    message: Option<String>,
    /// What else there is to know. At most 65536 bytes of compact JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    data: Option<DataSchema>,
}

/// The data of an event as its JSON Schema shows it.
#[derive(JsonSchema)]
#[schemars(untagged)]
#[allow(dead_code, reason = "only its schema is used")]
pub(crate) enum DataSchema {
    Tools(ToolsFacet),
    Dropped(Dropped),
    Facts(Box<Facts>),
}

/// What stands in for data that is too large.
#[derive(JsonSchema)]
#[allow(dead_code, reason = "only its schema is used")]
pub(crate) struct Dropped {
    dropped: DropReason,
}

/// Why data was dropped.
#[derive(JsonSchema)]
#[schemars(tag = "reason", rename_all = "snake_case")]
#[allow(dead_code, reason = "only its schema is used")]
pub(crate) enum DropReason {
    /// It was larger than 65536 bytes.
    Oversize,
}
