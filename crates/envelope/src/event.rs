//! The event itself.
//!
//! Its fields are private, and each is made of a type that [`bounds`](crate::bounds) alone can fill: there is no way to
//! an event that exceeds a limit, nor to one that has a `text` or a `message` which its kind does not have.

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

/// One event of an agent, bounded and without any tool's payload.
///
/// `TextOutput` has a `text` and no `message`, `Status` and `Error` have a `message` and no `text`, the others have
/// neither. Made by a [`Projector`](crate::Projector), or read.
///
/// Reading keeps the limits too: a `channel` that is too long is left out, a `message` cut, `data` replaced. A `text` that
/// is too long is refused, for it should have come as several events, and so is a `text` or `message` that does not
/// belong to the kind or is missing from it.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(try_from = "WireEvent<'_>")]
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

    /// What else there is to know: a [`ToolsFacet`] for tools, [`EnvelopeMetadata`] for everything else.
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

wire_struct! {
    #[cfg_attr(feature = "json-schema", schemars(rename = "AgentWrapperEvent"))]
    /// An event as its JSON Schema shows it.
    pub(crate) struct WireEvent<'a> {
        /// The agent behind it.
        agent_kind: AgentWrapperKind,
        /// What it is.
        kind: AgentWrapperEventKind,
        /// What it belongs to: `assistant`, `reasoning`, `user`, `tool`, `status` or `error`. At most 128 bytes.
        #[cfg_attr(feature = "json-schema", schemars(length(max = 128)))]
        channel?: Option<Cow<'a, str>>,
        /// The words of a `TextOutput`, at most 65536 bytes: a longer text comes as several events.
        #[cfg_attr(feature = "json-schema", schemars(length(max = 65_536)))]
        text?: Option<Cow<'a, str>>,
        /// The line for a person of a `Status` or an `Error`, at most 4096 bytes.
        #[cfg_attr(feature = "json-schema", schemars(length(max = 4096)))]
        message?: Option<Cow<'a, str>>,
        /// What else there is to know. At most 65536 bytes of compact JSON.
        #[cfg_attr(feature = "json-schema", schemars(with = "Option<DataSchema>"))]
        data?: Option<Cow<'a, Data>>,
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

/// A field without a value is left out.
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
    type Error = WrongFields;

    fn try_from(wire: WireEvent<'_>) -> Result<Self, WrongFields> {
        use AgentWrapperEventKind as Kind;
        let (has_text, has_message) = (wire.text.is_some(), wire.message.is_some());
        let payload = match (wire.kind, wire.text, wire.message) {
            (Kind::TextOutput, Some(text), None) => {
                if Piece::whole(&text).is_none() {
                    return Err(WrongFields::LongText(text.len()));
                }
                Payload::TextOutput(text.into_owned())
            }
            (Kind::Status, None, Some(message)) => Payload::Status(Message::new(&message)),
            (Kind::Error, None, Some(message)) => Payload::Error(Message::new(&message)),
            (Kind::ToolCall, None, None) => Payload::ToolCall,
            (Kind::ToolResult, None, None) => Payload::ToolResult,
            (Kind::Unknown, None, None) => Payload::Unknown,
            (kind, ..) => return Err(WrongFields::Kind { kind, has_text, has_message }),
        };
        Ok(Self {
            agent_kind: wire.agent_kind,
            channel: wire.channel.map(Cow::into_owned).and_then(Channel::new),
            payload,
            data: wire.data.map(Cow::into_owned),
        })
    }
}

/// Why something that was read is no event.
#[derive(Debug)]
pub(crate) enum WrongFields {
    /// The text has this many bytes.
    LongText(usize),
    /// The fields are not those of the kind.
    Kind { kind: AgentWrapperEventKind, has_text: bool, has_message: bool },
}

impl fmt::Display for WrongFields {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use AgentWrapperEventKind as Kind;
        match self {
            Self::LongText(length) => write!(
                f,
                "expected a text of at most {MAX_TEXT_BYTES} bytes, found {length}: a longer one comes as several events"
            ),
            Self::Kind { kind, has_text, has_message } => {
                let expected = match kind {
                    Kind::TextOutput => "a `text` and no `message`",
                    Kind::Status | Kind::Error => "a `message` and no `text`",
                    Kind::ToolCall | Kind::ToolResult | Kind::Unknown => "neither `text` nor `message`",
                };
                let found = |has: &bool| if *has { "one" } else { "none" };
                let (text, message) = (found(has_text), found(has_message));
                write!(f, "a {kind:?} has {expected}; found {text} `text` and {message} `message`")
            }
        }
    }
}
