//! [`WriteJson`] for numbers, lists, timestamps and JSON values.

use std::borrow::Cow;
use std::cell::Cell;
use std::io::Write as _;

use serde_json::{Map, Number, Value};

use super::string::write_string;
use super::{WriteJson, close_object};
use crate::time::{EPOCH_TEXT, TIMESTAMP_LEN};
use crate::{MetadataValue, NativeMetadata, RawJson, Timestamp};

impl<T: WriteJson + ?Sized> WriteJson for &T {
    fn write_json(&self, out: &mut Vec<u8>) {
        (**self).write_json(out);
    }

    fn is_omitted(&self) -> bool {
        (**self).is_omitted()
    }
}

impl<T: WriteJson> WriteJson for Box<T> {
    fn write_json(&self, out: &mut Vec<u8>) {
        (**self).write_json(out);
    }
}

impl<T: WriteJson + ToOwned + ?Sized> WriteJson for Cow<'_, T> {
    fn write_json(&self, out: &mut Vec<u8>) {
        (**self).write_json(out);
    }
}

impl<T: WriteJson> WriteJson for Option<T> {
    fn write_json(&self, out: &mut Vec<u8>) {
        match self {
            Some(value) => value.write_json(out),
            None => out.extend_from_slice(b"null"),
        }
    }

    fn is_omitted(&self) -> bool {
        self.is_none()
    }
}

impl<T: WriteJson> WriteJson for Vec<T> {
    fn write_json(&self, out: &mut Vec<u8>) {
        out.push(b'[');
        for (index, element) in self.iter().enumerate() {
            if index > 0 {
                out.push(b',');
            }
            element.write_json(out);
        }
        out.push(b']');
    }
}

impl WriteJson for bool {
    fn write_json(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(if *self { b"true" } else { b"false" });
    }
}

impl WriteJson for u64 {
    fn write_json(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(itoa::Buffer::new().format(*self).as_bytes());
    }
}

impl WriteJson for u16 {
    fn write_json(&self, out: &mut Vec<u8>) {
        u64::from(*self).write_json(out);
    }
}

impl WriteJson for i64 {
    fn write_json(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(itoa::Buffer::new().format(*self).as_bytes());
    }
}

impl WriteJson for i32 {
    fn write_json(&self, out: &mut Vec<u8>) {
        i64::from(*self).write_json(out);
    }
}

impl WriteJson for f64 {
    fn write_json(&self, out: &mut Vec<u8>) {
        Number::from_f64(*self).write_json(out);
    }
}

impl WriteJson for Number {
    fn write_json(&self, out: &mut Vec<u8>) {
        if let Some(number) = self.as_u64() {
            number.write_json(out);
        } else if let Some(number) = self.as_i64() {
            number.write_json(out);
        } else {
            // Writing to memory does not fail.
            let _ = write!(out, "{self}");
        }
    }
}

impl WriteJson for Value {
    fn write_json(&self, out: &mut Vec<u8>) {
        match self {
            Self::Null => out.extend_from_slice(b"null"),
            Self::Bool(value) => value.write_json(out),
            Self::Number(value) => value.write_json(out),
            Self::String(value) => write_string(out, value),
            Self::Array(value) => value.write_json(out),
            Self::Object(value) => value.write_json(out),
        }
    }
}

impl WriteJson for Map<String, Value> {
    fn write_json(&self, out: &mut Vec<u8>) {
        let start = out.len();
        for (key, value) in self {
            out.push(b',');
            write_string(out, key);
            out.push(b':');
            value.write_json(out);
        }
        close_object(out, start);
    }
}

impl WriteJson for NativeMetadata {
    fn write_json(&self, out: &mut Vec<u8>) {
        let start = out.len();
        for (key, value) in self.iter() {
            out.push(b',');
            write_string(out, key);
            out.push(b':');
            match value {
                MetadataValue::String(string) => write_string(out, string),
                MetadataValue::Strings(strings) => strings.write_json(out),
                MetadataValue::Json(json) => json.write_json(out),
            }
        }
        close_object(out, start);
    }
}

impl WriteJson for RawJson {
    fn write_json(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.as_str().as_bytes());
    }
}

impl WriteJson for Timestamp {
    fn write_json(&self, out: &mut Vec<u8>) {
        thread_local! {
            /// The last timestamp as text. The events of one payload have the same time.
            static LAST: Cell<(Timestamp, [u8; TIMESTAMP_LEN])> = const { Cell::new((Timestamp::EPOCH, *EPOCH_TEXT)) };
        }
        let (time, mut text) = LAST.get();
        if time != *self {
            text = self.to_text();
            LAST.set((*self, text));
        }
        out.push(b'"');
        out.extend_from_slice(&text);
        out.push(b'"');
    }
}
