//! The envelope around every event.

use schemars::JsonSchema;
use serde::de::{self, DeserializeOwned};
use serde::ser::SerializeStruct;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

use crate::{
    AgentUnparsed, Answer, Decision, ErrorEvent, EventId, Item, ItemDelta, ItemEvent, ItemStatus, NativeSessionId,
    Origin, Outcome, Permission, PermissionStatus, Question, QuestionStatus, RawJson, SessionEnded, SessionId,
    SessionStarted, Source, Timestamp, TurnEnded, TurnStarted,
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

/// What happened: an event's `type` and its `data` in one.
#[derive(Clone, Debug, PartialEq, JsonSchema)]
#[schemars(tag = "type", content = "data")]
#[non_exhaustive]
pub enum EventData {
    /// The session began.
    #[schemars(rename = "session.started")]
    SessionStarted(SessionStarted),
    /// The session is over; nothing follows.
    #[schemars(rename = "session.ended")]
    SessionEnded(SessionEnded),
    /// A turn began.
    #[schemars(rename = "turn.started")]
    TurnStarted(TurnStarted),
    /// The turn is over.
    #[schemars(rename = "turn.ended")]
    TurnEnded(TurnEnded),
    /// An item began.
    #[schemars(rename = "item.started")]
    ItemStarted(ItemEvent),
    /// An item goes on.
    #[schemars(rename = "item.delta")]
    ItemDelta(ItemDelta),
    /// An item is done; this is the whole of it.
    #[schemars(rename = "item.completed")]
    ItemCompleted(ItemEvent),
    /// The agent asks for permission.
    #[schemars(rename = "permission.requested")]
    PermissionRequested(Permission),
    /// The permission was given, refused or withdrawn.
    #[schemars(rename = "permission.resolved")]
    PermissionResolved(Permission),
    /// The agent asks a question.
    #[schemars(rename = "question.requested")]
    QuestionRequested(Question),
    /// The question was answered, refused or withdrawn.
    #[schemars(rename = "question.resolved")]
    QuestionResolved(Question),
    /// Something failed.
    #[schemars(rename = "error")]
    Error(ErrorEvent),
    /// A payload could not be read.
    #[schemars(rename = "agent.unparsed")]
    AgentUnparsed(AgentUnparsed),
    /// An event of a type this version does not know.
    #[schemars(skip)]
    Unknown(UnknownEvent),
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
    pub fn item_completed(item: Item, outcome: Outcome) -> Self {
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
    pub fn question_resolved(mut question: Question, answer: Answer) -> Self {
        (question.status, question.response) = match answer {
            Answer::Answered(response) => (QuestionStatus::Answered, Some(response)),
            Answer::Rejected(response) => (QuestionStatus::Rejected, response),
        };
        Self::QuestionResolved(question)
    }

    /// The event's `type`.
    #[must_use]
    pub fn kind(&self) -> &str {
        match self {
            Self::SessionStarted(_) => "session.started",
            Self::SessionEnded(_) => "session.ended",
            Self::TurnStarted(_) => "turn.started",
            Self::TurnEnded(_) => "turn.ended",
            Self::ItemStarted(_) => "item.started",
            Self::ItemDelta(_) => "item.delta",
            Self::ItemCompleted(_) => "item.completed",
            Self::PermissionRequested(_) => "permission.requested",
            Self::PermissionResolved(_) => "permission.resolved",
            Self::QuestionRequested(_) => "question.requested",
            Self::QuestionResolved(_) => "question.resolved",
            Self::Error(_) => "error",
            Self::AgentUnparsed(_) => "agent.unparsed",
            Self::Unknown(event) => &event.kind,
        }
    }

    fn write<S: SerializeStruct>(&self, fields: &mut S) -> Result<(), S::Error> {
        fields.serialize_field("type", self.kind())?;
        match self {
            Self::SessionStarted(data) => fields.serialize_field("data", data),
            Self::SessionEnded(data) => fields.serialize_field("data", data),
            Self::TurnStarted(data) => fields.serialize_field("data", data),
            Self::TurnEnded(data) => fields.serialize_field("data", data),
            Self::ItemStarted(data) | Self::ItemCompleted(data) => fields.serialize_field("data", data),
            Self::ItemDelta(data) => fields.serialize_field("data", data),
            Self::PermissionRequested(data) | Self::PermissionResolved(data) => fields.serialize_field("data", data),
            Self::QuestionRequested(data) | Self::QuestionResolved(data) => fields.serialize_field("data", data),
            Self::Error(data) => fields.serialize_field("data", data),
            Self::AgentUnparsed(data) => fields.serialize_field("data", data),
            Self::Unknown(event) => fields.serialize_field("data", &event.data),
        }
    }

    fn read(kind: String, data: Box<RawValue>) -> Result<Self, String> {
        fn parse<T: DeserializeOwned>(kind: &str, data: &RawValue) -> Result<T, String> {
            serde_json::from_str(data.get()).map_err(|error| format!("data of {kind}: {error}"))
        }
        Ok(match kind.as_str() {
            "session.started" => Self::SessionStarted(parse(&kind, &data)?),
            "session.ended" => Self::SessionEnded(parse(&kind, &data)?),
            "turn.started" => Self::TurnStarted(parse(&kind, &data)?),
            "turn.ended" => Self::TurnEnded(parse(&kind, &data)?),
            "item.started" => Self::ItemStarted(parse(&kind, &data)?),
            "item.delta" => Self::ItemDelta(parse(&kind, &data)?),
            "item.completed" => Self::ItemCompleted(parse(&kind, &data)?),
            "permission.requested" => Self::PermissionRequested(parse(&kind, &data)?),
            "permission.resolved" => Self::PermissionResolved(parse(&kind, &data)?),
            "question.requested" => Self::QuestionRequested(parse(&kind, &data)?),
            "question.resolved" => Self::QuestionResolved(parse(&kind, &data)?),
            "error" => Self::Error(parse(&kind, &data)?),
            "agent.unparsed" => Self::AgentUnparsed(parse(&kind, &data)?),
            _ => Self::Unknown(UnknownEvent { kind, data: data.into() }),
        })
    }
}

impl Serialize for UniversalEvent {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("UniversalEvent", 10)?;
        fields.serialize_field("event_id", &self.event_id)?;
        fields.serialize_field("sequence", &self.sequence)?;
        fields.serialize_field("time", &self.time)?;
        fields.serialize_field("session_id", &self.session_id)?;
        fields.serialize_field("native_session_id", &self.native_session_id)?;
        fields.serialize_field("source", &self.origin.source())?;
        fields.serialize_field("synthetic", &self.origin.is_synthetic())?;
        self.data.write(&mut fields)?;
        fields.serialize_field("raw", &self.raw)?;
        fields.end()
    }
}

/// The envelope as it is read: `data` stays text until `type` is known.
#[derive(Deserialize)]
pub(crate) struct Envelope {
    event_id: EventId,
    sequence: u64,
    time: Timestamp,
    session_id: SessionId,
    #[serde(default)]
    native_session_id: Option<NativeSessionId>,
    source: Source,
    synthetic: bool,
    #[serde(rename = "type")]
    kind: String,
    data: Box<RawValue>,
    #[serde(default, deserialize_with = "present")]
    raw: Option<Box<RawValue>>,
}

/// Tells `null` (present) from an absent key (the default).
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Box<RawValue>>, D::Error> {
    Box::<RawValue>::deserialize(deserializer).map(Some)
}

impl Envelope {
    pub(crate) fn has_raw_key(&self) -> bool {
        self.raw.is_some()
    }

    pub(crate) fn kind(&self) -> &str {
        &self.kind
    }

    /// The data as JSON text.
    pub(crate) fn data(&self) -> &str {
        self.data.get()
    }

    pub(crate) fn open(self) -> Result<UniversalEvent, String> {
        Ok(UniversalEvent {
            event_id: self.event_id,
            sequence: self.sequence,
            time: self.time,
            session_id: self.session_id,
            native_session_id: self.native_session_id,
            origin: Origin::read(self.source, self.synthetic),
            data: EventData::read(self.kind, self.data)?,
            raw: self.raw.filter(|raw| raw.get() != "null").map(RawJson::from),
        })
    }
}

impl<'de> Deserialize<'de> for UniversalEvent {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Envelope::deserialize(deserializer)?.open().map_err(de::Error::custom)
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
        let EventData::QuestionResolved(resolved) = EventData::question_resolved(question, Answer::Rejected(None))
        else {
            panic!("not resolved")
        };
        assert_eq!(resolved.status, QuestionStatus::Rejected);
    }

    #[test]
    fn data_that_does_not_fit_its_type_is_refused_with_the_reason() {
        let error = serde_json::from_str::<UniversalEvent>(&event(r#""type":"turn.ended","data":{"status":"soon"}"#));
        assert!(error.unwrap_err().to_string().contains("data of turn.ended"));
    }
}
