//! A reader of JSON text.
//!
//! The generated types read from it directly. That saves the buffers and visitors of a general parser, and since it
//! only holds a place in a text, going back to an earlier place costs nothing: a tag that does not stand first is
//! looked up ahead, and the object is then read from its start.
//!
//! It accepts exactly what `serde_json` accepts.

use std::borrow::Cow;

use serde::de::IgnoredAny;
use serde_json::Number;

use super::fault::{Fault, Result};

/// How deep typed values may nest, so that no payload can exhaust the stack; the same as for `serde_json`.
const DEEPEST: u8 = 127;

/// A place in a JSON text.
#[derive(Clone)]
pub(crate) struct Reader<'a> {
    text: &'a str,
    at: usize,
    depth: u8,
}

impl<'a> Reader<'a> {
    /// A reader at the start of `text`.
    pub(crate) fn new(text: &'a str) -> Self {
        Self { text, at: 0, depth: 0 }
    }

    /// Refuses anything but white space after the value.
    pub(crate) fn end(&mut self) -> Result<()> {
        self.peek();
        if self.at == self.text.len() { Ok(()) } else { Err(Fault::syntax()) }
    }

    /// The next byte that is not white space; 0, with which nothing begins, where there is none.
    #[inline]
    pub(crate) fn peek(&mut self) -> u8 {
        match self.text.as_bytes().get(self.at) {
            Some(byte) if *byte > b' ' => *byte,
            _ => self.peek_further(),
        }
    }

    /// [`Self::peek`] where there is white space, which agents rarely write.
    #[inline(never)]
    fn peek_further(&mut self) -> u8 {
        while let Some(byte) = self.text.as_bytes().get(self.at) {
            match byte {
                b' ' | b'\n' | b'\r' | b'\t' => self.at += 1,
                byte => return *byte,
            }
        }
        0
    }

