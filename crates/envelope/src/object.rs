//! JSON objects of names and numbers, written down as they are told.
//!
//! The `data` of every event that a projector makes goes through here, and there is no way to put in a text that is neither
//! ours nor a [`Name`].

use interlingua_schema::Usage;
use interlingua_schema::wire::WriteJson;

use crate::Name;
use crate::bounds::{DATA_CAPACITY, Data};

/// An object that is being written. What has no value is left out.
#[derive(Debug)]
pub(crate) struct Object {
    json: Vec<u8>,
}

impl Object {
    pub(crate) fn new() -> Self {
        let mut json = Vec::with_capacity(DATA_CAPACITY);
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

    pub(crate) fn name(&mut self, key: &'static str, name: Option<&Name>) {
        if let Some(name) = name {
            self.key(key);
            self.plain(name.as_str());
        }
    }

    /// A text from outside, if it is a name. An open enum may hold any text.
    pub(crate) fn text(&mut self, key: &'static str, text: Option<&str>) {
        if let Some(text) = text.filter(|text| Name::fits(text)) {
            self.key(key);
            self.plain(text);
        }
    }

    pub(crate) fn number<N: WriteJson + Into<i128>>(&mut self, key: &'static str, number: Option<N>) {
        if let Some(number) = number {
            self.key(key);
            number.write_json(&mut self.json);
        }
    }

    /// What was used; the model only if it is a name.
    pub(crate) fn usage(&mut self, key: &'static str, usage: Option<&Usage>) {
        let Some(usage) = usage else { return };
        let mut usage = usage.clone();
        usage.model = usage.model.filter(|model| Name::fits(model));
        self.key(key);
        usage.write_json(&mut self.json);
    }
}
