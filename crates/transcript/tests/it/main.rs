//! Transcripts of recordings and of hostile events.

mod hostile;
mod recordings;

use interlingua_schema::UniversalEvent;
use interlingua_transcript::{TranscriptFormat, TranscriptWriter};

/// Writes the transcript of these events.
fn render(events: &[UniversalEvent], format: TranscriptFormat) -> String {
    let mut transcript = TranscriptWriter::new(Vec::new(), format);
    for event in events {
        transcript.write_event(event).unwrap();
    }
    String::from_utf8(transcript.finish().unwrap()).unwrap()
}

/// Checks that every tag is closed, and that there are only expected elements and attributes.
fn check_markup(html: &str) {
    const VOID: [&str; 6] = ["!doctype", "meta", "img", "br", "hr", "input"];
    const ALLOWED: [&str; 42] = [
        "html",
        "head",
        "title",
        "style",
        "body",
        "main",
        "footer",
        "h1",
        "h2",
        "h3",
        "h4",
        "h5",
        "h6",
        "div",
        "p",
        "pre",
        "span",
        "code",
        "details",
        "summary",
        "article",
        "dl",
        "dt",
        "dd",
        "ul",
        "ol",
        "li",
        "a",
        "strong",
        "em",
        "del",
        "blockquote",
        "table",
        "thead",
        "tbody",
        "tr",
        "th",
        "td",
        "!doctype",
        "meta",
        "img",
        "br",
    ];
    let mut open = Vec::new();
    for (position, _) in html.match_indices('<') {
        let end = position + html[position..].find('>').expect("a tag ends");
        let tag = &html[position + 1..end];
        let name = tag.trim_start_matches('/').split([' ', '/']).next().unwrap().to_ascii_lowercase();
        assert!(ALLOWED.contains(&name.as_str()) || matches!(name.as_str(), "hr" | "input"), "<{tag}>");
        for attribute in [" on", " style=", "javascript:", " srcdoc", " formaction"] {
            assert!(!tag.to_ascii_lowercase().contains(attribute) || tag.contains("href=\"http"), "<{tag}>");
        }
        if tag.starts_with('/') {
            assert_eq!(open.pop().as_deref(), Some(name.as_str()), "</{name}> closes another element");
        } else if !VOID.contains(&name.as_str()) {
            open.push(name);
        }
    }
    assert!(open.is_empty(), "not closed: {open:?}");
}
