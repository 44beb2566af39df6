//! Decompresses zstd files of several frames, and verifies their checksums.

use std::io::{self, BufRead, BufReader, Read};

use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

/// Number of bytes after which decoded content is passed on.
const CHUNK_BYTES: usize = 1 << 16;
/// An empty block that is the last of its frame, and a checksum. Ends a frame that cannot be decoded further.
const END_OF_FRAME: [u8; 7] = [1, 0, 0, 0, 0, 0, 0];

/// Reads the content of a zstd file. Everything before damage is read before the error is returned.
pub(crate) struct ZstdReader<R> {
    source: BufReader<R>,
    decoder: FrameDecoder,
    is_in_frame: bool,
    /// Why the frame cannot be decoded further.
    error: Option<io::Error>,
    has_failed: bool,
}

impl<R: Read> ZstdReader<R> {
    pub(crate) fn new(source: R) -> Self {
        Self {
            source: BufReader::with_capacity(CHUNK_BYTES, source),
            decoder: FrameDecoder::new(),
            is_in_frame: false,
            error: None,
            has_failed: false,
        }
    }

    /// Starts the next frame. False at the end of the file.
    fn start_frame(&mut self) -> io::Result<bool> {
        loop {
            if self.source.fill_buf()?.is_empty() {
                return Ok(false);
            }
            match self.decoder.reset(&mut self.source) {
                Ok(()) => return Ok(true),
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame { length, .. })) => {
                    io::copy(&mut (&mut self.source).take(u64::from(length)), &mut io::sink())?;
                }
                Err(error) => return Err(io::Error::new(io::ErrorKind::InvalidData, error)),
            }
        }
    }

    /// Ends a frame of which everything is read.
    fn end_frame(&mut self) -> io::Result<()> {
        self.is_in_frame = false;
        let (expected, found) = (self.decoder.get_checksum_from_data(), self.decoder.get_calculated_checksum());
        match expected {
            Some(expected) if found != Some(expected) => {
                let error = "the checksum of the compressed content does not match";
                Err(io::Error::new(io::ErrorKind::InvalidData, error))
            }
            _ => Ok(()),
        }
    }

    fn decode_chunk(&mut self) {
        let decoded = self.decoder.decode_blocks(&mut self.source, BlockDecodingStrategy::UptoBytes(CHUNK_BYTES));
        if let Err(error) = decoded {
            self.error = Some(io::Error::new(io::ErrorKind::InvalidData, error));
            // The decoder keeps its window until the frame ends.
            let _ = self.decoder.decode_blocks(&END_OF_FRAME[..], BlockDecodingStrategy::All);
        }
    }

    fn read_chunk(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            if self.is_in_frame {
                let length = self.decoder.read(buffer)?;
                if length > 0 {
                    return Ok(length);
                }
                if let Some(error) = self.error.take() {
                    return Err(error);
                }
                if self.decoder.is_finished() {
                    self.end_frame()?;
                } else {
                    self.decode_chunk();
                }
            } else if self.start_frame()? {
                self.is_in_frame = true;
            } else {
                return Ok(0);
            }
        }
    }
}

impl<R: Read> Read for ZstdReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.has_failed || buffer.is_empty() {
            return Ok(0);
        }
        let read = self.read_chunk(buffer);
        self.has_failed = read.is_err();
        read
    }
}

#[cfg(test)]
mod tests {
    use ruzstd::encoding::{CompressionLevel, compress_to_vec};

    use super::*;

    fn compress(text: &str) -> Vec<u8> {
        compress_to_vec(text.as_bytes(), CompressionLevel::Fastest)
    }

    /// What can be read, and whether the end is damaged.
    fn read(bytes: &[u8]) -> (String, bool) {
        let mut text = Vec::new();
        let result = ZstdReader::new(bytes).read_to_end(&mut text);
        (String::from_utf8_lossy(&text).into_owned(), result.is_err())
    }

    #[test]
    fn all_frames_are_read() {
        let skipped = [&0x184D_2A50_u32.to_le_bytes()[..], &3_u32.to_le_bytes(), b"abc"].concat();
        let file = [compress("one\n"), skipped, compress("two\n")].concat();
        assert_eq!(read(&file), ("one\ntwo\n".to_owned(), false));
        assert_eq!(read(&[]), (String::new(), false));
        assert!(read(b"not compressed").1);
    }

    #[test]
    fn content_before_damage_is_read() {
        let lines = (0..40_000).map(|number| format!("line {number}\n")).collect::<Vec<_>>().concat();
        let file = compress(&lines);
        let (text, is_damaged) = read(&file[..file.len() * 9 / 10]);
        assert!(is_damaged);
        assert!(text.len() > lines.len() / 2 && lines.starts_with(&text), "{}", text.len());
    }

    #[test]
    fn a_wrong_checksum_is_an_error() {
        // A frame with a checksum, as the `zstd` tool writes it: "hello\n".
        let mut file = vec![
            0x28, 0xb5, 0x2f, 0xfd, 0x04, 0x58, 0x31, 0x00, 0x00, 0x68, 0x65, 0x6c, 0x6c, 0x6f, 0x0a, 0x53, 0x88, 0xbd,
            0x91,
        ];
        let good = read(&file);
        file[10] = b'u';
        assert_eq!(read(&file), ("hullo\n".to_owned(), true));
        assert_eq!(good, ("hello\n".to_owned(), false));
    }
}
