//! `interlingua show`: a log as a transcript for people.

mod live;
mod style;
mod transcript;

use std::io::{self, BufRead, Write};

use anyhow::Context as _;
use interlingua_convert::{Conversion, ConversionOptions, convert_log, converter_for};
use interlingua_schema::UniversalEvent;
use interlingua_wirelog::{Entry, Input, Reader};

pub(crate) use self::style::{Styles, sanitize};
pub(crate) use self::transcript::Transcript;
use crate::Outcome;
use crate::agent_log;
use crate::output::Output;

/// Show a log as a readable transcript: messages, tool calls, diffs, and the usage at the end.
///
/// Accepts an agent's log or universal events. Uses colours on a terminal, unless `NO_COLOR` is set.
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
    /// Agent of the log: claude, codex, opencode or amp [default: detected from the log]
    #[arg(long, value_name = "AGENT")]
    agent: Option<String>,
    /// Show the complete output of tools
    #[arg(long)]
    full: bool,
}

/// Runs the command.
///
/// # Errors
/// If the log cannot be read, its agent cannot be detected, or the output cannot be written.
pub fn run(args: &Args) -> anyhow::Result<Outcome> {
    let given = agent_log::parse_agent(args.agent.as_deref())?;
    let output = Output::new();
    let file = args.file.as_str();
    let cannot_read = || format!("cannot read {file}");
    let mut reader = Reader::new(agent_log::open(file, &output)?).with_context(cannot_read)?;
    let mut transcript = Transcript::new(output, Styles::for_stdout(), args.full);
    let is_universal =
        reader.is_plain() && given.is_none() && starts_with_event(&mut reader).with_context(cannot_read)?;
    if is_universal {
        show_events(&mut reader, &mut transcript).with_context(cannot_read)?;
    } else {
        let agent = agent_log::resolve_agent(file, &mut reader, given)?;
        let mut stream = Conversion::new(converter_for(agent), ConversionOptions::default());
        convert_log(&mut reader, &mut stream, |event| transcript.write_event(&event)).with_context(cannot_read)?;
    }
    transcript.finish()?;
    Ok(Outcome::Success)
}

fn starts_with_event<R: BufRead>(reader: &mut Reader<R>) -> io::Result<bool> {
    Ok(reader.peek(1)?.next().is_some_and(|line| agent_log::is_universal_event(&line)))
}

fn show_events<R: BufRead, W: Write>(reader: &mut Reader<R>, transcript: &mut Transcript<W>) -> io::Result<()> {
    while let Some(entry) = reader.next()? {
        match entry {
            Entry::Record(record) => {
                let Input::Received(line) = record.input else { continue };
                match serde_json::from_str::<UniversalEvent>(&line) {
                    Ok(event) => transcript.write_event(&event)?,
                    Err(error) => transcript.write_unparsed(&error.to_string())?,
                }
            }
            Entry::Invalid(line) => transcript.write_unparsed(&line.to_string())?,
        }
    }
    Ok(())
}
