//! The event: fields common to all events, and the data of each event type.

use std::borrow::Cow;
use std::io;

use serde::de::{self, DeserializeOwned};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

use crate::wire::WriteJson;
use crate::{
    AgentUnparsed, Decision, ErrorEvent, EventId, Item, ItemDelta, ItemEvent, ItemOutcome, ItemStatus, NativeSessionId,
    Origin, Permission, PermissionStatus, Question, QuestionAnswer, QuestionStatus, RawJson, SessionEnded, SessionId,
    SessionStarted, Source, Timestamp, TurnEnded, TurnStarted, wire_enum, wire_struct,
};

/// One event of a session.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct UniversalEvent {
    /// Unique id of the event.
    pub event_id: EventId,
    /// Sequence number of the event in its session. Starts at 1, without gaps.
    pub sequence: u64,
    /// Time of the event. Never earlier than the time of the previous event.
    pub time: Timestamp,
    /// Interlingua's id of the session.
    pub session_id: SessionId,
    /// The agent's id of the session; null until it is known.
    pub native_session_id: Option<NativeSessionId>,
    /// Who produced the event: `source` and `synthetic`.
    pub origin: Origin,
    /// What happened: `type` and `data`.
    pub data: EventData,
    /// The native payload that the event was made from, byte for byte; null unless raw payloads are enabled.
    pub raw: Option<RawJson>,
}

impl UniversalEvent {
    /// An event without a native session id and without a raw payload.
    #[must_use]
    pub fn new(
        event_id: impl Into<EventId>,
        sequence: u64,
        time: Timestamp,
        session_id: impl Into<SessionId>,
        origin: Origin,
        data: EventData,
    ) -> Self {
        Self {
            event_id: event_id.into(),
            sequence,
            time,
            session_id: session_id.into(),
            native_session_id: None,
            origin,
            data,
            raw: None,
        }
    }
}

