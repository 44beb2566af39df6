//! The envelope around every event.

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
    /// Unique name of the event.
    pub event_id: EventId,
    /// Its place in the session: the first is 1, and there are no gaps.
    pub sequence: u64,
    /// When it happened; never earlier than the event before it.
    pub time: Timestamp,
    /// The session, by our name.
    pub session_id: SessionId,
    /// The session by the agent's name; null until it is known.
    pub native_session_id: Option<NativeSessionId>,
    /// Who says it: `source` and `synthetic`.
    pub origin: Origin,
    /// What happened: `type` and `data`.
    pub data: EventData,
    /// The native payload it was made from, byte for byte; null unless raw payloads were asked for.
    pub raw: Option<RawJson>,
}

impl UniversalEvent {
    /// An event without native session id and raw payload.
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

/// Declares the types of events: `Variant(data) = "type"`.
macro_rules! event_types {
    (
        $(#[$meta:meta])*
        pub enum $name:ident { $($(#[$variant_meta:meta])* $variant:ident($data:ident) = $word:literal,)+ }
        else $(#[$open_meta:meta])* $open:ident($unknown:ident)
    ) => {
        #[derive(Clone, Debug, PartialEq)]
        #[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema), schemars(tag = "type", content = "data"))]
        $(#[$meta])*
        pub enum $name {
            $(
                $(#[$variant_meta])*
                #[cfg_attr(feature = "json-schema", schemars(rename = $word))]
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

            /// Reads the data of an event of this type.
            fn read(kind: &str, data: Box<RawValue>) -> Result<Self, String> {
                Ok(match kind {
                    $($word => Self::$variant(parse(kind, &data)?),)+
                    _ => Self::$open($unknown { kind: kind.to_owned(), data: data.into() }),
                })
            }
        }

        /// The event's `data`; its type is [`EventData::kind`].
        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                match self {
                    $(Self::$variant(data) => data.serialize(serializer),)+
                    Self::$open(event) => event.data.serialize(serializer),
                }
            }
        }

        /// The event's `data`; its type is [`EventData::kind`].
        impl WriteJson for $name {
            fn write_json(&self, out: &mut Vec<u8>) {
                match self {
                    $(Self::$variant(data) => data.write_json(out),)+
                    Self::$open(event) => event.data.write_json(out),
                }
            }
        }

        wire_enum! {
            /// The `type` of an event, of those that this version knows.
            pub(crate) enum EventType { $($variant = $word,)+ }
        }
    };
}

event_types! {
    /// What happened: an event's `type` and its `data` in one.
    pub enum EventData {
        /// The session began.
        SessionStarted(SessionStarted) = "session.started",
        /// The session is over; nothing follows.
        SessionEnded(SessionEnded) = "session.ended",
        /// A turn began.
        TurnStarted(TurnStarted) = "turn.started",
        /// The turn is over.
        TurnEnded(TurnEnded) = "turn.ended",
        /// An item began.
        ItemStarted(ItemEvent) = "item.started",
        /// An item goes on.
        ItemDelta(ItemDelta) = "item.delta",
        /// An item is done; this is the whole of it.
        ItemCompleted(ItemEvent) = "item.completed",
        /// The agent asks for permission.
        PermissionRequested(Permission) = "permission.requested",
        /// The permission was given, refused or withdrawn.
        PermissionResolved(Permission) = "permission.resolved",
        /// The agent asks a question.
        QuestionRequested(Question) = "question.requested",
        /// The question was answered, refused or withdrawn.
        QuestionResolved(Question) = "question.resolved",
        /// Something failed.
        Error(ErrorEvent) = "error",
        /// A payload could not be read.
        AgentUnparsed(AgentUnparsed) = "agent.unparsed",
    } else
        /// An event of a type this version does not know.
        Unknown(UnknownEvent)
}

/// An event of a type this version does not know, kept as it was read. It cannot be built, only read.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct UnknownEvent {
    /// Its type.
    pub kind: String,
    /// Its data.
    pub data: RawJson,
}

impl EventData {
    /// An item begins.
    #[must_use]
    pub fn item_started(item: Item) -> Self {
        Self::ItemStarted(ItemEvent::new(item, ItemStatus::InProgress))
    }

    /// An item is done.
    #[must_use]
    pub fn item_completed(item: Item, outcome: ItemOutcome) -> Self {
        Self::ItemCompleted(ItemEvent::new(item, outcome.into()))
    }

    /// The agent asks for permission.
    #[must_use]
    pub fn permission_requested(mut permission: Permission) -> Self {
        permission.status = PermissionStatus::Requested;
        Self::PermissionRequested(permission)
    }

    /// A permission is given or refused.
    #[must_use]
    pub fn permission_resolved(mut permission: Permission, decision: Decision) -> Self {
        permission.status = match decision {
            Decision::Approved => PermissionStatus::Approved,
            Decision::Denied => PermissionStatus::Denied,
        };
        Self::PermissionResolved(permission)
    }

    /// The agent asks a question.
    #[must_use]
    pub fn question_requested(mut question: Question) -> Self {
        question.status = QuestionStatus::Requested;
        question.response = None;
        Self::QuestionRequested(question)
    }

    /// A question is answered or refused.
    #[must_use]
    pub fn question_resolved(mut question: Question, answer: QuestionAnswer) -> Self {
        (question.status, question.response) = match answer {
            QuestionAnswer::Answered(response) => (QuestionStatus::Answered, Some(response)),
            QuestionAnswer::Rejected(response) => (QuestionStatus::Rejected, response),
        };
        Self::QuestionResolved(question)
    }
}

fn parse<T: DeserializeOwned>(kind: &str, data: &RawValue) -> Result<T, String> {
    serde_json::from_str(data.get()).map_err(|error| format!("data of {kind}: {error}"))
}

wire_struct! {
    /// One event of a session.
    #[cfg_attr(feature = "json-schema", schemars(rename = "UniversalEvent"))]
    pub(crate) struct WireEvent<'a> {
        /// Unique name of the event.
        event_id: EventId,
        /// Its place in the session: the first is 1, and there are no gaps.
        #[cfg_attr(feature = "json-schema", schemars(range(min = 1)))]
        sequence: u64,
        /// When it happened; never earlier than the event before it.
        time: Timestamp,
        /// The session, by our name.
        session_id: SessionId,
        /// The session by the agent's name; null until it is known.
        native_session_id: Option<NativeSessionId>,
        /// Whether the agent said it or it was synthesised.
        source: Source,
        /// True exactly when the source is `daemon`.
        synthetic: bool,
        #[cfg_attr(feature = "json-schema", schemars(skip))]
        kind as "type": Cow<'a, str>,
        #[cfg_attr(feature = "json-schema", schemars(flatten, with = "EventData"))]
        data: WireData<'a>,
        /// The native payload it was made from, byte for byte; null unless raw payloads were asked for.
        #[serde(default, deserialize_with = "present")]
        #[cfg_attr(feature = "json-schema", schemars(!default))]
        raw: Option<RawJson>,
    }
}

/// The data of an event on the wire.
enum WireData<'a> {
    /// As it was read: it stays text until the event's type is known.
    Text(Box<RawValue>),
    /// As it is written.
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

/// Tells `null` (present) from an absent key (the default).
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<RawJson>, D::Error> {
    RawJson::deserialize(deserializer).map(Some)
}

impl WireEvent<'_> {
    pub(crate) fn has_raw_key(&self) -> bool {
        self.raw.is_some()
    }

    pub(crate) fn kind(&self) -> &str {
        &self.kind
    }

    /// The data as JSON text; empty unless it was read.
    pub(crate) fn data(&self) -> &str {
        match &self.data {
            WireData::Text(text) => text.get(),
            WireData::Event(_) => "",
        }
    }

    /// The event that was read.
    pub(crate) fn into_event(self) -> Result<UniversalEvent, String> {
        Ok(UniversalEvent {
            event_id: self.event_id,
            sequence: self.sequence,
            time: self.time,
            session_id: self.session_id,
            native_session_id: self.native_session_id,
            origin: Origin::read(self.source, self.synthetic),
            data: match self.data {
                WireData::Text(text) => EventData::read(&self.kind, text)?,
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
    /// Appends the event as one line of JSON, without the line break: the same bytes as `serde_json::to_writer`.
    ///
    /// # Errors
    ///
    /// Never: memory does not fail to be written. It fits where writers may.
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

    fn round_trips(data: &str) -> UniversalEvent {
        let text = event(data);
        let read: UniversalEvent = serde_json::from_str(&text).unwrap();
        assert_eq!(serde_json::to_string(&read).unwrap(), text);
        read
    }

    #[test]
    fn optional_fields_are_null_or_left_out_as_documented() {
        round_trips(r#""type":"session.started","data":{}"#);
        round_trips(r#""type":"session.started","data":{"metadata":{"agent":"amp"}}"#);
        round_trips(r#""type":"turn.started","data":{"turn_id":"t","phase":"started"}"#);
        round_trips(
            r#""type":"turn.ended","data":{"turn_id":"t","phase":"ended","status":"completed","duration_ms":0}"#,
        );
        round_trips(
            r#""type":"permission.requested","data":{"permission_id":"p","action":"a","status":"requested","metadata":{"call_id":null,"tool_kind":"command","input":null,"scopes":["once"],"native":null}}"#,
        );
        round_trips(
            r#""type":"permission.requested","data":{"permission_id":"p","action":"a","status":"requested","metadata":null}"#,
        );
        round_trips(
            r#""type":"question.requested","data":{"question_id":"q","prompt":"?","options":[],"response":null,"status":"requested"}"#,
        );
        round_trips(
            r#""type":"question.requested","data":{"question_id":"q","prompt":"?","options":[],"response":null,"status":"requested","metadata":{"options":[],"multi_select":false,"free_text":true,"secret":false}}"#,
        );
        round_trips(r#""type":"error","data":{"message":"m","code":null,"details":null}"#);
        round_trips(
            r#""type":"item.started","data":{"item":{"item_id":"i","native_item_id":null,"parent_id":null,"kind":"message","role":null,"status":"in_progress","content":[{"type":"file_ref","path":"p","action":"read","diff":null},{"type":"image","path":"p","mime":null},{"type":"status","label":"notice","detail":null}]}}"#,
        );
    }

    #[test]
    fn an_unknown_type_is_kept() {
        let read = round_trips(r#""type":"item.moved","data":{"b":1.0,"a":[ 2 ]}"#);
        assert_eq!(read.data.kind(), "item.moved");
    }

    #[test]
    fn unknown_parts_and_codes_are_kept() {
        round_trips(r#""type":"error","data":{"message":"m","code":"tea_break","details":{"native":{"a":1}}}"#);
        round_trips(
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
    fn an_event_sets_the_status_of_what_it_carries() {
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
    fn data_that_does_not_fit_its_type_is_refused_with_the_reason() {
        let error = serde_json::from_str::<UniversalEvent>(&event(r#""type":"turn.ended","data":{"status":7}"#));
        assert!(error.unwrap_err().to_string().contains("data of turn.ended"));
    }
}