    /// Reads a string, borrowed where it has no escapes.
    pub(crate) fn string(&mut self) -> Result<Cow<'a, str>> {
        self.string_here()
    }

    /// [`Self::string`] for the loops over keys and texts, where a call would cost as much as the reading.
    #[inline(always)]
    pub(crate) fn string_here(&mut self) -> Result<Cow<'a, str>> {
        if self.peek() != b'"' {
            return Err(self.mismatch("a string"));
        }
        let start = self.at + 1;
        let end = plain_until(self.text.as_bytes(), start);
        if self.text.as_bytes().get(end) == Some(&b'"') {
            self.at = end + 1;
            return Ok(Cow::Borrowed(self.slice(start, end)));
        }
        self.escaped(start, end).map(Cow::Owned)
    }

    /// Reads a string that is kept.
    #[inline]
    pub(crate) fn owned(&mut self) -> Result<String> {
        Ok(match self.string()? {
            Cow::Borrowed(text) => text.to_owned(),
            Cow::Owned(text) => text,
        })
    }

    /// Reads `null` if that comes next; says whether it did.
    #[inline]
    pub(crate) fn null(&mut self) -> Result<bool> {
        if self.peek() != b'n' {
            return Ok(false);
        }
        self.literal("null").map(|()| true)
    }

    /// Reads `true` or `false`.
    pub(crate) fn boolean(&mut self) -> Result<bool> {
        match self.peek() {
            b't' => self.literal("true").map(|()| true),
            b'f' => self.literal("false").map(|()| false),
            _ => Err(self.mismatch("a boolean")),
        }
    }

    /// Reads a whole number that may be negative.
    pub(crate) fn integer(&mut self) -> Result<i64> {
        if let Some(number) = self.short_whole() {
            return Ok(number);
        }
        let number = self.whole("a whole number")?;
        number.parse().map_err(|_| Fault::range(number))
    }

    /// Reads a whole number from 0 on.
    pub(crate) fn unsigned(&mut self) -> Result<u64> {
        if self.peek() != b'-'
            && let Some(number) = self.short_whole()
        {
            return Ok(number.unsigned_abs());
        }
        let number = self.whole("a whole number from 0 on")?;
        number.parse().map_err(|_| Fault::range(number))
    }

    /// Reads any number.
    pub(crate) fn number(&mut self) -> Result<Number> {
        if self.peek() != b'-'
            && let Some(number) = self.short_whole()
        {
            return Ok(number.unsigned_abs().into());
        }
        let text = self.number_text("a number")?;
        serde_json::from_str(text).map_err(|_| Fault::range(text))
    }

    /// Reads a whole number of so few digits that it fits; nothing if another one comes, or none. Nearly all numbers
    /// that agents write are such.
    fn short_whole(&mut self) -> Option<i64> {
        const MOST_DIGITS: usize = 18;
        let negative = self.peek() == b'-';
        let rest = self.text.as_bytes().get(self.at + usize::from(negative)..)?;
        let mut magnitude = 0;
        let mut length = 0;
        while let Some(digit @ b'0'..=b'9') = rest.get(length) {
            if length == MOST_DIGITS {
                return None;
            }
            magnitude = magnitude * 10 + i64::from(digit - b'0');
            length += 1;
        }
        let begins_with_zero = rest.first() == Some(&b'0') && (length > 1 || negative);
        if length == 0 || begins_with_zero || matches!(rest.get(length), Some(b'.' | b'e' | b'E')) {
            return None;
        }
        self.at += usize::from(negative) + length;
        Some(if negative { -magnitude } else { magnitude })
    }

    /// The text of a number without fraction and exponent.
    #[inline]
    fn whole(&mut self, expected: &'static str) -> Result<&'a str> {
        let text = self.number_text(expected)?;
        // A negative zero is no integer to `serde_json` either.
        if text == "-0" || text.bytes().any(|byte| matches!(byte, b'.' | b'e' | b'E')) {
            return Err(Fault::mismatch(expected, "a number with a fraction"));
        }
        Ok(text)
    }

    /// The text of a number.
    fn number_text(&mut self, expected: &'static str) -> Result<&'a str> {
        if !matches!(self.peek(), b'-' | b'0'..=b'9') {
            return Err(self.mismatch(expected));
        }
        let start = self.at;
        self.skip_number()?;
        Ok(self.slice(start, self.at))
    }

    /// Passes over a value and returns its text.
    pub(crate) fn raw(&mut self) -> Result<&'a str> {
        self.peek();
        let start = self.at;
        self.skip()?;
        Ok(self.slice(start, self.at))
    }

    /// Passes over a value.
    pub(crate) fn skip(&mut self) -> Result<()> {
        match self.peek() {
            b'"' => self.skip_string(),
            b'{' => {
                if self.depth == DEEPEST {
                    return self.skip_deep();
                }
                let mut keys = self.object()?;
                while keys.skip_key(self)? {
                    self.skip()?;
                }
                Ok(())
            }
            b'[' => {
                if self.depth == DEEPEST {
                    return self.skip_deep();
                }
                let mut elements = self.list()?;
                while elements.next(self)? {
                    self.skip()?;
                }
                Ok(())
            }
            b'-' | b'0'..=b'9' => self.skip_number(),
            b't' => self.literal("true"),
            b'f' => self.literal("false"),
            b'n' => self.literal("null"),
            _ => Err(Fault::syntax()),
        }
    }

    /// Passes over a value inside which the stack could run out; `serde_json` does that without recursion.
    #[cold]
    fn skip_deep(&mut self) -> Result<()> {
        let rest = self.text.get(self.at..).unwrap_or_default();
        let mut values = serde_json::Deserializer::from_str(rest).into_iter::<IgnoredAny>();
        match values.next() {
            Some(Ok(_)) => {
                self.at += values.byte_offset();
                Ok(())
            }
            _ => Err(Fault::syntax()),
        }
    }

    /// Enters an object.
    #[inline]
    pub(crate) fn object(&mut self) -> Result<Members> {
        self.enter(b'{', "an object")?;
        Ok(Members { close: b'}', first: true })
    }

    /// Enters a list.
    #[inline]
    pub(crate) fn list(&mut self) -> Result<Members> {
        self.enter(b'[', "a list")?;
        Ok(Members { close: b']', first: true })
    }

    #[inline]
    fn enter(&mut self, open: u8, expected: &'static str) -> Result<()> {
        if self.peek() != open {
            return Err(self.mismatch(expected));
        }
        if self.depth == DEEPEST {
            return Err(Fault::too_deep());
        }
        self.depth += 1;
        self.at += 1;
        Ok(())
    }

    /// Why the next value is not what was expected.
    #[cold]
    pub(crate) fn mismatch(&mut self, expected: &'static str) -> Fault {
        match self.kind() {
            "" => Fault::syntax(),
            found => Fault::mismatch(expected, found),
        }
    }

    /// The kind of the next value, in words; empty if none begins here.
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

    /// The offset of the next byte. A text of two bytes is an empty object that stands for content that is not there,
    /// and in which nothing has a place.
    pub(crate) fn offset(&self) -> usize {
        if self.text.len() == 2 { usize::MAX } else { self.at }
    }

    #[inline]
    fn slice(&self, start: usize, end: usize) -> &'a str {
        self.text.get(start..end).unwrap_or_default()
    }

    fn literal(&mut self, word: &'static str) -> Result<()> {
        if self.text.as_bytes().get(self.at..).is_some_and(|rest| rest.starts_with(word.as_bytes())) {
            self.at += word.len();
            Ok(())
        } else {
            Err(Fault::syntax())
        }
    }

    fn skip_string(&mut self) -> Result<()> {
        let bytes = self.text.as_bytes();
        let mut at = self.at + 1;
        loop {
            at = plain_until(bytes, at);
            match bytes.get(at) {
                Some(b'"') => {
                    self.at = at + 1;
                    return Ok(());
                }
                // Half a character is passed over as well: nobody looks at it.
                Some(b'\\') if unit(bytes, at).is_some() => at += 6,
                Some(b'\\') if simple(bytes, at).is_some() => at += 2,
                _ => return Err(Fault::syntax()),
            }
        }
    }

    /// Reads on in a string from `start`, of which the first escape is at `at`.
    #[inline(never)]
    fn escaped(&mut self, start: usize, mut at: usize) -> Result<String> {
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
                    let (character, length) = escape(bytes, at).ok_or_else(Fault::syntax)?;
                    text.push(character);
                    copied = at + length;
                    at = plain_until(bytes, copied);
                }
                _ => return Err(Fault::syntax()),
            }
        }
    }

    fn skip_number(&mut self) -> Result<()> {
        let bytes = self.text.as_bytes();
        let mut at = self.at;
        if bytes.get(at) == Some(&b'-') {
            at += 1;
        }
        match bytes.get(at) {
            Some(b'0') => at += 1,
            Some(b'1'..=b'9') => at = digits(bytes, at),
            _ => return Err(Fault::syntax()),
        }
        if bytes.get(at) == Some(&b'.') {
            at = some_digits(bytes, at + 1)?;
        }
        if matches!(bytes.get(at), Some(b'e' | b'E')) {
            at += 1;
            if matches!(bytes.get(at), Some(b'+' | b'-')) {
                at += 1;
            }
            at = some_digits(bytes, at)?;
        }
        self.at = at;
        Ok(())
    }
}

