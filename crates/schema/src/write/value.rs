//! Numbers, lists, and JSON of any form.

use std::cell::Cell;
use std::io::Write as _;

use serde_json::{Map, Number, Value};

use super::Json;
use super::text::string;
use crate::time::{EPOCH, WRITTEN_LEN};
use crate::{Fact, Facts, RawJson, Timestamp};

impl<T: Json + ?Sized> Json for &T {
    fn json(&self, out: &mut Vec<u8>) {
        (**self).json(out);
    }
}

impl<T: Json> Json for Box<T> {
    fn json(&self, out: &mut Vec<u8>) {
        (**self).json(out);
    }
}

impl<T: Json> Json for Option<T> {
    fn json(&self, out: &mut Vec<u8>) {
        match self {
            Some(value) => value.json(out),
            None => out.extend_from_slice(b"null"),
        }
    }
}

impl<T: Json> Json for Vec<T> {
    fn json(&self, out: &mut Vec<u8>) {
        out.push(b'[');
        for (index, element) in self.iter().enumerate() {
            if index > 0 {
                out.push(b',');
            }
            element.json(out);
        }
        out.push(b']');
    }
}

impl Json for bool {
    fn json(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(if *self { b"true" } else { b"false" });
    }
}

impl Json for u64 {
    fn json(&self, out: &mut Vec<u8>) {
        let mut digits = [b'0'; 20];
        let mut start = digits.len();
        let mut number = *self;
        for digit in digits.iter_mut().rev() {
            *digit += u8::try_from(number % 10).unwrap_or(0);
            number /= 10;
            start -= 1;
            if number == 0 {
                break;
            }
        }
        out.extend_from_slice(&digits[start..]);
    }
}

impl Json for i64 {
    fn json(&self, out: &mut Vec<u8>) {
        if *self < 0 {
            out.push(b'-');
        }
        self.unsigned_abs().json(out);
    }
}

impl Json for i32 {
    fn json(&self, out: &mut Vec<u8>) {
        i64::from(*self).json(out);
    }
}

impl Json for f64 {
    fn json(&self, out: &mut Vec<u8>) {
        Number::from_f64(*self).json(out);
    }
}

impl Json for Number {
    fn json(&self, out: &mut Vec<u8>) {
        if let Some(number) = self.as_u64() {
            number.json(out);
        } else if let Some(number) = self.as_i64() {
            number.json(out);
        } else {
            // Memory does not fail to be written.
            let _ = write!(out, "{self}");
        }
    }
}

impl Json for Value {
    fn json(&self, out: &mut Vec<u8>) {
        match self {
            Self::Null => out.extend_from_slice(b"null"),
            Self::Bool(value) => value.json(out),
            Self::Number(value) => value.json(out),
            Self::String(value) => string(out, value),
            Self::Array(value) => value.json(out),
            Self::Object(value) => value.json(out),
        }
    }
}

impl Json for Map<String, Value> {
    fn json(&self, out: &mut Vec<u8>) {
        let start = out.len();
        for (key, value) in self {
            out.push(b',');
            string(out, key);
            out.push(b':');
            value.json(out);
        }
        super::close(out, start);
    }
}

impl Json for Facts {
    fn json(&self, out: &mut Vec<u8>) {
        let start = out.len();
        for (name, fact) in self.iter() {
            out.push(b',');
            string(out, name);
            out.push(b':');
            match fact {
                Fact::Text(text) => string(out, text),
                Fact::Texts(texts) => texts.json(out),
                Fact::Json(json) => json.json(out),
            }
        }
        super::close(out, start);
    }
}

impl Json for RawJson {
    fn json(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.as_str().as_bytes());
    }
}

impl Json for Timestamp {
    fn json(&self, out: &mut Vec<u8>) {
        thread_local! {
            /// The events of one payload have the same time, so the one written last is remembered.
            static LAST: Cell<(Timestamp, [u8; WRITTEN_LEN])> = const { Cell::new((Timestamp::EPOCH, *EPOCH)) };
        }
        let (time, mut text) = LAST.get();
        if time != *self {
            text = self.write();
            LAST.set((*self, text));
        }
        out.push(b'"');
        out.extend_from_slice(&text);
        out.push(b'"');
    }
}
