//! A reader of JSON text.
//!
//! Generated types read from it directly, without the buffers and visitors of a general parser. A reader is only a
//! position in a text, so going back to an earlier position costs nothing: if the tag is not the first key, the reader
//! looks ahead for it and then reads the object from its start.
//!
//! It accepts exactly the texts that `serde_json` accepts.

mod bytes;
#[cfg(test)]
mod tests;

use std::borrow::Cow;

use serde::de::IgnoredAny;
use serde_json::Number;

use self::bytes::{escaped_char, find_special, simple_escape, skip_digits, utf16_unit};
use crate::error::{ReadError, ReadResult};

/// Maximum nesting depth of typed values, so that no payload can exhaust the stack. `serde_json` has the same limit.
const MAX_DEPTH: u8 = 127;

/// A position in a JSON text.
#[derive(Clone)]
pub struct Reader<'a> {
    text: &'a str,
    at: usize,
    depth: u8,
}

impl<'a> Reader<'a> {
    const EMPTY_OBJECT: &'static str = "{}";

    /// A reader at the start of `text`.
    #[inline]
    #[must_use]
    pub fn new(text: &'a str) -> Self {
        Self { text, at: 0, depth: 0 }
    }

    /// A reader of an empty object, used for missing content.
    pub(crate) fn empty_object() -> Self {
        Self::new(Self::EMPTY_OBJECT)
    }

    /// Fails if anything except white space follows.
    pub fn finish(&mut self) -> ReadResult<()> {
        self.peek();
        if self.at == self.text.len() { Ok(()) } else { Err(ReadError::syntax()) }
    }

    /// The next byte that is not white space. At the end of the text it is 0, with which no value starts.
    #[inline]
    pub fn peek(&mut self) -> u8 {
        match self.text.as_bytes().get(self.at) {
            Some(byte) if *byte > b' ' => *byte,
            _ => self.peek_after_space(),
        }
    }

    /// [`Self::peek`] if white space follows, which agents rarely write.
    #[inline(never)]
    fn peek_after_space(&mut self) -> u8 {
        while let Some(byte) = self.text.as_bytes().get(self.at) {
            match byte {
                b' ' | b'\n' | b'\r' | b'\t' => self.at += 1,
                byte => return *byte,
            }
        }
        0
    }