/// What is left of an object or a list.
#[derive(Clone, Copy)]
pub(crate) struct Members {
    close: u8,
    first: bool,
}

impl Members {
    /// The rest of an object of which a member has been read.
    pub(crate) fn after_the_first() -> Self {
        Self { close: b'}', first: false }
    }

    /// Whether there is another member; leaves the object or list when there is none.
    #[inline]
    pub(crate) fn next(&mut self, reader: &mut Reader<'_>) -> Result<bool> {
        let found = reader.peek();
        if found == self.close {
            reader.at += 1;
            reader.depth -= 1;
            return Ok(false);
        }
        if std::mem::take(&mut self.first) {
            return Ok(true);
        }
        if found != b',' {
            return Err(Fault::syntax());
        }
        reader.at += 1;
        Ok(true)
    }

    /// Reads the next key of an object.
    #[inline(always)]
    pub(crate) fn key<'a>(&mut self, reader: &mut Reader<'a>) -> Result<Option<Cow<'a, str>>> {
        if !self.next(reader)? {
            return Ok(None);
        }
        let key = reader.string_here()?;
        if reader.peek() != b':' {
            return Err(Fault::syntax());
        }
        reader.at += 1;
        Ok(Some(key))
    }

    /// Passes over the next key of an object.
    fn skip_key(&mut self, reader: &mut Reader<'_>) -> Result<bool> {
        if !self.next(reader)? {
            return Ok(false);
        }
        if reader.peek() != b'"' {
            return Err(Fault::syntax());
        }
        reader.skip_string()?;
        if reader.peek() != b':' {
            return Err(Fault::syntax());
        }
        reader.at += 1;
        Ok(true)
    }
}

