//! `interlingua schema`: what a universal event looks like, for machines.

use std::io::Write as _;

use crate::Outcome;
use crate::output::Output;

/// Print the JSON Schema of a universal event.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  interlingua schema > universal-event.schema.json")]
pub struct Args {}

/// Runs the command.
///
/// # Errors
/// When the output cannot be written.
pub fn run(_: &Args) -> anyhow::Result<Outcome> {
    let mut output = Output::new();
    serde_json::to_writer_pretty(&mut output, &interlingua_schema::json_schema())?;
    output.write_all(b"\n")?;
    output.flush()?;
    Ok(Outcome::Fine)
}
