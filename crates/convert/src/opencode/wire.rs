//! The shapes a line may have: an event, one wrapped by `/global/event`, one as `/api/event` tells it.

use std::borrow::Cow;
use std::sync::LazyLock;

use interlingua_native::opencode::Event;
use interlingua_native::{DecodeError, Native as _};
use interlingua_schema::Timestamp;
use memchr::memmem::Finder;
use serde::Deserialize;
use serde_json::value::RawValue;

// Every line is looked through for these, most of them to the end.
static PAYLOAD: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("\"payload\""));
static PROPERTIES: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("\"properties\""));

/// A line that was read.
pub(super) struct Line<'a> {
    /// What it says; nothing if it is a duplicate for stores.
    pub(super) event: Option<Event>,
    /// The event's own text.
    pub(super) text: Cow<'a, str>,
}

/// Why a line could not be read.
pub(super) struct Unreadable {
    pub(super) reason: String,
    pub(super) tag: Option<String>,
}

impl From<DecodeError> for Unreadable {
    fn from(error: DecodeError) -> Self {
        let reason = error.to_string();
        let tag = match error {
            DecodeError::Misfit { tag, .. } if !tag.is_empty() => Some(tag),
            _ => None,
        };
        Self { reason, tag }
    }
}

/// `/global/event` tells of which directory an event is.
#[derive(Deserialize)]
struct Wrapper<'a> {
    #[serde(borrow)]
    payload: &'a RawValue,
}

/// `/api/event` says `data` where the others say `properties`.
#[derive(Deserialize)]
struct DataForm<'a> {
    #[serde(rename = "type", borrow)]
    tag: Cow<'a, str>,
    #[serde(borrow)]
    data: &'a RawValue,
}

pub(super) fn read(line: &str) -> Result<Line<'_>, Unreadable> {
    if PAYLOAD.find(line.as_bytes()).is_some()
        && let Ok(wrapper) = serde_json::from_str::<Wrapper<'_>>(line)
    {
        return read_event(wrapper.payload.get());
    }
    read_event(line)
}

fn read_event(text: &str) -> Result<Line<'_>, Unreadable> {
    let text = with_properties(text);
    let event = match Event::decode(&text)?.value {
        Event::Unknown { tag, .. } if tag == "sync" => None,
        event => Some(event),
    };
    Ok(Line { event, text })
}

/// The event in the form that has `properties`.
fn with_properties(text: &str) -> Cow<'_, str> {
    if PROPERTIES.find(text.as_bytes()).is_some() {
        return Cow::Borrowed(text);
    }
    match serde_json::from_str::<DataForm<'_>>(text) {
        Ok(form) => {
            let tag = serde_json::Value::from(form.tag.as_ref());
            Cow::Owned(format!(r#"{{"type":{tag},"properties":{}}}"#, form.data.get()))
        }
        Err(_) => Cow::Borrowed(text),
    }
}

/// The time of an event of the v2 API: a number, or a text on the streams of the older one.
pub(super) fn timestamp(text: &str) -> Option<Timestamp> {
    #[derive(Deserialize)]
    struct Event<'a> {
        #[serde(borrow)]
        properties: Properties<'a>,
    }
    #[derive(Deserialize)]
    struct Properties<'a> {
        #[serde(borrow)]
        timestamp: &'a RawValue,
    }
    let raw = serde_json::from_str::<Event<'_>>(text).ok()?.properties.timestamp.get();
    match raw.parse() {
        Ok(millis) => Some(Timestamp::from_millis(millis)),
        Err(_) => raw.trim_matches('"').parse().ok(),
    }
}

/// The session that an event is about, wherever it says so.
pub(super) fn session(text: &str) -> Option<String> {
    #[derive(Deserialize)]
    struct Event {
        properties: Properties,
    }
    #[derive(Deserialize)]
    struct Properties {
        #[serde(rename = "sessionID")]
        session: Option<String>,
        info: Option<Named>,
        part: Option<Named>,
    }
    #[derive(Deserialize)]
    struct Named {
        #[serde(rename = "sessionID")]
        session: Option<String>,
        id: Option<String>,
    }
    let Properties { session, info, part } = serde_json::from_str::<Event>(text).ok()?.properties;
    let of_info = info.and_then(|info| info.session.or(info.id));
    session.or(of_info).or_else(|| part?.session)
}

/// What rides on `message.part.updated` up to version 1.1: the words that are new in the part.
pub(super) fn riding_delta(text: &str) -> Option<String> {
    #[derive(Deserialize)]
    struct Event {
        properties: Properties,
    }
    #[derive(Deserialize)]
    struct Properties {
        delta: Option<String>,
    }
    serde_json::from_str::<Event>(text).ok()?.properties.delta
}
