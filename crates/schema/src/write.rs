//! Writing events fast.
//!
//! Most events are deltas, and most of a delta is its envelope: ids, names and a time that need no escaping. This
//! writes the same bytes as serde does, several times as fast.

use std::io::{self, Write};

use crate::{EventData, ItemDelta, NativeItemId, NativeSessionId, Source, UniversalEvent};

impl UniversalEvent {
    /// Appends the event as one line of JSON, without the line break: the same bytes as `serde_json::to_writer`.
    ///
    /// # Errors
    ///
    /// Never in practice: memory does not fail to be written, and an event has only string keys.
    pub fn write_json(&self, out: &mut Vec<u8>) -> io::Result<()> {
        out.extend_from_slice(b"{\"event_id\":");
        string(out, self.event_id.as_str())?;
        write!(out, ",\"sequence\":{}", self.sequence)?;
        out.extend_from_slice(b",\"time\":\"");
        out.extend_from_slice(&self.time.write());
        out.extend_from_slice(b"\",\"session_id\":");
        string(out, self.session_id.as_str())?;
        out.extend_from_slice(b",\"native_session_id\":");
        optional(out, self.native_session_id.as_ref().map(NativeSessionId::as_str))?;
        out.extend_from_slice(match self.origin.source() {
            Source::Agent => b",\"source\":\"agent\"",
            Source::Daemon => b",\"source\":\"daemon\"",
        });
        out.extend_from_slice(if self.origin.is_synthetic() {
            b",\"synthetic\":true,\"type\":"
        } else {
            b",\"synthetic\":false,\"type\":"
        });
        string(out, self.data.kind())?;
        out.extend_from_slice(b",\"data\":");
        self.data.write_json(out)?;
        out.extend_from_slice(b",\"raw\":");
        out.extend_from_slice(self.raw.as_ref().map_or(b"null", |raw| raw.as_str().as_bytes()));
        out.push(b'}');
        Ok(())
    }
}

impl EventData {
    fn write_json(&self, out: &mut Vec<u8>) -> io::Result<()> {
        match self {
            Self::ItemDelta(data) => return data.write_json(out),
            Self::SessionStarted(data) => serde_json::to_writer(out, data),
            Self::SessionEnded(data) => serde_json::to_writer(out, data),
            Self::TurnStarted(data) => serde_json::to_writer(out, data),
            Self::TurnEnded(data) => serde_json::to_writer(out, data),
            Self::ItemStarted(data) | Self::ItemCompleted(data) => serde_json::to_writer(out, data),
            Self::PermissionRequested(data) | Self::PermissionResolved(data) => serde_json::to_writer(out, data),
            Self::QuestionRequested(data) | Self::QuestionResolved(data) => serde_json::to_writer(out, data),
            Self::Error(data) => serde_json::to_writer(out, data),
            Self::AgentUnparsed(data) => serde_json::to_writer(out, data),
            Self::Unknown(event) => serde_json::to_writer(out, &event.data),
        }?;
        Ok(())
    }
}

impl ItemDelta {
    fn write_json(&self, out: &mut Vec<u8>) -> io::Result<()> {
        out.extend_from_slice(b"{\"item_id\":");
        string(out, self.item_id.as_str())?;
        out.extend_from_slice(b",\"native_item_id\":");
        optional(out, self.native_item_id.as_ref().map(NativeItemId::as_str))?;
        out.extend_from_slice(b",\"delta\":");
        string(out, &self.delta)?;
        out.push(b'}');
        Ok(())
    }
}

fn optional(out: &mut Vec<u8>, text: Option<&str>) -> io::Result<()> {
    if let Some(text) = text {
        return string(out, text);
    }
    out.extend_from_slice(b"null");
    Ok(())
}

/// Writes a JSON string; one without anything to escape is copied as it is.
fn string(out: &mut Vec<u8>, text: &str) -> io::Result<()> {
    // Counted rather than searched: without a way out of the loop the compiler can look at many bytes at once.
    let escapes = text.bytes().filter(|byte| *byte < 0x20 || matches!(byte, b'"' | b'\\')).count();
    if escapes > 0 {
        return Ok(serde_json::to_writer(out, text)?);
    }
    out.push(b'"');
    out.extend_from_slice(text.as_bytes());
    out.push(b'"');
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ContentPart, Item, ItemKind, Origin, Outcome, RawJson, Timestamp};

    #[test]
    fn the_bytes_are_those_of_serde() {
        let mut item = Item::new("itm_1", ItemKind::Message);
        item.content.push(ContentPart::text("a \"quoted\" line\n"));
        let delta = |text: &str, native: Option<&str>| {
            EventData::ItemDelta(ItemDelta {
                item_id: "itm_1".into(),
                native_item_id: native.map(Into::into),
                delta: text.into(),
            })
        };
        for data in [
            delta("plain ünïcode", None),
            delta("\"\\\u{0}\u{7f}\n\t", Some("m\"1")),
            EventData::item_started(item.clone()),
            EventData::item_completed(item, Outcome::Failed),
        ] {
            for origin in [Origin::AGENT, Origin::DAEMON] {
                let mut event = UniversalEvent::new("evt_1", 42, Timestamp::EPOCH, "s\\1", origin, data.clone());
                let check = |event: &UniversalEvent| {
                    let mut written = Vec::new();
                    event.write_json(&mut written).unwrap();
                    assert_eq!(String::from_utf8(written).unwrap(), serde_json::to_string(event).unwrap());
                };
                check(&event);
                event.native_session_id = Some("native".into());
                event.raw = Some(RawJson::from_payload("{\"a\" : 1.0}"));
                check(&event);
            }
        }
    }
}
