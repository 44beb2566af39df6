//! A reader of JSON text.
//!
//! Generated types read from it directly, without the buffers and visitors of a general parser. A reader is only a
//! position in a text, so going back to an earlier position costs nothing: if the tag is not the first key, the reader
//! looks ahead for it and then reads the object from its start.
//!
//! It accepts exactly the texts that `serde_json` accepts.

mod bytes;
mod members;
mod numbers;
#[cfg(test)]
mod tests;

use std::borrow::Cow;

use serde::de::IgnoredAny;

use self::bytes::{escape_length, escaped_char, find_special};
pub(crate) use self::members::Members;
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
    pub fn read_owned(&mut self) -> ReadResult<String> {
        self.read_string_inline().map(Cow::into_owned)
    }

    /// Reads a string into its final place.
    pub fn read_owned_into(&mut self, place: &mut String) -> ReadResult<()> {
        *place = self.read_string_inline()?.into_owned();
        Ok(())
    }

    /// Reads a string or null into its final place.
    pub fn read_optional_into(&mut self, place: &mut Option<String>) -> ReadResult<()> {
        *place = if self.read_null()? { None } else { Some(self.read_string_inline()?.into_owned()) };
        Ok(())
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
        Ok(Members::of_object())
    }

    /// Enters a list.
    #[inline]
    pub fn enter_list(&mut self) -> ReadResult<Members> {
        self.enter(b'[', "a list")?;
        Ok(Members::of_list())
    }

    /// Enters an object or list, and stays at its bracket.
    #[inline]
    fn enter(&mut self, open: u8, expected: &'static str) -> ReadResult<()> {
        if self.peek() != open {
            return Err(self.mismatch(expected));
        }
        if self.depth == MAX_DEPTH {
            return Err(ReadError::too_deep());
        }
        self.depth += 1;
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

    /// The text from `start`, an earlier position of this reader, to this position.
    pub(crate) fn text_since(&self, start: &Self) -> &'a str {
        self.slice(start.at, self.at)
    }

    #[inline]
    fn slice(&self, start: usize, end: usize) -> &'a str {
        self.text.get(start..end).unwrap_or_default()
    }

    /// Reads the colon after a key.
    fn read_colon(&mut self) -> ReadResult<()> {
        if self.peek() != b':' {
            return Err(ReadError::syntax());
        }
        self.at += 1;
        Ok(())
    }

    #[inline]
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
                Some(b'\\') => at += escape_length(bytes, at).ok_or_else(ReadError::syntax)?,
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
}
