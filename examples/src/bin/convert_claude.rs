//! Converts what `claude -p --output-format stream-json --verbose` prints into universal events.
//!
//! ```console
//! $ claude -p hi --output-format stream-json --verbose | cargo run -p interlingua-examples --bin convert_claude
//! ```

use std::io::{self, BufReader};

use interlingua_convert::claude::ClaudeConverter;
use interlingua_convert::{Conversion, ConversionOptions, convert_log};
use interlingua_schema::{Checker, EventData};
use interlingua_wirelog::Reader;

fn main() -> io::Result<()> {
    let mut reader = Reader::new(BufReader::new(io::stdin().lock()))?;
    let mut conversion = Conversion::new(ClaudeConverter::default(), ConversionOptions::default());
    let mut checker = Checker::new();
    convert_log(&mut reader, &mut conversion, |event| {
        for violation in checker.push(&event) {
            eprintln!("event {}: {violation}", event.sequence);
        }
        match &event.data {
            EventData::ItemDelta(delta) => print!("{}", delta.delta),
            EventData::ItemCompleted(_) => println!(),
            EventData::TurnEnded(turn) => println!("[{}]", turn.status.as_str()),
            _ => {}
        }
        Ok(())
    })?;
    let stats = conversion.stats();
    eprintln!("{} payloads, {} not understood", stats.payloads, stats.unparsed);
    Ok(())
}
