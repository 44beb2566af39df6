//! Reading numbers.

use serde_json::Number;

use super::Reader;
use super::bytes::{leading_digits, skip_digits};
use crate::error::{ReadError, ReadResult};

impl<'a> Reader<'a> {
    /// Reads a whole number that may be negative.
    pub fn read_i64(&mut self) -> ReadResult<i64> {
        if let Some((magnitude, is_negative)) = self.read_short_integer() {
            let magnitude = magnitude.cast_signed();
            return Ok(if is_negative { -magnitude } else { magnitude });
        }
        let number = self.integer_text("a whole number")?;
        number.parse().map_err(|_| ReadError::range(number))
    }

    /// Reads a whole number that is not negative.
    pub fn read_u64(&mut self) -> ReadResult<u64> {
        if self.peek() != b'-'
            && let Some((number, _)) = self.read_short_integer()
        {
            return Ok(number);
        }
        let number = self.integer_text("a whole number from 0 on")?;
        number.parse().map_err(|_| ReadError::range(number))
    }

    /// Reads any number.
    pub fn read_number(&mut self) -> ReadResult<Number> {
        if self.peek() != b'-'
            && let Some((number, _)) = self.read_short_integer()
        {
            return Ok(number.into());
        }
        let text = self.number_text("a number")?;
        serde_json::from_str(text).map_err(|_| ReadError::range(text))
    }

    /// Reads a whole number with one digit and a comma or bracket after it. Reads nothing if something else is next.
    #[inline]
    fn read_digit(&mut self) -> Option<u64> {
        match self.text.as_bytes().get(self.at..)?.first_chunk()? {
            [digit @ b'0'..=b'9', b',' | b'}'] => {
                self.at += 1;
                Some(u64::from(digit - b'0'))
            }
            _ => None,
        }
    }

    /// Reads a whole number with at most 15 digits: its magnitude, which fits an `i64`, and whether it is negative. Nearly all
    /// numbers of agents are such. Reads nothing if something else is next.
    #[inline]
    fn read_short_integer(&mut self) -> Option<(u64, bool)> {
        const POWERS_OF_TEN: [u64; 8] = [1, 10, 100, 1000, 10_000, 100_000, 1_000_000, 10_000_000];
        if let Some(digit) = self.read_digit() {
            return Some((digit, false));
        }
        let is_negative = self.peek() == b'-';
        let bytes = self.text.as_bytes();
        let start = self.at + usize::from(is_negative);
        let (mut magnitude, mut length) = leading_digits(bytes, start)?;
        if length == 8 {
            let (low, more) = leading_digits(bytes, start + 8)?;
            // If all eight are digits again, there may be more.
            magnitude = magnitude * POWERS_OF_TEN.get(more)? + low;
            length += more;
        }
        let starts_with_zero = bytes.get(start) == Some(&b'0') && (length > 1 || is_negative);
        if length == 0 || starts_with_zero || matches!(bytes.get(start + length), Some(b'.' | b'e' | b'E')) {
            return None;
        }
        self.at = start + length;
        Some((magnitude, is_negative))
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

    pub(super) fn skip_number(&mut self) -> ReadResult<()> {
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

/// Skips at least one digit and returns the index after the digits.
fn skip_some_digits(bytes: &[u8], at: usize) -> ReadResult<usize> {
    let end = skip_digits(bytes, at);
    if end == at { Err(ReadError::syntax()) } else { Ok(end) }
}
