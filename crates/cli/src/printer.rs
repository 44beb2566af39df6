//! Events on standard output: as JSON for machines, as a transcript for people.

use std::io::{self, Write};

use interlingua_schema::UniversalEvent;

use crate::output::Output;
use crate::show::{Paint, Transcript};

/// Prints events as they come.
pub(crate) enum Printer {
    /// One JSON object a line.
    Json(Output, Vec<u8>),
    /// A transcript.
    Transcript(Box<Transcript<Output>>, Output),
}

impl Printer {
    pub(crate) fn json() -> Self {
        Self::Json(Output::new(), Vec::new())
    }

    /// Shows what is said while it is said; `full` shows the output of tools whole.
    pub(crate) fn transcript(full: bool) -> Self {
        let output = Output::new();
        let transcript = Transcript::new(output.clone(), Paint::for_stdout(), full).live();
        Self::Transcript(Box::new(transcript), output)
    }

    pub(crate) fn event(&mut self, event: &UniversalEvent) -> io::Result<()> {
        match self {
            Self::Json(output, line) => {
                line.clear();
                event.write_json(line)?;
                line.push(b'\n');
                output.write_all(line)?;
            }
            Self::Transcript(transcript, _) => transcript.event(event)?,
        }
        self.flush()
    }

    pub(crate) fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Json(output, _) | Self::Transcript(_, output) => output.flush(),
        }
    }

    /// Shows the sum of it all.
    pub(crate) fn finish(self) -> io::Result<()> {
        match self {
            Self::Json(mut output, _) => output.flush(),
            Self::Transcript(transcript, _) => transcript.finish(),
        }
    }
}
