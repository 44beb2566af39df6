//! `interlingua show`: a log as a transcript for people.

mod live;
mod paint;
mod transcript;

use std::io::{self, BufRead, Write};

use anyhow::Context as _;
use interlingua_convert::{Conversion, ConversionOptions, convert_log, converter_for};
use interlingua_schema::UniversalEvent;
use interlingua_wirelog::{Entry, Input, Reader};

pub(crate) use self::paint::{Paint, tame};
pub(crate) use self::transcript::Transcript;
use crate::Outcome;
use crate::log;
use crate::output::Output;

/// Show a log as a readable transcript: who said what, tools, diffs, and the usage at the end.
///
/// Takes an agent's log or universal events. In colour on a terminal, unless `NO_COLOR` is set; plain elsewhere.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  interlingua show recording.jsonl
  interlingua convert recording.jsonl | interlingua show -
  claude -p hi --output-format stream-json --verbose | interlingua show -")]
pub struct Args {
    /// An agent's log or universal events, or `-` for standard input
    #[arg(value_name = "FILE|-")]
    file: String,
    /// Whose log it is: claude, codex, opencode or amp; found out from the log when left out
    #[arg(long, value_name = "AGENT")]
    agent: Option<String>,
    /// Show the output of tools whole
    #[arg(long)]
    full: bool,
}

/// Runs the command.
///
/// # Errors
/// When the log cannot be read, nobody can tell whose it is, or the output cannot be written.
pub fn run(args: &Args) -> anyhow::Result<Outcome> {
    let given = log::named(args.agent.as_deref())?;
    let output = Output::new();
    let file = args.file.as_str();
    let cannot_read = || format!("cannot read {file}");
    let mut reader = Reader::new(log::open(file, &output)?).with_context(cannot_read)?;
    let mut transcript = Transcript::new(output, Paint::for_stdout(), args.full);
    let universal =
        reader.is_plain() && given.is_none() && first_is_universal(&mut reader).with_context(cannot_read)?;
    if universal {
        show_events(&mut reader, &mut transcript).with_context(cannot_read)?;
    } else {
        let agent = log::agent(file, &mut reader, given)?;
        let mut stream = Conversion::new(converter_for(agent), ConversionOptions::default());
        convert_log(&mut reader, &mut stream, |event| transcript.event(&event)).with_context(cannot_read)?;
    }
    transcript.finish()?;
    Ok(Outcome::Success)
}

fn first_is_universal<R: BufRead>(reader: &mut Reader<R>) -> io::Result<bool> {
    Ok(reader.peek(1)?.next().is_some_and(|line| log::is_universal(&line)))
}

fn show_events<R: BufRead, W: Write>(reader: &mut Reader<R>, transcript: &mut Transcript<W>) -> io::Result<()> {
    while let Some(entry) = reader.next()? {
        match entry {
            Entry::Record(record) => {
                let Input::Received(line) = record.input else { continue };
                match serde_json::from_str::<UniversalEvent>(&line) {
                    Ok(event) => transcript.event(&event)?,
                    Err(error) => transcript.unreadable(&error.to_string())?,
                }
            }
            Entry::Invalid(bad) => transcript.unreadable(&bad.to_string())?,
        }
    }
    Ok(())
}
