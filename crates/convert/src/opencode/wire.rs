//! The forms of a line: an event, an event wrapped by `/global/event`, an event of `/api/event`.

use std::borrow::Cow;
use std::sync::LazyLock;

use interlingua_native::opencode::Event;
use interlingua_native::{DecodeError, Losses, Native as _};
use interlingua_schema::Timestamp;
use memchr::memmem::Finder;
use serde::Deserialize;
use serde_json::value::RawValue;

// Every line is searched for these, most of them to the end.
static PAYLOAD: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("\"payload\""));
static PROPERTIES: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("\"properties\""));

/// A parsed line.
pub(super) struct Line<'a> {
    /// The event; `None` for a `sync` duplicate.
    pub(super) event: Option<Event>,
    /// Losses of the decoding.
    pub(super) losses: Losses,
    /// JSON text of the event, with `properties`.
    pub(super) text: Cow<'a, str>,
}

/// Reason why a line cannot be parsed, and the type of its event if that is known.
pub(super) struct ParseError {
    pub(super) reason: String,
    pub(super) tag: Option<String>,
}

impl From<DecodeError> for ParseError {
    fn from(error: DecodeError) -> Self {
        let reason = error.to_string();
        let tag = match error {
            DecodeError::Mismatch { tag, .. } if !tag.is_empty() => Some(tag),
            _ => None,
        };
        Self { reason, tag }
    }
}

/// Wrapper of `/global/event`, which adds the directory of the event.
#[derive(Deserialize)]
struct Wrapper<'a> {
    #[serde(borrow)]
    payload: &'a RawValue,
}

/// Event of `/api/event`, which has `data` instead of `properties`.
#[derive(Deserialize)]
struct V2Event<'a> {
    #[serde(rename = "type", borrow)]
    tag: Cow<'a, str>,
    #[serde(borrow)]
    data: &'a RawValue,
}

pub(super) fn parse_line(line: &str) -> Result<Line<'_>, ParseError> {
    if PAYLOAD.find(line.as_bytes()).is_some()
        && let Ok(wrapper) = serde_json::from_str::<Wrapper<'_>>(line)
    {
        return parse_event(wrapper.payload.get());
    }
    parse_event(line)
}

fn parse_event(text: &str) -> Result<Line<'_>, ParseError> {
    let text = with_properties(text);
    let decoded = Event::decode(&text)?;
    let event = match decoded.value {
        Event::Unknown { tag, .. } if tag == "sync" => None,
        event => Some(event),
    };
    Ok(Line { event, losses: decoded.losses, text })
}

/// The event with `properties` instead of `data`.
fn with_properties(text: &str) -> Cow<'_, str> {
    if PROPERTIES.find(text.as_bytes()).is_some() {
        return Cow::Borrowed(text);
    }
    match serde_json::from_str::<V2Event<'_>>(text) {
        Ok(form) => {
            let tag = serde_json::Value::from(form.tag.as_ref());
            Cow::Owned(format!(r#"{{"type":{tag},"properties":{}}}"#, form.data.get()))
        }
        Err(_) => Cow::Borrowed(text),
    }
}

/// Timestamp of a `session.next.*` event: a number on `/api/event`, a text on the other streams.
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

/// Number of bits of the time in milliseconds that an event id contains.
const ID_TIME_BITS: u32 = 36;
/// Longest plausible delay of a retry.
const MAX_RETRY_DELAY_MS: i64 = 24 * 60 * 60 * 1000;

/// Milliseconds from the time of an event to `next`. The time is only in the id of the event: after `evt_` come twelve
/// hexadecimal digits, which are the low bits of the time in milliseconds and a counter of twelve bits.
pub(super) fn retry_delay(text: &str, next: i64) -> Option<u64> {
    #[derive(Deserialize)]
    struct Event<'a> {
        #[serde(borrow)]
        id: Cow<'a, str>,
    }
    let event: Event<'_> = serde_json::from_str(text).ok()?;
    let sent_at = i64::from_str_radix(event.id.strip_prefix("evt_")?.get(..12)?, 16).ok()? >> 12;
    let delay = (next - sent_at).rem_euclid(1 << ID_TIME_BITS);
    (delay <= MAX_RETRY_DELAY_MS).then(|| delay.unsigned_abs())
}

/// Id of the session that an event is about, wherever the event has it.
pub(super) fn session_id(text: &str) -> Option<String> {
    #[derive(Deserialize)]
    struct Event {
        properties: Properties,
    }
    #[derive(Deserialize)]
    struct Properties {
        #[serde(rename = "sessionID")]
        session: Option<String>,
        info: Option<Info>,
        part: Option<Info>,
    }
    #[derive(Deserialize)]
    struct Info {
        #[serde(rename = "sessionID")]
        session: Option<String>,
        id: Option<String>,
    }
    let Properties { session, info, part } = serde_json::from_str::<Event>(text).ok()?.properties;
    let info_session = info.and_then(|info| info.session.or(info.id));
    session.or(info_session).or_else(|| part?.session)
}

/// Delta in `message.part.updated`, up to 1.1.
pub(super) fn legacy_delta(text: &str) -> Option<String> {
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
