//! The envelope event.
//!
//! Its fields are private, and their types can only be constructed in [`bounds`](crate::bounds). So an event cannot
//! exceed a limit, and cannot have a `text` or `message` that its kind does not have.

use std::borrow::Cow;
use std::{fmt, io};

use interlingua_schema::wire_struct;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;

use crate::bounds::{Channel, Data, MAX_TEXT_BYTES, Message, Piece};
#[cfg(feature = "json-schema")]
use crate::json_schema::DataSchema;
use crate::{AgentWrapperEventKind, AgentWrapperKind, Tool};
#[cfg(doc)]
use crate::{EnvelopeMetadata, ToolsFacet};

/// One event of an agent, bounded and without the content of tool calls.
///
/// `TextOutput` has a `text` and no `message`, `Status` and `Error` have a `message` and no `text`, the other kinds have
/// neither. An event is made by a [`Projector`](crate::Projector) or read from JSON.
///
/// The limits are also enforced when an event is read: a `channel` that is too long is omitted, a `message` is truncated,
/// and `data` is replaced. A `text` that is too long is an error, because it should have been several events. A `text` or
/// `message` that the kind does not have, or that is missing, is an error too.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(try_from = "WireEvent<'_>")]
pub struct AgentWrapperEvent {
    agent_kind: AgentWrapperKind,
    channel: Option<Channel>,
    payload: Payload,
    data: Option<Data>,
}

/// The kind of an event, with its `text` or `message`.
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
    /// The agent that the event is from.
    #[must_use]
    pub fn agent_kind(&self) -> &AgentWrapperKind {
        &self.agent_kind
    }

    /// The kind of the event.
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

    /// The channel: `assistant`, `reasoning`, `user`, `tool`, `status` or `error`; `None` for `Unknown` events.
    #[must_use]
    pub fn channel(&self) -> Option<&str> {
        self.channel.as_ref().map(Channel::as_str)
    }

    /// The text of a `TextOutput` event.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        match &self.payload {
            Payload::TextOutput(text) => Some(text),
            _ => None,
        }
    }

    /// The message of a `Status` or `Error` event.
    #[must_use]
    pub fn message(&self) -> Option<&str> {
        match &self.payload {
            Payload::Status(message) | Payload::Error(message) => Some(message.as_str()),
            _ => None,
        }
    }

    /// The data of the event: a [`ToolsFacet`] for tool events, [`EnvelopeMetadata`] for all others.
    #[must_use]
    pub fn data(&self) -> Option<Value> {
        self.data.as_ref().map(Data::to_value)
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
        Self { agent_kind, channel: Channel::new("tool"), payload, data: Some(tool.to_data()) }
    }

    pub(crate) fn status(agent_kind: AgentWrapperKind, message: &'static str, data: Data) -> Self {
        let payload = Payload::Status(Message::fixed(message));
        Self { agent_kind, channel: Channel::new("status"), payload, data: Some(data) }
    }

    pub(crate) fn error(agent_kind: AgentWrapperKind, message: &str, data: Data) -> Self {
        let payload = Payload::Error(Message::new(message));
        Self { agent_kind, channel: Channel::new("error"), payload, data: Some(data) }
    }

    pub(crate) fn unknown(agent_kind: AgentWrapperKind, data: Data) -> Self {
        Self { agent_kind, channel: None, payload: Payload::Unknown, data: Some(data) }
    }
}

wire_struct! {
    #[cfg_attr(feature = "json-schema", schemars(rename = "AgentWrapperEvent"))]
    /// One event of an agent, bounded and without the content of tool calls.
    pub(crate) struct WireEvent<'a> {
        /// The agent that the event is from.
        agent_kind: AgentWrapperKind,
        /// The kind of the event.
        kind: AgentWrapperEventKind,
        /// The channel: `assistant`, `reasoning`, `user`, `tool`, `status` or `error`. At most 128 bytes.
        #[cfg_attr(feature = "json-schema", schemars(length(max = 128)))]
        channel?: Option<Cow<'a, str>>,
        /// The text of a `TextOutput` event, at most 65536 bytes. A longer text is split into several events.
        #[cfg_attr(feature = "json-schema", schemars(length(max = 65_536)))]
        text?: Option<Cow<'a, str>>,
        /// The message of a `Status` or `Error` event, at most 4096 bytes.
        #[cfg_attr(feature = "json-schema", schemars(length(max = 4096)))]
        message?: Option<Cow<'a, str>>,
        /// Ids, names and numbers, at most 65536 bytes as compact JSON.
        #[cfg_attr(feature = "json-schema", schemars(with = "Option<DataSchema>"))]
        data?: Option<Cow<'a, Data>>,
    }
}

