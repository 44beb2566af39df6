//! Writing of the `data` of events.
//!
//! A projector writes all data with this type. It accepts only numbers and valid [`Name`]s, so that no other text from
//! outside can get into an event.

use interlingua_schema::Usage;
use interlingua_schema::wire::WriteJson;

use crate::Name;
use crate::bounds::{DATA_CAPACITY, Data};

/// Writes a JSON object of names and numbers. Members without a value are omitted.
#[derive(Debug)]
pub(crate) struct DataWriter {
    json: Vec<u8>,
}

impl DataWriter {
    pub(crate) fn new() -> Self {
        let mut json = Vec::with_capacity(DATA_CAPACITY);
        json.push(b'{');
        Self { json }
    }

    /// Completes the object and enforces the size limit.
    pub(crate) fn finish(mut self) -> Data {
        self.json.push(b'}');
        Data::from_json(self.json)
    }

    fn write_key(&mut self, key: &'static str) {
        if !self.json.ends_with(b"{") {
            self.json.push(b',');
        }
        self.json.push(b'"');
        self.json.extend_from_slice(key.as_bytes());
        self.json.extend_from_slice(b"\":");
    }

    /// Writes a string that needs no escapes.
    fn write_plain(&mut self, text: &str) {
        self.json.push(b'"');
        self.json.extend_from_slice(text.as_bytes());
        self.json.push(b'"');
    }

    /// Adds a name.
    pub(crate) fn name(&mut self, key: &'static str, name: Option<&Name>) {
        if let Some(name) = name {
            self.write_key(key);
            self.write_plain(name.as_str());
        }
    }

    /// Adds a text, if it is a valid name. Values of open enums are added with this, because they may be any text.
    pub(crate) fn name_from(&mut self, key: &'static str, text: Option<&str>) {
        if let Some(text) = text.filter(|text| Name::is_valid(text)) {
            self.write_key(key);
            self.write_plain(text);
        }
    }

    /// Adds a number.
    pub(crate) fn number<N: WriteJson + Into<i128>>(&mut self, key: &'static str, number: Option<N>) {
        if let Some(number) = number {
            self.write_key(key);
            number.write_json(&mut self.json);
        }
    }

    /// Adds the usage. Its model is omitted if it is not a valid name.
    pub(crate) fn usage(&mut self, key: &'static str, usage: Option<&Usage>) {
        let Some(usage) = usage else { return };
        let mut usage = usage.clone();
        usage.model = usage.model.filter(|model| Name::is_valid(model));
        self.write_key(key);
        usage.write_json(&mut self.json);
    }
}
