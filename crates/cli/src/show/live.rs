//! Showing a message while it is said.

use std::io::{self, Write};

use interlingua_schema::{ContentPart, Item, ItemId, ItemStatus, Role};

use super::paint::{Ink, tame};
use super::transcript::{Transcript, indent};

/// A message that is being shown as it comes.
#[derive(Debug)]
pub(super) struct Speaking {
    item: ItemId,
    depth: usize,
    /// It is reasoning, which looks different and has no speaker.
    thinks: bool,
    /// The cursor stands at the beginning of a line.
    at_start: bool,
}

impl<W: Write> Transcript<W> {
    /// Shows the next piece of a message. While one message is shown, the pieces of others wait for their end.
    pub(super) fn speak(&mut self, item: &ItemId, role: &Role, delta: &str, is_first: bool) -> io::Result<()> {
        match &self.speaking {
            Some(speaking) if speaking.item == *item => {}
            Some(_) => return Ok(()),
            None if !is_first => return Ok(()),
            None => {
                let depth = self.depths.get(item).copied().unwrap_or(0);
                let thinks = self.thoughts.contains(item);
                if !thinks {
                    self.speaker(depth, role, "")?;
                }
                let depth = if thinks { depth } else { depth + 1 };
                self.speaking = Some(Speaking { item: item.clone(), depth, thinks, at_start: true });
            }
        }
        let Some(speaking) = &mut self.speaking else { return Ok(()) };
        for piece in tame(delta).split_inclusive('\n') {
            let (text, ends) = piece.strip_suffix('\n').map_or((piece, false), |text| (text, true));
            if speaking.at_start && !text.is_empty() {
                write!(self.out, "{}", indent(speaking.depth))?;
            }
            if speaking.thinks {
                write!(self.out, "{}", self.paint.ink(Ink::Thought, text))?;
            } else {
                write!(self.out, "{text}")?;
            }
            if ends {
                writeln!(self.out)?;
            }
            speaking.at_start = ends || (speaking.at_start && text.is_empty());
        }
        self.out.flush()
    }

    /// Ends the line of a message that is being shown, because something else is to be shown. What follows of the
    /// message begins a new line.
    pub(super) fn fall_silent(&mut self) -> io::Result<()> {
        if let Some(speaking) = &mut self.speaking
            && !speaking.at_start
        {
            speaking.at_start = true;
            writeln!(self.out)?;
        }
        Ok(())
    }

    /// Whether the words of an item that is done have been shown already.
    pub(super) fn has_spoken(&mut self, item: &Item) -> io::Result<bool> {
        self.thoughts.remove(&item.item_id);
        if self.speaking.as_ref().is_none_or(|speaking| speaking.item != item.item_id) {
            return Ok(false);
        }
        self.fall_silent()?;
        let depth = self.speaking.take().map_or(0, |speaking| speaking.depth);
        if item.status == ItemStatus::Failed {
            self.line(depth, Ink::Faint, "(cut off)")?;
        }
        Ok(true)
    }

    /// Notes whether an item that begins is reasoning.
    pub(super) fn note_thought(&mut self, item: &Item) {
        if matches!(item.content.first(), Some(ContentPart::Reasoning { .. })) {
            self.thoughts.insert(item.item_id.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use interlingua_schema::{
        EventData, ItemDelta, ItemKind, ItemOutcome, Origin, StatusLabel, Timestamp, UniversalEvent,
    };

    use super::super::paint::Paint;
    use super::*;

    fn event(data: EventData) -> UniversalEvent {
        UniversalEvent::new("evt", 1, Timestamp::EPOCH, "s", Origin::AGENT, data)
    }

    fn delta(item: &str, text: &str) -> UniversalEvent {
        event(EventData::ItemDelta(ItemDelta::new(item, None, text)))
    }

    #[test]
    fn a_message_is_shown_as_it_comes_and_only_once() {
        let mut out = Vec::new();
        let mut transcript = Transcript::new(&mut out, Paint::plain(), false).live();
        let mut message = Item::new("m", ItemKind::Message);
        message.role = Some(Role::Assistant);
        let mut status = Item::new("x", ItemKind::Status);
        status.content.push(ContentPart::Status { label: StatusLabel::Notice, detail: None });
        transcript.event(&event(EventData::item_started(message.clone()))).unwrap();
        transcript.event(&delta("m", "Hel")).unwrap();
        transcript.event(&delta("m", "lo\n\nyou\u{1b}[2J")).unwrap();
        transcript.event(&event(EventData::item_started(status.clone()))).unwrap();
        transcript.event(&event(EventData::item_completed(status, ItemOutcome::Completed))).unwrap();
        transcript.event(&delta("m", " there")).unwrap();
        message.content.push(ContentPart::text("Hello\n\nyou there"));
        transcript.event(&event(EventData::item_completed(message, ItemOutcome::Completed))).unwrap();
        transcript.finish().unwrap();
        let shown = String::from_utf8(out).unwrap();
        assert_eq!(shown, "── session s ──\nagent:\n  Hello\n\n  you\n· notice\n   there\n");
    }
}