impl AgentWrapperEvent {
    /// Appends the event as one line of JSON, without the line break. Writes the same bytes as `serde_json::to_writer`, in
    /// half the time.
    ///
    /// # Errors
    ///
    /// Never: writing to memory does not fail.
    pub fn write_json(&self, out: &mut Vec<u8>) -> io::Result<()> {
        WireEvent::write_members(
            out,
            &self.agent_kind,
            &self.kind(),
            &self.channel(),
            &self.text(),
            &self.message(),
            &self.data,
        );
        Ok(())
    }
}

/// Omits fields without a value.
impl Serialize for AgentWrapperEvent {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let wire = WireEvent {
            agent_kind: self.agent_kind.clone(),
            kind: self.kind(),
            channel: self.channel().map(Cow::Borrowed),
            text: self.text().map(Cow::Borrowed),
            message: self.message().map(Cow::Borrowed),
            data: self.data.as_ref().map(Cow::Borrowed),
        };
        wire.serialize(serializer)
    }
}

impl TryFrom<WireEvent<'_>> for AgentWrapperEvent {
    type Error = InvalidEvent;

    fn try_from(wire: WireEvent<'_>) -> Result<Self, InvalidEvent> {
        use AgentWrapperEventKind as Kind;
        let (has_text, has_message) = (wire.text.is_some(), wire.message.is_some());
        let payload = match (wire.kind, wire.text, wire.message) {
            (Kind::TextOutput, Some(text), None) => {
                if Piece::new(&text).is_none() {
                    return Err(InvalidEvent::TextTooLong(text.len()));
                }
                Payload::TextOutput(text.into_owned())
            }
            (Kind::Status, None, Some(message)) => Payload::Status(Message::new(&message)),
            (Kind::Error, None, Some(message)) => Payload::Error(Message::new(&message)),
            (Kind::ToolCall, None, None) => Payload::ToolCall,
            (Kind::ToolResult, None, None) => Payload::ToolResult,
            (Kind::Unknown, None, None) => Payload::Unknown,
            (kind, ..) => return Err(InvalidEvent::WrongFields { kind, has_text, has_message }),
        };
        Ok(Self {
            agent_kind: wire.agent_kind,
            channel: wire.channel.map(Cow::into_owned).and_then(Channel::new),
            payload,
            data: wire.data.map(Cow::into_owned),
        })
    }
}

/// Why a JSON object is not an event.
#[derive(Debug)]
pub(crate) enum InvalidEvent {
    /// The text is too long; it has this many bytes.
    TextTooLong(usize),
    /// The event does not have the `text` and `message` of its kind.
    WrongFields { kind: AgentWrapperEventKind, has_text: bool, has_message: bool },
}

impl fmt::Display for InvalidEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use AgentWrapperEventKind as Kind;
        match self {
            Self::TextTooLong(length) => write!(
                f,
                "expected a text of at most {MAX_TEXT_BYTES} bytes, found {length}; split it into several events"
            ),
            Self::WrongFields { kind, has_text, has_message } => {
                let expected = match kind {
                    Kind::TextOutput => "a `text` and no `message`",
                    Kind::Status | Kind::Error => "a `message` and no `text`",
                    Kind::ToolCall | Kind::ToolResult | Kind::Unknown => "neither `text` nor `message`",
                };
                let found = match (has_text, has_message) {
                    (true, true) => "both",
                    (true, false) => "`text` only",
                    (false, true) => "`message` only",
                    (false, false) => "neither",
                };
                write!(f, "expected {expected} in a {kind:?} event, found {found}")
            }
        }
    }
}