/// Declares the event types: `Variant(Data) = "type"`.
macro_rules! event_types {
    (
        $(#[$meta:meta])*
        pub enum $name:ident { $($(#[$variant_meta:meta])* $variant:ident($data:ident) = $type_name:literal,)+ }
        else $(#[$open_meta:meta])* $open:ident($unknown:ident)
    ) => {
        #[derive(Clone, Debug, PartialEq)]
        #[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema), schemars(tag = "type", content = "data"))]
        $(#[$meta])*
        pub enum $name {
            $(
                $(#[$variant_meta])*
                #[cfg_attr(feature = "json-schema", schemars(rename = $type_name))]
                $variant($data),
            )+
            $(#[$open_meta])*
            #[cfg_attr(feature = "json-schema", schemars(skip))]
            $open($unknown),
        }

        impl $name {
            /// The event's `type`.
            #[must_use]
            pub fn kind(&self) -> &str {
                match self {
                    $(Self::$variant(_) => EventType::$variant.as_str(),)+
                    Self::$open(event) => &event.kind,
                }
            }

            /// Decodes the data of an event of this type.
            fn decode(kind: &str, data: Box<RawValue>) -> Result<Self, String> {
                Ok(match kind {
                    $($type_name => Self::$variant(decode_data(kind, &data)?),)+
                    _ => Self::$open($unknown { kind: kind.to_owned(), data: data.into() }),
                })
            }
        }

        /// Writes the event's `data`. Its type is [`EventData::kind`].
        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                match self {
                    $(Self::$variant(data) => data.serialize(serializer),)+
                    Self::$open(event) => event.data.serialize(serializer),
                }
            }
        }

        /// Writes the event's `data`. Its type is [`EventData::kind`].
        impl WriteJson for $name {
            fn write_json(&self, out: &mut Vec<u8>) {
                match self {
                    $(Self::$variant(data) => data.write_json(out),)+
                    Self::$open(event) => event.data.write_json(out),
                }
            }
        }

        wire_enum! {
            /// The event types that this version knows.
            pub(crate) enum EventType { $($variant = $type_name,)+ }
        }
    };
}

event_types! {
    /// What happened: the `type` and `data` of an event.
    pub enum EventData {
        /// The session started.
        SessionStarted(SessionStarted) = "session.started",
        /// The session ended. No event follows.
        SessionEnded(SessionEnded) = "session.ended",
        /// A turn started.
        TurnStarted(TurnStarted) = "turn.started",
        /// A turn ended.
        TurnEnded(TurnEnded) = "turn.ended",
        /// An item started.
        ItemStarted(ItemEvent) = "item.started",
        /// More text of an open item.
        ItemDelta(ItemDelta) = "item.delta",
        /// An item completed. It has its full content.
        ItemCompleted(ItemEvent) = "item.completed",
        /// The agent requests a permission.
        PermissionRequested(Permission) = "permission.requested",
        /// A permission was approved, denied or withdrawn.
        PermissionResolved(Permission) = "permission.resolved",
        /// The agent asks the user a question.
        QuestionRequested(Question) = "question.requested",
        /// A question was answered, rejected or withdrawn.
        QuestionResolved(Question) = "question.resolved",
        /// An error that the user should see.
        Error(ErrorEvent) = "error",
        /// A native payload could not be decoded.
        AgentUnparsed(AgentUnparsed) = "agent.unparsed",
    } else
        /// An event type that this version does not know.
        Unknown(UnknownEvent)
}

/// An event of a type that this version does not know, kept unchanged. It can be read but not built.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct UnknownEvent {
    /// The event's `type`.
    pub kind: String,
    /// The event's `data`.
    pub data: RawJson,
}

impl EventData {
    /// `item.started`. Sets the item's status to `in_progress`.
    #[must_use]
    pub fn item_started(item: Item) -> Self {
        Self::ItemStarted(ItemEvent::new(item, ItemStatus::InProgress))
    }

    /// `item.completed`. Sets the item's status to the outcome.
    #[must_use]
    pub fn item_completed(item: Item, outcome: ItemOutcome) -> Self {
        Self::ItemCompleted(ItemEvent::new(item, outcome.into()))
    }

    /// `permission.requested`. Sets the status.
    #[must_use]
    pub fn permission_requested(mut permission: Permission) -> Self {
        permission.status = PermissionStatus::Requested;
        Self::PermissionRequested(permission)
    }

    /// `permission.resolved`. Sets the status to the decision.
    #[must_use]
    pub fn permission_resolved(mut permission: Permission, decision: Decision) -> Self {
        permission.status = match decision {
            Decision::Approved => PermissionStatus::Approved,
            Decision::Denied => PermissionStatus::Denied,
        };
        Self::PermissionResolved(permission)
    }

    /// `question.requested`. Sets the status, and clears the response.
    #[must_use]
    pub fn question_requested(mut question: Question) -> Self {
        question.status = QuestionStatus::Requested;
        question.response = None;
        Self::QuestionRequested(question)
    }

    /// `question.resolved`. Sets the status and the response.
    #[must_use]
    pub fn question_resolved(mut question: Question, answer: QuestionAnswer) -> Self {
        (question.status, question.response) = match answer {
            QuestionAnswer::Answered(response) => (QuestionStatus::Answered, Some(response)),
            QuestionAnswer::Rejected(response) => (QuestionStatus::Rejected, response),
        };
        Self::QuestionResolved(question)
    }
}

fn decode_data<T: DeserializeOwned>(kind: &str, data: &RawValue) -> Result<T, String> {
    serde_json::from_str(data.get()).map_err(|error| format!("data of {kind}: {error}"))
}

wire_struct! {
    /// One event of a session.
    #[cfg_attr(feature = "json-schema", schemars(rename = "UniversalEvent"))]
    pub(crate) struct WireEvent<'a> {
        /// Unique id of the event.
        event_id: EventId,
        /// Sequence number of the event in its session. Starts at 1, without gaps.
        #[cfg_attr(feature = "json-schema", schemars(range(min = 1)))]
        sequence: u64,
        /// Time of the event. Never earlier than the time of the previous event.
        time: Timestamp,
        /// Interlingua's id of the session.
        session_id: SessionId,
        /// The agent's id of the session; null until it is known.
        native_session_id: Option<NativeSessionId>,
        /// Whether the agent sent the event or it was synthesised.
        source: Source,
        /// True exactly when the source is `daemon`.
        synthetic: bool,
        #[cfg_attr(feature = "json-schema", schemars(skip))]
        kind as "type": Cow<'a, str>,
        #[cfg_attr(feature = "json-schema", schemars(flatten, with = "EventData"))]
        data: WireData<'a>,
        /// The native payload that the event was made from, byte for byte; null unless raw payloads are enabled.
        #[serde(default, deserialize_with = "deserialize_present")]
        #[cfg_attr(feature = "json-schema", schemars(!default))]
        raw: Option<RawJson>,
    }
}

/// The `data` of an event on the wire.
enum WireData<'a> {
    /// Data that was read. It stays JSON text until the event's type is known.
    Text(Box<RawValue>),
    /// Data to write.
    Event(&'a EventData),
}

impl Serialize for WireData<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Text(text) => text.serialize(serializer),
            Self::Event(data) => data.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for WireData<'_> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Box::deserialize(deserializer).map(Self::Text)
    }
}

impl WriteJson for WireData<'_> {
    fn write_json(&self, out: &mut Vec<u8>) {
        match self {
            Self::Text(text) => out.extend_from_slice(text.get().as_bytes()),
            Self::Event(data) => data.write_json(out),
        }
    }
}

/// Reads a key that is present, so that `null` (`Some`) differs from an absent key (`None`, the default).
fn deserialize_present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<RawJson>, D::Error> {
    RawJson::deserialize(deserializer).map(Some)
}

impl WireEvent<'_> {
    pub(crate) fn has_raw_key(&self) -> bool {
        self.raw.is_some()
    }

    pub(crate) fn kind(&self) -> &str {
        &self.kind
    }

    /// The data as JSON text; empty if the event was not read from JSON.
    pub(crate) fn data(&self) -> &str {
        match &self.data {
            WireData::Text(text) => text.get(),
            WireData::Event(_) => "",
        }
    }

    /// Decodes the data by the event's type.
    pub(crate) fn into_event(self) -> Result<UniversalEvent, String> {
        Ok(UniversalEvent {
            event_id: self.event_id,
            sequence: self.sequence,
            time: self.time,
            session_id: self.session_id,
            native_session_id: self.native_session_id,
            origin: Origin::from_wire(self.source, self.synthetic),
            data: match self.data {
                WireData::Text(text) => EventData::decode(&self.kind, text)?,
                WireData::Event(data) => data.clone(),
            },
            raw: self.raw.filter(|raw| raw.as_str() != "null"),
        })
    }
}

