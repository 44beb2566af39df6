//! Printing events to standard output: as JSON for programs, or as a transcript for people.

use std::io::{self, Write};

use interlingua_schema::UniversalEvent;

use crate::output::Output;
use crate::show::{Styles, Transcript};

/// Prints events as they arrive.
pub(crate) enum Printer {
    /// One JSON object per line.
    Json(Output, Vec<u8>),
    /// A transcript.
    Transcript(Box<Transcript<Output>>, Output),
}

impl Printer {
    pub(crate) fn json() -> Self {
        Self::Json(Output::new(), Vec::new())
    }

    /// A transcript that shows messages while they stream. `full` shows the complete output of tools.
    pub(crate) fn transcript(full: bool) -> Self {
        let output = Output::new();
        let transcript = Transcript::new(output.clone(), Styles::for_stdout(), full).live();
        Self::Transcript(Box::new(transcript), output)
    }

    pub(crate) fn is_transcript(&self) -> bool {
        matches!(self, Self::Transcript(..))
    }

    /// Shows the id of each request in a transcript. JSON has them anyway.
    pub(crate) fn show_request_ids(&mut self) {
        if let Self::Transcript(transcript, _) = self {
            transcript.show_request_ids();
        }
    }

    /// Notes that a prompt has shown a request, so that the transcript need not repeat what was asked.
    pub(crate) fn note_request(&mut self, id: &str) {
        if let Self::Transcript(transcript, _) = self {
            transcript.note_request(id);
        }
    }

    /// Prints an event at once.
    pub(crate) fn print(&mut self, event: &UniversalEvent) -> io::Result<()> {
        self.write(event)?;
        self.flush()
    }

    /// Writes an event to the output, which [`Self::flush`] makes visible.
    pub(crate) fn write(&mut self, event: &UniversalEvent) -> io::Result<()> {
        match self {
            Self::Json(output, line) => {
                line.clear();
                event.write_json(line)?;
                line.push(b'\n');
                output.write_all(line)
            }
            Self::Transcript(transcript, _) => transcript.write_event(event),
        }
    }

    pub(crate) fn has_unflushed_output(&self) -> bool {
        let (Self::Json(output, _) | Self::Transcript(_, output)) = self;
        output.has_unflushed()
    }

    pub(crate) fn flush(&mut self) -> io::Result<()> {
        let (Self::Json(output, _) | Self::Transcript(_, output)) = self;
        output.flush()
    }

    /// Prints the summary at the end of a transcript.
    pub(crate) fn finish(self) -> io::Result<()> {
        match self {
            Self::Json(mut output, _) => output.flush(),
            Self::Transcript(transcript, _) => transcript.finish(),
        }
    }
}
