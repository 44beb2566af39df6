//! Reads a log. Every line is an entry or an error, and a record that was written is read as it was.

#![no_main]

use interlingua_wirelog::{Entry, Header, Reader, Writer};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let mut reader = Reader::with_max_line_bytes(data, 1 << 12).expect("memory can be read");
    let _ = reader.peek(3).expect("memory can be read").count();
    let mut records = Vec::new();
    while let Some(entry) = reader.next().expect("memory can be read") {
        if let Entry::Record(record) = entry {
            records.push(record);
        }
    }
    let mut writer = Writer::new(Vec::new(), &Header::new("claude")).expect("memory can be written");
    for record in &records {
        writer.write(record).expect("memory can be written");
    }
    let written = writer.into_inner();
    let mut reader = Reader::new(written.as_slice()).expect("memory can be read");
    for record in records {
        match reader.next().expect("memory can be read") {
            Some(Entry::Record(read)) => assert_eq!(read, record),
            other => panic!("expected {record:?}, found {other:?}"),
        }
    }
    assert!(matches!(reader.next(), Ok(None)));
});