    /// Reads a string, borrowed if it has no escapes.
    pub fn read_string(&mut self) -> ReadResult<Cow<'a, str>> {
        self.read_string_inline()
    }

    /// [`Self::read_string`], inlined into the loops over keys and lists of strings.
    #[expect(clippy::inline_always, reason = "a call would cost as much as the work")]
    #[inline(always)]
    pub fn read_string_inline(&mut self) -> ReadResult<Cow<'a, str>> {
        if self.peek() != b'"' {
            return Err(self.mismatch("a string"));
        }
        let start = self.at + 1;
        let end = find_special(self.text.as_bytes(), start);
        if self.text.as_bytes().get(end) == Some(&b'"') {
            self.at = end + 1;
            return Ok(Cow::Borrowed(self.slice(start, end)));
        }
        self.read_escaped(start, end).map(Cow::Owned)
    }

    /// Reads a string into a `String`.
    #[inline]
    pub fn read_owned(&mut self) -> ReadResult<String> {
        Ok(match self.read_string()? {
            Cow::Borrowed(text) => text.to_owned(),
            Cow::Owned(text) => text,
        })
    }

    /// Reads `null` if it is next, and returns whether it was.
    #[inline]
    pub fn read_null(&mut self) -> ReadResult<bool> {
        if self.peek() != b'n' {
            return Ok(false);
        }
        self.read_literal("null").map(|()| true)
    }

    /// Reads `true` or `false`.
    pub fn read_bool(&mut self) -> ReadResult<bool> {
        match self.peek() {
            b't' => self.read_literal("true").map(|()| true),
            b'f' => self.read_literal("false").map(|()| false),
            _ => Err(self.mismatch("a boolean")),
        }
    }

    /// Reads a whole number that may be negative.
    pub fn read_i64(&mut self) -> ReadResult<i64> {
        if let Some(number) = self.read_short_integer() {
            return Ok(number);
        }
        let number = self.integer_text("a whole number")?;
        number.parse().map_err(|_| ReadError::range(number))
    }

    /// Reads a whole number that is not negative.
    pub fn read_u64(&mut self) -> ReadResult<u64> {
        if self.peek() != b'-'
            && let Some(number) = self.read_short_integer()
        {
            return Ok(number.unsigned_abs());
        }
        let number = self.integer_text("a whole number from 0 on")?;
        number.parse().map_err(|_| ReadError::range(number))
    }

    /// Reads any number.
    pub fn read_number(&mut self) -> ReadResult<Number> {
        if self.peek() != b'-'
            && let Some(number) = self.read_short_integer()
        {
            return Ok(number.unsigned_abs().into());
        }
        let text = self.number_text("a number")?;
        serde_json::from_str(text).map_err(|_| ReadError::range(text))
    }

    /// Reads a whole number with at most 18 digits, which always fits an `i64`. Nearly all numbers of agents do. Reads
    /// nothing if something else is next.
    fn read_short_integer(&mut self) -> Option<i64> {
        const MAX_DIGITS: usize = 18;
        let negative = self.peek() == b'-';
        let rest = self.text.as_bytes().get(self.at + usize::from(negative)..)?;
        let mut magnitude = 0;
        let mut length = 0;
        while let Some(digit @ b'0'..=b'9') = rest.get(length) {
            if length == MAX_DIGITS {
                return None;
            }
            magnitude = magnitude * 10 + i64::from(digit - b'0');
            length += 1;
        }
        let starts_with_zero = rest.first() == Some(&b'0') && (length > 1 || negative);
        if length == 0 || starts_with_zero || matches!(rest.get(length), Some(b'.' | b'e' | b'E')) {
            return None;
        }
        self.at += usize::from(negative) + length;
        Some(if negative { -magnitude } else { magnitude })
    }

    /// Reads a number without fraction and exponent and returns its text.
    #[inline]
    fn integer_text(&mut self, expected: &'static str) -> ReadResult<&'a str> {
        let text = self.number_text(expected)?;
        // `serde_json` does not accept a negative zero as an integer either.
        if text == "-0" || text.bytes().any(|byte| matches!(byte, b'.' | b'e' | b'E')) {
            return Err(ReadError::mismatch(expected, "a number with a fraction"));
        }
        Ok(text)
    }

    /// Reads a number and returns its text.
    fn number_text(&mut self, expected: &'static str) -> ReadResult<&'a str> {
        if !matches!(self.peek(), b'-' | b'0'..=b'9') {
            return Err(self.mismatch(expected));
        }
        let start = self.at;
        self.skip_number()?;
        Ok(self.slice(start, self.at))
    }

    /// Skips a value and returns its text.
    pub fn read_raw(&mut self) -> ReadResult<&'a str> {
        self.peek();
        let start = self.at;
        self.skip()?;
        Ok(self.slice(start, self.at))
    }

    /// Skips a value.
    pub fn skip(&mut self) -> ReadResult<()> {
        match self.peek() {
            b'"' => self.skip_string(),
            b'{' => {
                if self.depth == MAX_DEPTH {
                    return self.skip_deep();
                }
                let mut members = self.enter_object()?;
                while members.skip_key(self)? {
                    self.skip()?;
                }
                Ok(())
            }
            b'[' => {
                if self.depth == MAX_DEPTH {
                    return self.skip_deep();
                }
                let mut elements = self.enter_list()?;
                while elements.advance(self)? {
                    self.skip()?;
                }
                Ok(())
            }
            b'-' | b'0'..=b'9' => self.skip_number(),
            b't' => self.read_literal("true"),
            b'f' => self.read_literal("false"),
            b'n' => self.read_literal("null"),
            _ => Err(ReadError::syntax()),
        }
    }

    /// Skips a value that is nested too deeply for recursion. `serde_json` skips values without recursion.
    #[cold]
    fn skip_deep(&mut self) -> ReadResult<()> {
        let rest = self.text.get(self.at..).unwrap_or_default();
        let mut values = serde_json::Deserializer::from_str(rest).into_iter::<IgnoredAny>();
        match values.next() {
            Some(Ok(_)) => {
                self.at += values.byte_offset();
                Ok(())
            }
            _ => Err(ReadError::syntax()),
        }
    }

    /// Enters an object.
    #[inline]
    pub fn enter_object(&mut self) -> ReadResult<Members> {
        self.enter(b'{', "an object")?;
        Ok(Members { close: b'}', is_first: true })
    }

    /// Enters a list.
    #[inline]
    pub fn enter_list(&mut self) -> ReadResult<Members> {
        self.enter(b'[', "a list")?;
        Ok(Members { close: b']', is_first: true })
    }

    #[inline]
    fn enter(&mut self, open: u8, expected: &'static str) -> ReadResult<()> {
        if self.peek() != open {
            return Err(self.mismatch(expected));
        }
        if self.depth == MAX_DEPTH {
            return Err(ReadError::too_deep());
        }
        self.depth += 1;
        self.at += 1;
        Ok(())
    }

    /// The error for a next value that is not of the expected kind.
    #[cold]
    fn mismatch(&mut self, expected: &'static str) -> ReadError {
        match self.kind() {
            "" => ReadError::syntax(),
            found => ReadError::mismatch(expected, found),
        }
    }

    /// The JSON kind of the next value, for messages; empty if no value starts here.
    #[cold]
    pub(crate) fn kind(&mut self) -> &'static str {
        match self.peek() {
            b'"' => "a string",
            b'{' => "an object",
            b'[' => "a list",
            b't' | b'f' => "a boolean",
            b'n' => "null",
            b'-' | b'0'..=b'9' => "a number",
            _ => "",
        }
    }

    /// The offset of the next byte in the payload. [`Self::empty_object`] is not part of the payload and counts as its end.
    pub(crate) fn offset(&self) -> usize {
        if self.text.len() == Self::EMPTY_OBJECT.len() { usize::MAX } else { self.at }
    }

    #[inline]
    fn slice(&self, start: usize, end: usize) -> &'a str {
        self.text.get(start..end).unwrap_or_default()
    }

    fn read_literal(&mut self, literal: &'static str) -> ReadResult<()> {
        if self.text.as_bytes().get(self.at..).is_some_and(|rest| rest.starts_with(literal.as_bytes())) {
            self.at += literal.len();
            Ok(())
        } else {
            Err(ReadError::syntax())
        }
    }

    fn skip_string(&mut self) -> ReadResult<()> {
        let bytes = self.text.as_bytes();
        let mut at = self.at + 1;
        loop {
            at = find_special(bytes, at);
            match bytes.get(at) {
                Some(b'"') => {
                    self.at = at + 1;
                    return Ok(());
                }
                // A lone surrogate is skipped as well, because the value is not decoded.
                Some(b'\\') if utf16_unit(bytes, at).is_some() => at += 6,
                Some(b'\\') if simple_escape(bytes, at).is_some() => at += 2,
                _ => return Err(ReadError::syntax()),
            }
        }
    }

    /// Reads a string that starts at `start` and has its first escape at `at`.
    #[inline(never)]
    fn read_escaped(&mut self, start: usize, mut at: usize) -> ReadResult<String> {
        let bytes = self.text.as_bytes();
        let mut text = String::with_capacity(at - start + 16);
        let mut copied = start;
        loop {
            text.push_str(self.slice(copied, at));
            match bytes.get(at) {
                Some(b'"') => {
                    self.at = at + 1;
                    return Ok(text);
                }
                Some(b'\\') => {
                    let (character, length) = escaped_char(bytes, at).ok_or_else(ReadError::syntax)?;
                    text.push(character);
                    copied = at + length;
                    at = find_special(bytes, copied);
                }
                _ => return Err(ReadError::syntax()),
            }
        }
    }

    fn skip_number(&mut self) -> ReadResult<()> {
        let bytes = self.text.as_bytes();
        let mut at = self.at;
        if bytes.get(at) == Some(&b'-') {
            at += 1;
        }
        match bytes.get(at) {
            Some(b'0') => at += 1,
            Some(b'1'..=b'9') => at = skip_digits(bytes, at),
            _ => return Err(ReadError::syntax()),
        }
        if bytes.get(at) == Some(&b'.') {
            at = skip_some_digits(bytes, at + 1)?;
        }
        if matches!(bytes.get(at), Some(b'e' | b'E')) {
            at += 1;
            if matches!(bytes.get(at), Some(b'+' | b'-')) {
                at += 1;
            }
            at = skip_some_digits(bytes, at)?;
        }
        self.at = at;
        Ok(())
    }
}