/// The first place from `at` on that holds a quotation mark, a backslash or a control character, eight bytes a step.
#[inline]
fn plain_until(bytes: &[u8], mut at: usize) -> usize {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = 0x8080_8080_8080_8080;
    while let Some(chunk) = bytes.get(at..).and_then(<[u8]>::first_chunk::<8>) {
        let word = u64::from_le_bytes(*chunk);
        // Flipping this bit makes a quotation mark 0x20 and leaves control characters below that, so that one
        // comparison finds both. It sets the high bit of each byte that is meant; a borrow can set it wrongly only in
        // bytes after one that is meant, and the first is what counts.
        let flipped = word ^ (ONES * 0x02);
        let quote_or_control = flipped.wrapping_sub(ONES * 0x21) & !flipped;
        let differing = word ^ (ONES * 0x5c);
        let backslash = differing.wrapping_sub(ONES) & !differing;
        let special = (quote_or_control | backslash) & HIGH;
        if special != 0 {
            return at + (special.trailing_zeros() / 8) as usize;
        }
        at += 8;
    }
    while let Some(byte) = bytes.get(at) {
        if *byte < 0x20 || *byte == b'"' || *byte == b'\\' {
            break;
        }
        at += 1;
    }
    at
}

fn digits(bytes: &[u8], mut at: usize) -> usize {
    while matches!(bytes.get(at), Some(b'0'..=b'9')) {
        at += 1;
    }
    at
}

fn some_digits(bytes: &[u8], at: usize) -> Result<usize> {
    let end = digits(bytes, at);
    if end == at { Err(Fault::syntax()) } else { Ok(end) }
}

/// The character that the escape at `at` stands for, and how long the escape is.
fn escape(bytes: &[u8], at: usize) -> Option<(char, usize)> {
    if bytes.get(at + 1) != Some(&b'u') {
        return simple(bytes, at).map(|character| (character, 2));
    }
    let first = unit(bytes, at)?;
    if !(0xd800..0xdc00).contains(&first) {
        return char::from_u32(first).map(|character| (character, 6));
    }
    let second = unit(bytes, at + 6).filter(|second| (0xdc00..0xe000).contains(second))?;
    char::from_u32(0x1_0000 + ((first - 0xd800) << 10) + (second - 0xdc00)).map(|character| (character, 12))
}

fn simple(bytes: &[u8], at: usize) -> Option<char> {
    Some(match bytes.get(at + 1)? {
        b'"' => '"',
        b'\\' => '\\',
        b'/' => '/',
        b'b' => '\u{8}',
        b'f' => '\u{c}',
        b'n' => '\n',
        b'r' => '\r',
        b't' => '\t',
        _ => return None,
    })
}

/// The UTF-16 unit that `\uXXXX` at `at` stands for.
fn unit(bytes: &[u8], at: usize) -> Option<u32> {
    let digits = bytes.get(at..at + 6)?.strip_prefix(b"\\u")?;
    digits.iter().try_fold(0, |unit, digit| Some(unit * 16 + char::from(*digit).to_digit(16)?))
}
