//! Writing a wirelog.

use std::io::{self, Write};

use crate::{Header, Record};

/// Writes a wirelog, one line per record.
#[derive(Debug)]
pub struct Writer<W> {
    output: W,
}

impl<W: Write> Writer<W> {
    /// Starts a wirelog: writes its header.
    ///
    /// # Errors
    ///
    /// If the output cannot be written.
    pub fn new(mut output: W, header: &Header) -> io::Result<Self> {
        serde_json::to_writer(&mut output, header)?;
        output.write_all(b"\n")?;
        Ok(Self { output })
    }

    /// Writes a record.
    ///
    /// # Errors
    ///
    /// If the output cannot be written, or a body is not JSON.
    pub fn write(&mut self, record: &Record) -> io::Result<()> {
        serde_json::to_writer(&mut self.output, record)?;
        self.output.write_all(b"\n")
    }

    /// Returns the output.
    pub fn into_inner(self) -> W {
        self.output
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{Entry, Input, Reader};

    #[test]
    fn the_format_is_as_documented() {
        let header = Header { argv: vec!["codex".into()], ..Header::new("codex") };
        let mut writer = Writer::new(Vec::new(), &header).unwrap();
        let line = "{\"method\":\"initialized\"}".to_owned();
        writer.write(&Record { t: Some(445), input: Input::Sent(line) }).unwrap();
        let request = Input::Request { call: 1, method: "GET".into(), path: "/x".into(), body: None };
        writer.write(&Record { t: Some(446), input: request }).unwrap();
        writer.write(&Record { t: Some(447), input: Input::Exit { code: Some(0) } }).unwrap();
        assert_eq!(
            String::from_utf8(writer.into_inner()).unwrap(),
            r#"{"wirelog":1,"agent":"codex","argv":["codex"]}
{"t":445,"dir":"send","line":"{\"method\":\"initialized\"}"}
{"t":446,"dir":"send","call":1,"method":"GET","path":"/x","body":null}
{"t":447,"dir":"exit","code":0}
"#
        );
    }

    proptest! {
        #[test]
        fn a_line_is_read_back_byte_for_byte(line in any::<String>(), t in 0..i64::from(u32::MAX)) {
            let mut writer = Writer::new(Vec::new(), &Header::new("amp")).unwrap();
            let record = Record { t: Some(t), input: Input::Received(line) };
            writer.write(&record).unwrap();
            let log = writer.into_inner();
            let mut reader = Reader::new(log.as_slice()).unwrap();
            prop_assert_eq!(reader.next().unwrap(), Some(Entry::Record(record)));
            prop_assert_eq!(reader.next().unwrap(), None);
        }

        #[test]
        fn reading_any_bytes_does_not_panic(bytes in any::<Vec<u8>>()) {
            for header in [&b""[..], b"{\"wirelog\":1}\n"] {
                let log = [header, &bytes].concat();
                let mut reader = Reader::new(log.as_slice()).unwrap();
                while reader.next().unwrap().is_some() {}
            }
        }
    }
}
