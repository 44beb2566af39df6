//! Showing a message while it streams.

use std::io::{self, Write};

use interlingua_schema::{ContentPart, Item, ItemId, ItemStatus, Role};
use interlingua_transcript::sanitize;

use super::style::TextRole;
use super::transcript::{Transcript, indent};

/// The message that is shown while it streams.
#[derive(Debug)]
pub(super) struct LiveMessage {
    item: ItemId,
    depth: usize,
    /// Whether it is reasoning, which has another style and no role line.
    is_reasoning: bool,
    /// Whether the cursor is at the start of a line.
    at_line_start: bool,
}

impl<W: Write> Transcript<W> {
    /// Shows the next delta of a message. Only one message is shown live; others are shown when they complete.
    pub(super) fn write_delta(&mut self, item: &ItemId, role: &Role, delta: &str, is_first: bool) -> io::Result<()> {
        match &self.live_message {
            Some(message) if message.item == *item => {}
            Some(_) => return Ok(()),
            None if !is_first => return Ok(()),
            None => {
                let depth = self.depths.get(item).copied().unwrap_or(0);
                let is_reasoning = self.reasoning_items.contains(item);
                if !is_reasoning {
                    self.write_role(depth, role, "")?;
                }
                let depth = if is_reasoning { depth } else { depth + 1 };
                let message = LiveMessage { item: item.clone(), depth, is_reasoning, at_line_start: true };
                self.live_message = Some(message);
            }
        }
        let Some(message) = &mut self.live_message else { return Ok(()) };
        for line in sanitize(delta).split_inclusive('\n') {
            let (text, has_line_break) = line.strip_suffix('\n').map_or((line, false), |text| (text, true));
            if message.at_line_start && !text.is_empty() {
                write!(self.out, "{}", indent(message.depth))?;
            }
            if message.is_reasoning {
                write!(self.out, "{}", self.styles.apply(TextRole::Reasoning, text))?;
            } else {
                write!(self.out, "{text}")?;
            }
            if has_line_break {
                writeln!(self.out)?;
            }
            message.at_line_start = has_line_break || (message.at_line_start && text.is_empty());
        }
        Ok(())
    }

    /// Ends the current line of the live message, before something else is shown. The rest of the message continues on
    /// a new line.
    pub(super) fn end_live_line(&mut self) -> io::Result<()> {
        if let Some(message) = &mut self.live_message
            && !message.at_line_start
        {
            message.at_line_start = true;
            writeln!(self.out)?;
        }
        Ok(())
    }

    /// Ends the live message if it is this completed item. Returns whether its text has been shown.
    pub(super) fn finish_live_message(&mut self, item: &Item) -> io::Result<bool> {
        self.reasoning_items.remove(&item.item_id);
        if self.live_message.as_ref().is_none_or(|message| message.item != item.item_id) {
            return Ok(false);
        }
        self.end_live_line()?;
        let depth = self.live_message.take().map_or(0, |message| message.depth);
        if item.status == ItemStatus::Failed {
            self.write_line(depth, TextRole::Dim, "(cut off)")?;
        }
        Ok(true)
    }

    /// Remembers a started item if it is reasoning.
    pub(super) fn track_reasoning(&mut self, item: &Item) {
        if matches!(item.content.first(), Some(ContentPart::Reasoning { .. })) {
            self.reasoning_items.insert(item.item_id.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use interlingua_schema::{
        EventData, ItemDelta, ItemKind, ItemOutcome, Origin, StatusLabel, Timestamp, UniversalEvent,
    };

    use super::super::style::Styles;
    use super::*;

    fn event(data: EventData) -> UniversalEvent {
        UniversalEvent::new("evt", 1, Timestamp::EPOCH, "s", Origin::AGENT, data)
    }

    fn delta(item: &str, text: &str) -> UniversalEvent {
        event(EventData::ItemDelta(ItemDelta::new(item, None, text)))
    }

    #[test]
    fn a_live_message_is_shown_once() {
        let mut out = Vec::new();
        let mut transcript = Transcript::new(&mut out, Styles::plain(), false).live();
        let mut message = Item::new("m", ItemKind::Message);
        message.role = Some(Role::Assistant);
        let mut status = Item::new("x", ItemKind::Status);
        status.content.push(ContentPart::Status { label: StatusLabel::Notice, detail: None });
        transcript.write_event(&event(EventData::item_started(message.clone()))).unwrap();
        transcript.write_event(&delta("m", "Hel")).unwrap();
        transcript.write_event(&delta("m", "lo\n\nyou\u{1b}[2J")).unwrap();
        transcript.write_event(&event(EventData::item_started(status.clone()))).unwrap();
        transcript.write_event(&event(EventData::item_completed(status, ItemOutcome::Completed))).unwrap();
        transcript.write_event(&delta("m", " there")).unwrap();
        message.content.push(ContentPart::text("Hello\n\nyou there"));
        transcript.write_event(&event(EventData::item_completed(message, ItemOutcome::Completed))).unwrap();
        transcript.finish().unwrap();
        let shown = String::from_utf8(out).unwrap();
        assert_eq!(shown, "── session s ──\nagent:\n  Hello\n\n  you\n· notice\n   there\n");
    }
}
