use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

const LIMIT: usize = 64;

/// Decodes a stream that arrives in these chunks: its frames, and the incomplete event at its end.
fn decode<'a>(chunks: impl IntoIterator<Item = &'a [u8]>) -> (Vec<Result<Frame, FrameTooLong>>, Option<Event>) {
    let mut decoder = Decoder::new(LIMIT);
    let mut frames = Vec::new();
    for chunk in chunks {
        decoder.push(chunk);
        frames.extend(std::iter::from_fn(|| decoder.next_frame()));
    }
    (frames, decoder.finish())
}

/// Decodes a stream in which no frame is too long.
fn decode_all(stream: &str) -> Vec<Frame> {
    decode([stream.as_bytes()]).0.into_iter().map(Result::unwrap).collect()
}

fn event(id: Option<&str>, event_type: Option<&str>, data: &str) -> Frame {
    let (id, event_type) = (id.map(str::to_owned), event_type.map(str::to_owned));
    Frame::Event(Event { id, event_type, data: data.as_bytes().to_vec() })
}

fn data(data: &str) -> Frame {
    event(None, None, data)
}

#[test]
fn fields_become_an_event() {
    assert_eq!(decode_all("id: 7\nevent: tick\ndata: a\n\n"), [event(Some("7"), Some("tick"), "a")]);
    assert_eq!(decode_all("data:a\n\ndata:  b\n\ndata\n\n"), [data("a"), data(" b"), data("")]);
    assert_eq!(decode_all("id: a\0b\nretry: 5\ndata: x\n\n"), [data("x")]);
}

#[test]
fn lines_of_data_are_joined() {
    assert_eq!(decode_all("data: one\ndata\ndata: two\n\n"), [data("one\n\ntwo")]);
}

#[test]
fn every_line_end_is_supported() {
    for end in ["\n", "\r", "\r\n"] {
        let stream = ["data: a", "", ": hi", "data: b", "data: c", "", ""].join(end);
        assert_eq!(decode_all(&stream), [data("a"), Frame::Comment(b"hi".to_vec()), data("b\nc")], "{end:?}");
    }
}

#[test]
fn an_id_without_data_is_a_position() {
    assert_eq!(decode_all("id: 1\nevent: tick\n\n\n\ndata: a\n\n"), [Frame::Id("1".to_owned()), data("a")]);
}

#[test]
fn a_byte_order_mark_is_skipped_once() {
    assert_eq!(decode_all("\u{feff}data: \u{feff}\n\n"), [data("\u{feff}")]);
    let unknown = Frame::UnknownLine("\u{feff}data: b".as_bytes().to_vec());
    assert_eq!(decode_all("data: a\n\n\u{feff}data: b\n\n"), [data("a"), unknown]);
}

#[test]
fn unknown_lines_are_reported() {
    let unknown = |line: &str| Frame::UnknownLine(line.as_bytes().to_vec());
    assert_eq!(
        decode_all("panic: at line 3\ndata: a\nrubbish\n\n"),
        [unknown("panic: at line 3"), unknown("rubbish"), data("a")]
    );
}

#[test]
fn data_need_not_be_utf8() {
    let (frames, _) = decode([&b"data: \xff\n\n"[..]]);
    assert!(matches!(&frames[..], [Ok(Frame::Event(event))] if event.data == b"\xff"));
}

#[test]
fn a_frame_beyond_the_limit_is_reported_and_skipped() {
    let longest = "x".repeat(LIMIT - "data: ".len());
    assert_eq!(decode_all(&format!("data: {longest}\n\n")), [data(&longest)]);
    let is_reported = |stream: &str, length: usize, cut_line: &str| {
        let too_long = FrameTooLong { limit: LIMIT, length, line: cut_line.as_bytes().to_vec() };
        assert_eq!(decode([stream.as_bytes()]).0, [Err(too_long), Ok(data("next"))]);
    };
    is_reported(
        &format!("data: {longest}x\ndata: same frame\n\ndata: next\n\n"),
        LIMIT + 1,
        &format!("data: {longest}"),
    );
    // Many short lines can exceed the limit too.
    let line = format!("data: {}\n", "y".repeat(20));
    is_reported(&format!("{}\ndata: next\n\n", line.repeat(5)), 41 + line.len() - 1, &line[..LIMIT - 41]);
}

#[test]
fn a_line_beyond_the_limit_is_not_buffered() {
    let mut decoder = Decoder::new(LIMIT);
    for _ in 0..1000 {
        decoder.push(&[b'x'; 100]);
        assert!(decoder.next_frame().is_none());
        assert!(decoder.buffer.len() <= 100);
    }
    decoder.push(b"\n\ndata: next\n\n");
    let error = decoder.next_frame().unwrap().unwrap_err();
    assert_eq!((error.length, error.line.len()), (100_000, LIMIT));
    assert_eq!(decoder.next_frame(), Some(Ok(data("next"))));
}

#[test]
fn a_stream_may_end_in_the_middle_of_an_event() {
    let (frames, unfinished) = decode([&b"data: a\n\ndata: b\ndata: c"[..]]);
    assert_eq!(frames, [Ok(data("a"))]);
    assert_eq!(unfinished.map(|event| event.data), Some(b"b\nc".to_vec()));
    assert_eq!(decode([&b"data: a\n\n: hi\n"[..]]).1, None);
}

/// Streams made of tokens of the format and random bytes.
fn stream() -> impl Strategy<Value = Vec<u8>> {
    let token = prop_oneof![
        Just(b"data:".to_vec()),
        Just(b"id: 1".to_vec()),
        Just(b"event: e".to_vec()),
        Just(b":".to_vec()),
        Just(b" ".to_vec()),
        Just(b"\n".to_vec()),
        Just(b"\r".to_vec()),
        Just(b"\r\n\r\n".to_vec()),
        Just(BYTE_ORDER_MARK.to_vec()),
        Just(vec![b'x'; LIMIT - 3]),
        vec(any::<u8>(), 0..4),
    ];
    vec(token, 0..40).prop_map(|tokens| tokens.concat())
}

proptest! {
    #[test]
    fn frames_do_not_depend_on_the_chunks(stream in stream(), cuts in vec(any::<prop::sample::Index>(), 0..20)) {
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(stream.len() + 1)).collect();
        cuts.sort_unstable();
        let starts = std::iter::once(0).chain(cuts.iter().copied());
        let ends = cuts.iter().copied().chain([stream.len()]);
        let whole = decode([&stream[..]]);
        prop_assert_eq!(&decode(starts.zip(ends).map(|(start, end)| &stream[start..end])), &whole);
        prop_assert_eq!(&decode(stream.chunks(1)), &whole);
    }
}
