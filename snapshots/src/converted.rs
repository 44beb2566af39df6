//! A recording as universal events.

use std::io;

use interlingua_convert::{Conversion, ConversionOptions, ConversionStats, convert_log, converter_for};
use interlingua_schema::{Checker, UniversalEvent};

use crate::Recording;

/// The universal stream of a recording.
#[derive(Debug, Clone)]
pub struct ConvertedRecording {
    /// The events.
    pub events: Vec<UniversalEvent>,
    /// How many payloads were converted, dropped, unparsed and unaccounted.
    pub stats: ConversionStats,
}

impl ConvertedRecording {
    /// The violations of the lifecycle rules in the stream.
    #[must_use]
    pub fn violations(&self) -> Vec<String> {
        let mut checker = Checker::new();
        self.events.iter().flat_map(|event| checker.push(event)).map(|violation| violation.to_string()).collect()
    }
}

/// Converts a recording with the default options.
///
/// # Errors
/// If it cannot be read.
pub fn convert(recording: &Recording) -> io::Result<ConvertedRecording> {
    let mut conversion = Conversion::new(converter_for(recording.agent), ConversionOptions::default());
    let mut events = Vec::new();
    convert_log(&mut recording.reader()?, &mut conversion, |event| {
        events.push(event);
        Ok(())
    })?;
    Ok(ConvertedRecording { events, stats: conversion.stats().clone() })
}
