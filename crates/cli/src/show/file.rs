//! Writing a transcript to a file.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use interlingua_transcript::{TranscriptFormat, TranscriptWriter};

use crate::output::Output;

/// The format of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FileFormat {
    Html,
    Markdown,
}

/// A transcript that is written to a file or to standard output.
pub(super) struct TranscriptFile {
    pub(super) transcript: TranscriptWriter<Box<dyn Write>>,
    path: Option<PathBuf>,
}

impl TranscriptFile {
    /// Creates the file. The title of the transcript is the name of the log.
    pub(super) fn create(format: FileFormat, log: &str, path: Option<&str>) -> anyhow::Result<Self> {
        let path = path.map(PathBuf::from);
        let out: Box<dyn Write> = match &path {
            Some(path) => {
                if is_same_file(log, path) {
                    bail!("{log} is the log to read; write the transcript to another file");
                }
                let file = File::create(path).with_context(|| format!("cannot write {}", path.display()))?;
                Box::new(BufWriter::new(file))
            }
            None => Box::new(Output::new()),
        };
        let format = match format {
            FileFormat::Html => TranscriptFormat::Html,
            FileFormat::Markdown => TranscriptFormat::Markdown,
        };
        let mut transcript = TranscriptWriter::new(out, format);
        if let Some(name) = Path::new(log).file_name().filter(|_| log != "-") {
            transcript = transcript.title(name.to_string_lossy());
        }
        Ok(Self { transcript, path })
    }

    /// Writes the end, and says where the file is.
    pub(super) fn finish(self) -> io::Result<()> {
        self.transcript.finish()?;
        if let Some(path) = self.path {
            eprintln!("wrote {}", path.display());
        }
        Ok(())
    }
}

fn is_same_file(log: &str, path: &Path) -> bool {
    matches!((fs::canonicalize(log), fs::canonicalize(path)), (Ok(log), Ok(path)) if log == path)
}
