//! Decodes server-sent events. The frames do not depend on how the bytes are split.
//!
//! Input: a byte with the size of a chunk, a byte with the limit of a frame, and the stream.

#![no_main]

use interlingua_sse::{Decoder, Frame, FrameTooLong};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let [chunk, limit, stream @ ..] = data else { return };
    let limit = usize::from(*limit) + 1;
    let whole = decode(stream, limit, stream.len().max(1));
    assert_eq!(decode(stream, limit, usize::from(*chunk) + 1), whole);
    assert_eq!(decode(stream, limit, 1), whole);
});

fn decode(stream: &[u8], limit: usize, chunk: usize) -> Vec<Result<Frame, FrameTooLong>> {
    let mut decoder = Decoder::new(limit);
    let mut frames = Vec::new();
    for bytes in stream.chunks(chunk) {
        decoder.push(bytes);
        frames.extend(std::iter::from_fn(|| decoder.next_frame()));
    }
    frames
}
