//! A recording as universal events.

use std::io;

use interlingua_convert::{Conversion, ConversionOptions, ConversionStats, convert_log, converter_for};
use interlingua_schema::{Checker, UniversalEvent};

use crate::Recording;

/// What a recording becomes.
#[derive(Debug, Clone)]
pub struct Converted {
    /// The events.
    pub events: Vec<UniversalEvent>,
    /// What became of the payloads.
    pub tally: ConversionStats,
}

impl Converted {
    /// The rules that the events break.
    #[must_use]
    pub fn violations(&self) -> Vec<String> {
        let mut checker = Checker::new();
        self.events.iter().flat_map(|event| checker.push(event)).map(|violation| violation.to_string()).collect()
    }
}

/// Converts a recording the way everything is converted.
///
/// # Errors
/// When it cannot be read.
pub fn convert(recording: &Recording) -> io::Result<Converted> {
    let mut stream = Conversion::new(converter_for(recording.agent), ConversionOptions::default());
    let mut events = Vec::new();
    convert_log(&mut recording.reader()?, &mut stream, |event| {
        events.push(event);
        Ok(())
    })?;
    Ok(Converted { events, tally: stream.stats().clone() })
}
