//! JSON objects of names and numbers, written down as they are told.
//!
//! The `data` of every event that a projector makes goes through here, and there is no way to put in a text that is neither
//! ours nor a [`Name`].

use interlingua_schema::Usage;
use serde::Serialize;

use crate::Name;
use crate::bounds::Data;

/// An object that is being written. What has no value is left out.
#[derive(Debug)]
pub(crate) struct Object {
    json: Vec<u8>,
}

impl Object {
    pub(crate) fn new() -> Self {
        // Nearly every object fits.
        let mut json = Vec::with_capacity(448);
        json.push(b'{');
        Self { json }
    }

    /// The object, bounded.
    pub(crate) fn finish(mut self) -> Data {
        self.json.push(b'}');
        Data::written(self.json)
    }

    fn key(&mut self, key: &'static str) {
        if !self.json.ends_with(b"{") {
            self.json.push(b',');
        }
        self.json.push(b'"');
        self.json.extend_from_slice(key.as_bytes());
        self.json.extend_from_slice(b"\":");
    }

    /// Text that needs no escaping.
    fn plain(&mut self, text: &str) {
        self.json.push(b'"');
        self.json.extend_from_slice(text.as_bytes());
        self.json.push(b'"');
    }

    /// Begins an object inside this one.
    pub(crate) fn open(&mut self, key: &'static str) {
        self.key(key);
        self.json.push(b'{');
    }

    /// Ends an object inside this one.
    pub(crate) fn close(&mut self) {
        self.json.push(b'}');
    }

    pub(crate) fn name(&mut self, key: &'static str, name: Option<&Name>) {
        if let Some(name) = name {
            self.key(key);
            self.plain(name.as_str());
        }
    }

    /// A name, or null.
    pub(crate) fn name_or_null(&mut self, key: &'static str, name: Option<&Name>) {
        self.key(key);
        match name {
            Some(name) => self.plain(name.as_str()),
            None => self.json.extend_from_slice(b"null"),
        }
    }

    /// A text from outside, if it is a name.
    pub(crate) fn text(&mut self, key: &'static str, text: Option<&str>) {
        if let Some(text) = text.filter(|text| Name::fits(text)) {
            self.key(key);
            self.plain(text);
        }
    }

    /// The wire's word for a value of a small enum. An open enum may hold any text, so the word must be a name.
    pub(crate) fn word(&mut self, key: &'static str, value: Option<&impl Serialize>) {
        let Some(value) = value else { return };
        let before = self.json.len();
        self.key(key);
        let start = self.json.len();
        let written = serde_json::to_writer(&mut self.json, value).is_ok();
        let word = match &self.json[start..] {
            [b'"', word @ .., b'"'] if written => std::str::from_utf8(word).ok(),
            _ => None,
        };
        if !word.is_some_and(Name::fits) {
            self.json.truncate(before);
        }
    }

    pub(crate) fn number<N: Serialize + Into<i128>>(&mut self, key: &'static str, number: Option<N>) {
        if let Some(number) = number {
            self.key(key);
            // Memory does not fail to be written, and a whole number is JSON.
            let _ = serde_json::to_writer(&mut self.json, &number);
        }
    }

    /// A number, or null.
    pub(crate) fn number_or_null<N: Serialize + Into<i128>>(&mut self, key: &'static str, number: Option<N>) {
        if number.is_some() {
            return self.number(key, number);
        }
        self.key(key);
        self.json.extend_from_slice(b"null");
    }

    /// What was used; the model only if it is a name.
    pub(crate) fn usage(&mut self, key: &'static str, usage: Option<&Usage>) {
        let Some(usage) = usage else { return };
        let mut usage = usage.clone();
        usage.model = usage.model.filter(|model| Name::fits(model));
        let before = self.json.len();
        self.key(key);
        if serde_json::to_writer(&mut self.json, &usage).is_err() {
            self.json.truncate(before);
        }
    }
}
