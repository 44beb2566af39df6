//! The text of an event that can be searched.

use std::borrow::Cow;
use std::collections::HashSet;

use interlingua_schema::{ContentPart, EventData, Item, UniversalEvent};

use super::MAX_QUERY_WORDS;
use super::words::words;

/// Size of a document up to which a long text is not divided.
const MAX_DOCUMENT_BYTES: usize = 32 * 1024;

/// The searchable text of an event; empty if it has none.
///
/// Events that repeat text of others have none: an item is searched when it is complete, not its deltas.
pub(crate) fn searchable_text(event: &UniversalEvent) -> String {
    let mut text = String::new();
    match &event.data {
        EventData::ItemCompleted(item) => push_item(&mut text, &item.item),
        EventData::PermissionRequested(permission) => push(&mut text, &permission.action),
        EventData::QuestionRequested(question) => {
            push(&mut text, &question.prompt);
            question.options.iter().for_each(|option| push(&mut text, option));
        }
        EventData::QuestionResolved(question) => push(&mut text, question.response.as_deref().unwrap_or_default()),
        EventData::Error(error) => push(&mut text, &error.message),
        EventData::SessionStarted(_)
        | EventData::SessionEnded(_)
        | EventData::TurnStarted(_)
        | EventData::TurnEnded(_)
        | EventData::ItemStarted(_)
        | EventData::ItemDelta(_)
        | EventData::PermissionResolved(_)
        | EventData::AgentUnparsed(_)
        | EventData::Unknown(_) => {}
    }
    text
}

fn push_item(text: &mut String, item: &Item) {
    for part in &item.content {
        match part {
            ContentPart::Text { text: part } | ContentPart::Reasoning { text: part, .. } => push(text, part),
            ContentPart::Json { json } => push_strings(text, json),
            ContentPart::ToolCall { name, arguments, title, .. } => {
                push(text, title.as_deref().unwrap_or(name));
                match serde_json::from_str(arguments) {
                    Ok(arguments) => push_strings(text, &arguments),
                    Err(_) => push(text, arguments),
                }
            }
            ContentPart::ToolResult { output, .. } => push(text, output),
            ContentPart::FileRef { path, diff, .. } => {
                push(text, path);
                push(text, diff.as_deref().unwrap_or_default());
            }
            ContentPart::Image { path, .. } if !path.starts_with("data:") => push(text, path),
            ContentPart::Status { detail, .. } => push(text, detail.as_deref().unwrap_or_default()),
            ContentPart::Image { .. } | ContentPart::Unknown(_) => {}
        }
    }
}

/// Adds the strings of a JSON value, without the names of fields.
fn push_strings(text: &mut String, json: &serde_json::Value) {
    match json {
        serde_json::Value::String(string) => push(text, string),
        serde_json::Value::Array(values) => values.iter().for_each(|value| push_strings(text, value)),
        serde_json::Value::Object(fields) => fields.values().for_each(|value| push_strings(text, value)),
        serde_json::Value::Null | serde_json::Value::Bool(_) | serde_json::Value::Number(_) => {}
    }
}

fn push(text: &mut String, part: &str) {
    if !part.is_empty() {
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(part);
    }
}

/// The end of the last character before or at an offset.
pub(crate) fn char_boundary(text: &str, offset: usize) -> usize {
    (0..=offset).rev().find(|offset| text.is_char_boundary(*offset)).unwrap_or_default()
}

/// Divides a text into documents, between words where possible.
pub(crate) fn divide(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let mut end = rest.len().min(MAX_DOCUMENT_BYTES);
        if end < rest.len() {
            end = char_boundary(rest, end);
            let after_space = rest[..end].rfind(char::is_whitespace).map(|space| space + 1);
            // A long run without spaces is divided anywhere.
            end = after_space.filter(|after| *after > MAX_DOCUMENT_BYTES / 2).unwrap_or(end);
            end = char_boundary(rest, end);
        }
        let (document, tail) = rest.split_at(end);
        rest = tail;
        Some(document)
    })
}

/// The text of a document as it is indexed: with the first words of the next document of the event, so that words which
/// follow each other are found.
pub(crate) fn with_overlap<'a>(document: &'a str, next: Option<&str>) -> Cow<'a, str> {
    let Some(next) = next else { return Cow::Borrowed(document) };
    let overlap = words(next).nth(MAX_QUERY_WORDS - 2).map_or(next.len(), |(offset, word)| offset + word.len());
    Cow::Owned(format!("{document} {}", &next[..overlap]))
}

/// The different words of documents, in the order in which they first occur.
pub(crate) fn different_words(documents: &[&str]) -> String {
    let mut seen = HashSet::new();
    let all = documents.iter().flat_map(|document| words(document));
    let different: Vec<&str> = all.filter_map(|(_, word)| seen.insert(word).then_some(word)).collect();
    different.join(" ")
}

#[cfg(test)]
mod tests {
    use interlingua_schema::{ItemKind, ItemOutcome, Origin, Timestamp};

    use super::*;

    #[test]
    fn a_completed_item_is_searched_and_its_deltas_are_not() {
        let mut item = Item::new("itm_1", ItemKind::Message);
        item.content.push(ContentPart::text("said"));
        item.content.push(ContentPart::ToolCall {
            name: "bash".to_owned(),
            arguments: r#"{"command":"make \"all\"","timeout":7,"steps":["one"]}"#.to_owned(),
            call_id: "c".to_owned(),
            tool_kind: None,
            title: Some("Run make".to_owned()),
            input: None,
        });
        item.content.push(ContentPart::Image { path: "data:image/png;base64,AAAA".to_owned(), mime: None });
        let text = |data| searchable_text(&UniversalEvent::new("evt", 1, Timestamp::EPOCH, "s", Origin::AGENT, data));
        let completed = text(EventData::item_completed(item.clone(), ItemOutcome::Completed));
        assert_eq!(completed, "said\nRun make\nmake \"all\"\none");
        assert_eq!(text(EventData::item_started(item)), "");
    }

    #[test]
    fn a_long_text_is_divided_without_losing_anything() {
        for text in
            ["word ".repeat(20_000), "東京".repeat(20_000), "x".repeat(100_000), String::new(), "short".to_owned()]
        {
            let documents: Vec<&str> = divide(&text).collect();
            assert_eq!(documents.concat(), text);
            assert!(documents.iter().all(|document| document.len() <= MAX_DOCUMENT_BYTES));
        }
        assert!(divide(&"word ".repeat(20_000)).all(|document| document.ends_with(' ')));
    }
}
