//! `interlingua schema`: the JSON Schema of universal events and of the envelope.

use std::io::Write as _;

use crate::Outcome;
use crate::output::Output;

/// Print the JSON Schema of a universal event.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  interlingua schema > universal-event.schema.json
  interlingua schema --envelope > envelope.schema.json")]
pub struct Args {
    /// Print the schema of the lines of `interlingua convert --envelope` instead
    #[arg(long)]
    envelope: bool,
}

/// Runs the command.
///
/// # Errors
/// If the output cannot be written.
pub fn run(args: &Args) -> anyhow::Result<Outcome> {
    let mut output = Output::new();
    let schema =
        if args.envelope { interlingua_envelope::envelope_json_schema() } else { interlingua_schema::json_schema() };
    serde_json::to_writer_pretty(&mut output, &schema)?;
    output.write_all(b"\n")?;
    output.flush()?;
    Ok(Outcome::Success)
}
