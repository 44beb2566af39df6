//! The members of an object, or the elements of a list, one after the other.

use std::borrow::Cow;
use std::ops::Range;

use super::Reader;
use super::bytes::{chunk_at, find_special, special_bits};
use crate::error::{ReadError, ReadResult};

/// The remaining members of an object, or elements of a list.
#[derive(Clone, Copy)]
pub struct Members {
    /// What is before the next member: the bracket that opens the object or list, or a comma.
    separator: u8,
    close: u8,
}

impl Members {
    /// All members of an object. The reader is at its bracket.
    pub(super) fn of_object() -> Self {
        Self { separator: b'{', close: b'}' }
    }

    /// All elements of a list. The reader is at its bracket.
    pub(super) fn of_list() -> Self {
        Self { separator: b'[', close: b']' }
    }

    /// The remaining members of an object whose first member has been read.
    pub(crate) fn after_first_key() -> Self {
        Self { separator: b',', close: b'}' }
    }

    /// Returns whether there is another member, and leaves the object or list if there is none.
    #[inline]
    pub fn advance(&mut self, reader: &mut Reader<'_>) -> ReadResult<bool> {
        let mut found = reader.peek();
        if found == self.separator {
            reader.at += 1;
            if found == b',' {
                return Ok(true);
            }
            self.separator = b',';
            found = reader.peek();
            if found != self.close {
                return Ok(true);
            }
        }
        if found != self.close {
            return Err(ReadError::syntax());
        }
        reader.at += 1;
        reader.depth -= 1;
        Ok(false)
    }

    /// Reads the next key of an object.
    #[inline]
    pub fn next_key<'a>(&mut self, reader: &mut Reader<'a>) -> ReadResult<Option<Cow<'a, str>>> {
        match self.read_plain_key(reader) {
            Some(key) => Ok(Some(Cow::Borrowed(reader.slice(key.start, key.end)))),
            None => self.next_any_key(reader),
        }
    }

    /// [`Self::next_key`] as bytes, which are cheaper to compare with known keys.
    #[expect(clippy::inline_always, reason = "a call would cost as much as the work")]
    #[inline(always)]
    pub fn next_key_bytes<'a>(&mut self, reader: &mut Reader<'a>) -> ReadResult<Option<Cow<'a, [u8]>>> {
        if let Some(key) = self.read_plain_key(reader)
            && let Some(bytes) = reader.text.as_bytes().get(key)
        {
            return Ok(Some(Cow::Borrowed(bytes)));
        }
        if self.leave_plainly(reader) { Ok(None) } else { self.next_any_key_bytes(reader) }
    }

    /// Skips the next key of an object, and returns whether there was one.
    #[inline]
    pub(super) fn skip_key(&mut self, reader: &mut Reader<'_>) -> ReadResult<bool> {
        if self.read_plain_key(reader).is_some() {
            return Ok(true);
        }
        if self.leave_plainly(reader) { Ok(false) } else { self.skip_any_key(reader) }
    }

    /// Reads `,"key":`, or `{"key":` for the first one, if the key has no escapes and there is no white space around it, as
    /// agents write nearly all keys. Reads nothing if something else is next, or if the text ends soon.
    #[expect(clippy::inline_always, reason = "a call would cost as much as the work")]
    #[inline(always)]
    fn read_plain_key(&mut self, reader: &mut Reader<'_>) -> Option<Range<usize>> {
        let bytes = reader.text.as_bytes();
        let chunk = chunk_at(bytes, reader.at)?;
        if [chunk[0], chunk[1]] != [self.separator, b'"'] {
            return None;
        }
        let start = reader.at + 2;
        let special = special_bits(chunk) >> 2;
        let end = match special {
            0 => find_special(bytes, reader.at + chunk.len()),
            _ => start + special.trailing_zeros() as usize,
        };
        if bytes.get(end..end + 2)? != b"\":" {
            return None;
        }
        self.separator = b',';
        reader.at = end + 2;
        Some(start..end)
    }

    /// Leaves the object if it ends here, without white space before its bracket. Returns whether it does.
    #[expect(clippy::inline_always, reason = "a call would cost as much as the work")]
    #[inline(always)]
    fn leave_plainly(&mut self, reader: &mut Reader<'_>) -> bool {
        let is_end = self.separator == b',' && reader.text.as_bytes().get(reader.at) == Some(&self.close);
        if is_end {
            reader.at += 1;
            reader.depth -= 1;
        }
        is_end
    }

    /// [`Self::next_key`] for any key, and for the end of the object.
    #[inline(never)]
    fn next_any_key<'a>(&mut self, reader: &mut Reader<'a>) -> ReadResult<Option<Cow<'a, str>>> {
        if !self.advance(reader)? {
            return Ok(None);
        }
        let key = reader.read_string_inline()?;
        reader.read_colon()?;
        Ok(Some(key))
    }

    #[inline(never)]
    fn next_any_key_bytes<'a>(&mut self, reader: &mut Reader<'a>) -> ReadResult<Option<Cow<'a, [u8]>>> {
        Ok(self.next_any_key(reader)?.map(|key| match key {
            Cow::Borrowed(key) => Cow::Borrowed(key.as_bytes()),
            Cow::Owned(key) => Cow::Owned(key.into_bytes()),
        }))
    }

    /// [`Self::skip_key`] for any key, and for the end of the object.
    #[inline(never)]
    fn skip_any_key(&mut self, reader: &mut Reader<'_>) -> ReadResult<bool> {
        if !self.advance(reader)? {
            return Ok(false);
        }
        if reader.peek() != b'"' {
            return Err(ReadError::syntax());
        }
        reader.skip_string()?;
        reader.read_colon()?;
        Ok(true)
    }
}
