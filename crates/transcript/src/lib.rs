//! Transcripts of universal events for people, as HTML or Markdown.
//!
//! A [`TranscriptWriter`] takes events one by one. It first folds them into entries: a message, a tool call with its
//! result and everything that a sub-agent did below it, an answered request. An entry is written as soon as it and all
//! entries before it are complete, so that memory holds only what is open, however long the session is.
//!
//! Everything in an event is hostile: it may come from a model, a web page or a file that the agent has read. Text is
//! escaped, escape sequences are removed and characters that reorder text are shown by their number. Markdown is
//! rendered with raw HTML as text, and links lead only to `http`, `https` and `mailto` addresses. The HTML has no
//! script, loads nothing, and forbids both by its own content security policy.
//!
//! ```
//! use interlingua_schema::{EventData, Item, ItemKind, ItemOutcome, ContentPart, Origin, Timestamp, UniversalEvent};
//! use interlingua_transcript::{TranscriptFormat, TranscriptWriter};
//!
//! let mut item = Item::new("itm_1", ItemKind::Message);
//! item.content.push(ContentPart::text("1 < 2, **always** <script>"));
//! let data = EventData::item_completed(item, ItemOutcome::Completed);
//! let event = UniversalEvent::new("evt_1", 1, Timestamp::EPOCH, "s", Origin::AGENT, data);
//!
//! let mut transcript = TranscriptWriter::new(Vec::new(), TranscriptFormat::Html);
//! transcript.write_event(&event)?;
//! let html = String::from_utf8(transcript.finish()?)?;
//! assert!(html.contains("1 &lt; 2, <strong>always</strong> &lt;script&gt;"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod commonmark;
mod embedded;
mod entry;
mod fold;
mod html;
mod markdown;
mod text;
mod writer;

pub use text::{sanitize, sanitize_line};
pub use writer::{TranscriptFormat, TranscriptWriter};