impl Serialize for UniversalEvent {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let wire = WireEvent {
            event_id: self.event_id.clone(),
            sequence: self.sequence,
            time: self.time,
            session_id: self.session_id.clone(),
            native_session_id: self.native_session_id.clone(),
            source: self.origin.source(),
            synthetic: self.origin.is_synthetic(),
            kind: Cow::Borrowed(self.data.kind()),
            data: WireData::Event(&self.data),
            raw: self.raw.clone(),
        };
        wire.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for UniversalEvent {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        WireEvent::deserialize(deserializer)?.into_event().map_err(de::Error::custom)
    }
}

impl UniversalEvent {
    /// Appends the event as one line of JSON, without the line break. Writes the same bytes as `serde_json::to_writer`.
    ///
    /// # Errors
    ///
    /// Never: writing to memory does not fail. The result is an `io::Result` so that callers can treat it like other
    /// writers.
    pub fn write_json(&self, out: &mut Vec<u8>) -> io::Result<()> {
        let Self { event_id, sequence, time, session_id, native_session_id, origin, data, raw } = self;
        WireEvent::write_members(
            out,
            event_id,
            sequence,
            time,
            session_id,
            native_session_id,
            &origin.source(),
            &origin.is_synthetic(),
            data.kind(),
            data,
            raw,
        );
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ContentPart, ItemKind};

    fn event(data: &str) -> String {
        format!(
            r#"{{"event_id":"evt_1","sequence":1,"time":"1970-01-01T00:00:00.000Z","session_id":"s","native_session_id":null,"source":"agent","synthetic":false,{data},"raw":null}}"#
        )
    }