/// The remaining members of an object, or elements of a list.
#[derive(Clone, Copy)]
pub struct Members {
    close: u8,
    is_first: bool,
}

impl Members {
    /// The remaining members of an object whose first member has been read.
    pub(crate) fn after_first_key() -> Self {
        Self { close: b'}', is_first: false }
    }

    /// Returns whether there is another member, and leaves the object or list if there is none.
    #[inline]
    pub fn advance(&mut self, reader: &mut Reader<'_>) -> ReadResult<bool> {
        let found = reader.peek();
        if found == self.close {
            reader.at += 1;
            reader.depth -= 1;
            return Ok(false);
        }
        if std::mem::take(&mut self.is_first) {
            return Ok(true);
        }
        if found != b',' {
            return Err(ReadError::syntax());
        }
        reader.at += 1;
        Ok(true)
    }

    /// Reads the next key of an object.
    #[expect(clippy::inline_always, reason = "a call would cost as much as the work")]
    #[inline(always)]
    pub fn next_key<'a>(&mut self, reader: &mut Reader<'a>) -> ReadResult<Option<Cow<'a, str>>> {
        match self.next_plain_key(reader) {
            Some(key) => Ok(Some(Cow::Borrowed(key))),
            None => self.next_any_key(reader),
        }
    }

    /// [`Self::next_key`] for a key without escapes and without white space around it, as agents write nearly all keys.
    /// Reads nothing if something else is next.
    #[expect(clippy::inline_always, reason = "a call would cost as much as the work")]
    #[inline(always)]
    fn next_plain_key<'a>(&mut self, reader: &mut Reader<'a>) -> Option<&'a str> {
        let bytes = reader.text.as_bytes();
        let quote = if self.is_first {
            reader.at
        } else if bytes.get(reader.at) == Some(&b',') {
            reader.at + 1
        } else {
            return None;
        };
        if bytes.get(quote) != Some(&b'"') {
            return None;
        }
        let end = find_special(bytes, quote + 1);
        if bytes.get(end) != Some(&b'"') || bytes.get(end + 1) != Some(&b':') {
            return None;
        }
        let key = reader.text.get(quote + 1..end)?;
        self.is_first = false;
        reader.at = end + 2;
        Some(key)
    }

    /// [`Self::next_key`] for any key, and for the end of the object.
    #[inline(never)]
    fn next_any_key<'a>(&mut self, reader: &mut Reader<'a>) -> ReadResult<Option<Cow<'a, str>>> {
        if !self.advance(reader)? {
            return Ok(None);
        }
        let key = reader.read_string_inline()?;
        if reader.peek() != b':' {
            return Err(ReadError::syntax());
        }
        reader.at += 1;
        Ok(Some(key))
    }

    /// Skips the next key of an object, and returns whether there was one.
    fn skip_key(&mut self, reader: &mut Reader<'_>) -> ReadResult<bool> {
        if !self.advance(reader)? {
            return Ok(false);
        }
        if reader.peek() != b'"' {
            return Err(ReadError::syntax());
        }
        reader.skip_string()?;
        if reader.peek() != b':' {
            return Err(ReadError::syntax());
        }
        reader.at += 1;
        Ok(true)
    }
}

/// Skips at least one digit and returns the index after the digits.
fn skip_some_digits(bytes: &[u8], at: usize) -> ReadResult<usize> {
    let end = skip_digits(bytes, at);
    if end == at { Err(ReadError::syntax()) } else { Ok(end) }
}
