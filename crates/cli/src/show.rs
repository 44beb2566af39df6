//! `interlingua show`: a log as a transcript for people, on the terminal or as a file.

mod file;
mod live;
mod style;
mod transcript;

use std::io::{self, BufRead};
use std::path::Path;

use anyhow::{Context as _, bail};
use interlingua_convert::{Conversion, ConversionOptions, convert_log, converter_for};
use interlingua_history::EventSinkFn;
use interlingua_schema::UniversalEvent;
use interlingua_wirelog::{Entry, Input, Reader};

pub(crate) use interlingua_transcript::sanitize;

use self::file::{FileFormat, TranscriptFile};
pub(crate) use self::style::Styles;
pub(crate) use self::transcript::{Transcript, truncate};
use crate::Outcome;
use crate::agent_log;
use crate::history::{self, History};
use crate::output::Output;

/// Show a log as a readable transcript: messages, tool calls, diffs, and the usage at the end.
///
/// Accepts an agent's log or universal events. Uses colours on a terminal, unless `NO_COLOR` is set. With --html it
/// writes one HTML file that opens without a server, has no script and loads nothing.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  interlingua show recording.jsonl
  interlingua show recording.jsonl --html transcript.html
  interlingua convert recording.jsonl | interlingua show - --markdown > transcript.md
  claude -p hi --output-format stream-json --verbose | interlingua show -")]
pub struct Args {
    /// An agent's log or universal events, or `-` for standard input
    #[arg(value_name = "FILE|-", required_unless_present_any = ["html", "markdown"])]
    file: Option<String>,
    /// Agent of the log: claude, codex, opencode, amp or acp [default: detected from the log]
    #[arg(long, value_name = "AGENT")]
    agent: Option<String>,
    /// Show the complete output of tools
    #[arg(long)]
    full: bool,
    /// Write an HTML transcript to this file [default: standard output]
    #[arg(long, value_name = "OUTPUT", num_args = 0..=1, conflicts_with = "full")]
    #[expect(clippy::option_option, reason = "clap's type of an option with an optional value")]
    html: Option<Option<String>>,
    /// Write a Markdown transcript to this file [default: standard output]
    #[arg(long, value_name = "OUTPUT", num_args = 0..=1, conflicts_with_all = ["full", "html"])]
    #[expect(clippy::option_option, reason = "clap's type of an option with an optional value")]
    markdown: Option<Option<String>>,
}

impl Args {
    /// The log to read, and the file to write if there is one.
    ///
    /// In `show --html recording.jsonl` the parser takes the log for the output.
    fn files(&self) -> anyhow::Result<(&str, Option<FileFormat>, Option<&str>)> {
        let format = match (&self.html, &self.markdown) {
            (Some(_), _) => Some(FileFormat::Html),
            (None, Some(_)) => Some(FileFormat::Markdown),
            (None, None) => None,
        };
        let output = self.html.as_ref().or(self.markdown.as_ref()).and_then(Option::as_deref);
        match (self.file.as_deref(), output) {
            (Some(input), output) => Ok((input, format, output.filter(|output| *output != "-"))),
            (None, Some(input)) => Ok((input, format, None)),
            (None, None) => bail!("no log to show; name a file, or use `-` for standard input"),
        }
    }
}

/// Where a transcript is written to.
enum Target {
    Terminal(Box<Transcript<Output>>),
    File(Box<TranscriptFile>),
}

impl Target {
    fn write_event(&mut self, event: &UniversalEvent) -> io::Result<()> {
        match self {
            Self::Terminal(transcript) => transcript.write_event(event),
            Self::File(file) => file.transcript.write_event(event),
        }
    }

    fn finish(self) -> io::Result<()> {
        match self {
            Self::Terminal(transcript) => transcript.finish(),
            Self::File(file) => file.finish(),
        }
    }

    fn write_unparsed(&mut self, reason: &str) -> io::Result<()> {
        match self {
            Self::Terminal(transcript) => transcript.write_unparsed(reason),
            Self::File(file) => file.transcript.write_unparsed(reason),
        }
    }
}

/// Runs the command.
///
/// # Errors
/// If the log cannot be read, its agent cannot be detected, or the output cannot be written.
pub fn run(args: &Args) -> anyhow::Result<Outcome> {
    let given = agent_log::parse_agent(args.agent.as_deref())?;
    let output = Output::new();
    let (file, format, output_path) = args.files()?;
    let cannot_read = || format!("cannot read {file}");
    if given.is_none() && history::is_history(file)? {
        let target = match format {
            Some(format) => Target::File(Box::new(TranscriptFile::create(format, file, output_path)?)),
            None => Target::Terminal(Box::new(Transcript::new(output, Styles::for_stdout(), args.full))),
        };
        return show_sessions(&History::open(Path::new(file))?, target);
    }
    let mut reader = Reader::new(agent_log::open(file, &output)?).with_context(cannot_read)?;
    let mut target = match format {
        Some(format) => Target::File(Box::new(TranscriptFile::create(format, file, output_path)?)),
        None => Target::Terminal(Box::new(Transcript::new(output, Styles::for_stdout(), args.full))),
    };
    let is_universal =
        reader.is_plain() && given.is_none() && starts_with_event(&mut reader).with_context(cannot_read)?;
    if is_universal {
        show_events(&mut reader, &mut target).with_context(cannot_read)?;
    } else {
        let agent = agent_log::resolve_agent(file, &mut reader, given)?;
        let mut stream = Conversion::new(converter_for(agent), ConversionOptions::default());
        convert_log(&mut reader, &mut stream, |event| target.write_event(&event)).with_context(cannot_read)?;
    }
    target.finish()?;
    Ok(Outcome::Success)
}

/// Shows sessions of a history on the terminal.
pub(crate) fn show_history(history: &History) -> anyhow::Result<Outcome> {
    let transcript = Transcript::new(Output::new(), Styles::for_stdout(), false);
    show_sessions(history, Target::Terminal(Box::new(transcript)))
}

fn show_sessions(history: &History, mut target: Target) -> anyhow::Result<Outcome> {
    let mut report = history.report.clone();
    for session in &history.sessions {
        let shown = history.convert(session, false, &mut EventSinkFn::new(|event| target.write_event(&event)))?;
        report.merge(shown);
    }
    target.finish()?;
    Ok(history::outcome(&report, false))
}

fn starts_with_event<R: BufRead>(reader: &mut Reader<R>) -> io::Result<bool> {
    Ok(reader.peek(1)?.next().is_some_and(|line| agent_log::is_universal_event(&line)))
}

fn show_events<R: BufRead>(reader: &mut Reader<R>, target: &mut Target) -> io::Result<()> {
    while let Some(entry) = reader.next()? {
        match entry {
            Entry::Record(record) => {
                let Input::Received(line) = record.input else { continue };
                match serde_json::from_str::<UniversalEvent>(&line) {
                    Ok(event) => target.write_event(&event)?,
                    Err(error) => target.write_unparsed(&error.to_string())?,
                }
            }
            Entry::Invalid(line) => target.write_unparsed(&line.to_string())?,
        }
    }
    Ok(())
}