    fn assert_round_trips(data: &str) -> UniversalEvent {
        let text = event(data);
        let read: UniversalEvent = serde_json::from_str(&text).unwrap();
        assert_eq!(serde_json::to_string(&read).unwrap(), text);
        read
    }

    #[test]
    fn optional_fields_are_null_or_omitted_as_documented() {
        assert_round_trips(r#""type":"session.started","data":{}"#);
        assert_round_trips(r#""type":"session.started","data":{"metadata":{"agent":"amp"}}"#);
        assert_round_trips(r#""type":"turn.started","data":{"turn_id":"t","phase":"started"}"#);
        assert_round_trips(
            r#""type":"turn.ended","data":{"turn_id":"t","phase":"ended","status":"completed","duration_ms":0}"#,
        );
        assert_round_trips(
            r#""type":"permission.requested","data":{"permission_id":"p","action":"a","status":"requested","metadata":{"call_id":null,"tool_kind":"command","input":null,"scopes":["once"],"native":null}}"#,
        );
        assert_round_trips(
            r#""type":"permission.requested","data":{"permission_id":"p","action":"a","status":"requested","metadata":null}"#,
        );
        assert_round_trips(
            r#""type":"question.requested","data":{"question_id":"q","prompt":"?","options":[],"response":null,"status":"requested"}"#,
        );
        assert_round_trips(
            r#""type":"question.requested","data":{"question_id":"q","prompt":"?","options":[],"response":null,"status":"requested","metadata":{"options":[],"multi_select":false,"free_text":true,"secret":false}}"#,
        );
        assert_round_trips(r#""type":"error","data":{"message":"m","code":null,"details":null}"#);
        assert_round_trips(
            r#""type":"item.started","data":{"item":{"item_id":"i","native_item_id":null,"parent_id":null,"kind":"message","role":null,"status":"in_progress","content":[{"type":"file_ref","path":"p","action":"read","diff":null},{"type":"image","path":"p","mime":null},{"type":"status","label":"notice","detail":null}]}}"#,
        );
    }

    #[test]
    fn an_unknown_event_type_is_kept() {
        let read = assert_round_trips(r#""type":"item.moved","data":{"b":1.0,"a":[ 2 ]}"#);
        assert_eq!(read.data.kind(), "item.moved");
    }

    #[test]
    fn unknown_parts_and_codes_are_kept() {
        assert_round_trips(r#""type":"error","data":{"message":"m","code":"tea_break","details":{"native":{"a":1}}}"#);
        assert_round_trips(
            r#""type":"item.started","data":{"item":{"item_id":"i","native_item_id":null,"parent_id":null,"kind":"tool_call","role":null,"status":"in_progress","content":[{"seconds":3,"type":"audio"},{"type":"tool_call","name":"n","arguments":"{}","call_id":"c","tool_kind":"dance"}]}}"#,
        );
    }

    #[test]
    fn raw_is_written_as_it_was_read() {
        let text =
            event(r#""type":"session.started","data":{}"#).replace(r#""raw":null"#, r#""raw":{"z" : 1.50,"a":1}"#);
        let read: UniversalEvent = serde_json::from_str(&text).unwrap();
        assert_eq!(serde_json::to_string(&read).unwrap(), text);
    }

    #[test]
    fn an_event_constructor_sets_the_status_of_its_item_or_request() {
        let mut item = Item::new("i", ItemKind::Message);
        item.content.push(ContentPart::text("x"));
        item.status = ItemStatus::Completed;
        let EventData::ItemStarted(started) = EventData::item_started(item) else { panic!("not a start") };
        assert_eq!(started.item.status, ItemStatus::InProgress);
        let question = Question::new("q", "?", vec![]);
        let EventData::QuestionResolved(resolved) =
            EventData::question_resolved(question, QuestionAnswer::Rejected(None))
        else {
            panic!("not resolved")
        };
        assert_eq!(resolved.status, QuestionStatus::Rejected);
    }

    #[test]
    fn data_that_does_not_fit_its_type_is_an_error_that_names_the_type() {
        let error = serde_json::from_str::<UniversalEvent>(&event(r#""type":"turn.ended","data":{"status":7}"#));
        assert!(error.unwrap_err().to_string().contains("data of turn.ended"));
    }
}
