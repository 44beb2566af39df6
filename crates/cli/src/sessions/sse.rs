//! Server-sent events, as far as this API uses them.

/// Takes a stream of server-sent events apart, whatever pieces it comes in.
#[derive(Debug, Default)]
pub(super) struct Frames {
    /// What came after the last whole line.
    rest: Vec<u8>,
    data: String,
}

impl Frames {
    /// The data of the frames that are complete with these bytes.
    pub(super) fn push(&mut self, bytes: &[u8]) -> Vec<String> {
        self.rest.extend_from_slice(bytes);
        let mut frames = Vec::new();
        let mut start = 0;
        while let Some(length) = self.rest[start..].iter().position(|byte| *byte == b'\n') {
            let line = String::from_utf8_lossy(&self.rest[start..start + length]).into_owned();
            start += length + 1;
            let line = line.trim_end_matches('\r');
            if line.is_empty() {
                if !self.data.is_empty() {
                    frames.push(std::mem::take(&mut self.data));
                }
            } else if let Some(data) = line.strip_prefix("data:") {
                if !self.data.is_empty() {
                    self.data.push('\n');
                }
                self.data.push_str(data.strip_prefix(' ').unwrap_or(data));
            }
            // Ids stand in the events themselves, and comments only keep the connection alive.
        }
        self.rest.drain(..start);
        frames
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_found_whatever_pieces_they_come_in() {
        let stream = ": hello\n\nid: 1\ndata: {\"a\":\"ü\"}\n\r\nid:2\r\ndata:one\r\ndata: two\r\n\r\ndata: unfinished";
        for size in 1..stream.len() {
            let mut frames = Frames::default();
            let found: Vec<String> = stream.as_bytes().chunks(size).flat_map(|piece| frames.push(piece)).collect();
            assert_eq!(found, ["{\"a\":\"ü\"}", "one\ntwo"], "{size}");
        }
    }
}
