//! Renders an envelope stream as text for review. `snapshots/expected/README.md` explains the notation.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use interlingua_envelope::EnvelopeLine;
use serde_json::{Map, Value};

use super::quoted;

/// Keys that come first, in this order; the others follow in alphabetical order.
const FIRST_KEYS: [&str; 9] =
    ["event", "tool_name", "kind", "phase", "status", "exit_code", "item_id", "session_id", "thread_id"];
/// Keys whose long values are listed once at the top, with the letter of their short names.
const SHORTENED_KEYS: [(&str, char); 2] = [("session_id", 'S'), ("thread_id", 'T')];

/// Renders an envelope stream: per event one line with its kind and text, and one with its data.
///
/// # Errors
/// If a line cannot be written as JSON.
pub fn render_envelope(lines: impl IntoIterator<Item = EnvelopeLine>) -> serde_json::Result<String> {
    let mut out = EnvelopeText::default();
    for line in lines {
        match serde_json::to_value(&line)? {
            Value::Object(mut fields) => match fields.remove("completion") {
                Some(Value::Object(completion)) => out.write_completion(completion),
                _ => out.write_event(fields),
            },
            other => out.write_line(&other.to_string()),
        }
    }
    Ok(out.finish())
}

#[derive(Default)]
struct EnvelopeText {
    text: String,
    agent: String,
    /// The short name of each long id.
    short_names: BTreeMap<String, String>,
    /// The lines `short name = id`, in the order in which the ids first appear.
    legend: Vec<String>,
}

impl EnvelopeText {
    fn write_event(&mut self, mut fields: Map<String, Value>) {
        let agent = take_text(&mut fields, "agent_kind");
        if agent != self.agent {
            self.write_line(&format!("== agent {agent}"));
            self.agent = agent;
        }
        let headline = format!("{}/{}", take_text(&mut fields, "kind"), take_text(&mut fields, "channel"));
        self.write_block(&headline, fields);
    }

    fn write_completion(&mut self, mut fields: Map<String, Value>) {
        let headline = format!("completion {}", take_text(&mut fields, "status"));
        self.write_block(&headline, fields);
    }

    /// Writes the headline with the texts, then the data, then all other fields.
    fn write_block(&mut self, headline: &str, mut fields: Map<String, Value>) {
        let mut line = headline.to_owned();
        for key in ["message", "text", "final_text"] {
            if let Some(Value::String(text)) = fields.remove(key) {
                let _ = write!(line, " {}", quoted(&text));
            }
        }
        self.write_line(&line);
        match fields.remove("data") {
            Some(Value::Object(mut data)) => {
                let schema = data.remove("schema").map(|schema| format!("{} ", render_plain(&schema)));
                let tool = match data.remove("tool") {
                    Some(Value::Object(tool)) => self.render_pairs(tool),
                    _ => Vec::new(),
                };
                let pairs = [tool, self.render_pairs(data)].concat();
                self.write_line(&format!("     {}{}", schema.unwrap_or_default(), pairs.join(" ")));
            }
            Some(other) => self.write_line(&format!("     data={other}")),
            None => {}
        }
        if !fields.is_empty() {
            let rest = self.render_pairs(fields);
            self.write_line(&format!("     {}", rest.join(" ")));
        }
    }

    /// Renders the fields as `key=value`.
    fn render_pairs(&mut self, fields: Map<String, Value>) -> Vec<String> {
        let rank = |key: &str| FIRST_KEYS.iter().position(|first| *first == key).unwrap_or(FIRST_KEYS.len());
        let mut fields: Vec<(String, Value)> = fields.into_iter().collect();
        fields.sort_by_key(|(key, _)| rank(key));
        fields.into_iter().map(|(key, value)| format!("{key}={}", self.render_value(&key, &value))).collect()
    }

    fn render_value(&mut self, key: &str, value: &Value) -> String {
        let letter = SHORTENED_KEYS.iter().find(|(shortened, _)| *shortened == key).map(|(_, letter)| *letter);
        match (letter, value) {
            (Some(letter), Value::String(id)) => self.short_name(letter, id),
            (_, Value::Object(fields)) => {
                let pairs: Vec<String> =
                    fields.iter().map(|(key, value)| format!("{key}={}", self.render_value(key, value))).collect();
                format!("{{{}}}", pairs.join(" "))
            }
            _ => render_plain(value),
        }
    }

    fn short_name(&mut self, letter: char, id: &str) -> String {
        if let Some(known) = self.short_names.get(id) {
            return known.clone();
        }
        let same_letter = self.short_names.values().filter(|name| name.starts_with(letter)).count();
        let name = format!("{letter}{}", same_letter + 1);
        self.legend.push(format!("{name} = {id}"));
        self.short_names.insert(id.to_owned(), name.clone());
        name
    }

    fn write_line(&mut self, line: &str) {
        let _ = writeln!(self.text, "{line}");
    }

    fn finish(self) -> String {
        format!("{}\n{}", self.legend.join("\n"), self.text)
    }
}

fn take_text(fields: &mut Map<String, Value>, key: &str) -> String {
    fields.remove(key).map(|value| render_plain(&value)).unwrap_or_default()
}

/// Renders a single word without quotes, and anything else as JSON.
fn render_plain(value: &Value) -> String {
    match value {
        Value::String(word)
            if !word.is_empty() && !word.contains(|c: char| c.is_whitespace() || "\"={}".contains(c)) =>
        {
            word.clone()
        }
        Value::String(text) => quoted(text),
        other => other.to_string(),
    }
}
