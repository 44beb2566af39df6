//! The shapes a line may have: an event, one wrapped by `/global/event`, one as `/api/event` tells it.

use std::borrow::Cow;
use std::sync::LazyLock;

use interlingua_native::opencode::Event;
use interlingua_native::{DecodeError, Losses, Native as _};
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
    /// What it lost in decoding.
    pub(super) losses: Losses,
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
            DecodeError::Mismatch { tag, .. } if !tag.is_empty() => Some(tag),
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
    let decoded = Event::decode(&text)?;
    let event = match decoded.value {
        Event::Unknown { tag, .. } if tag == "sync" => None,
        event => Some(event),
    };
    Ok(Line { event, losses: decoded.losses, text })
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

/// How many bits of the time, in milliseconds, the id of an event has.
const ID_TIME_BITS: u32 = 36;
/// The longest wait that is believed.
const MAX_RETRY_DELAY_MS: i64 = 24 * 60 * 60 * 1000;

/// How long it is until `next`, a time in milliseconds, from the time of an event. Only its id tells that: after `evt_`
/// it has twelve hexadecimal digits, the low bits of the time and a counter of twelve bits.
pub(super) fn retry_delay(text: &str, next: i64) -> Option<u64> {
    #[derive(Deserialize)]
    struct Event<'a> {
        #[serde(borrow)]
        id: Cow<'a, str>,
    }
    let event: Event<'_> = serde_json::from_str(text).ok()?;
    let said = i64::from_str_radix(event.id.strip_prefix("evt_")?.get(..12)?, 16).ok()? >> 12;
    let delay = (next - said).rem_euclid(1 << ID_TIME_BITS);
    (delay <= MAX_RETRY_DELAY_MS).then(|| delay.unsigned_abs())
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
