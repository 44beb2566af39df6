//! `interlingua schema`: the JSON Schema of universal events and of the envelope, and the OpenAPI document of the server.

use std::io::Write as _;

use crate::Outcome;
use crate::output::Output;

/// Print the JSON Schema of a universal event.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  interlingua schema > universal-event.schema.json
  interlingua schema --envelope > envelope.schema.json
  interlingua schema --openapi > openapi.json")]
pub struct Args {
    /// Print the schema of the lines of `interlingua convert --envelope` instead
    #[arg(long)]
    envelope: bool,
    /// Print the OpenAPI document of `interlingua server` instead
    #[arg(long, conflicts_with = "envelope")]
    openapi: bool,
}

/// Runs the command.
///
/// # Errors
/// If the output cannot be written.
pub fn run(args: &Args) -> anyhow::Result<Outcome> {
    let mut output = Output::new();
    match (args.envelope, args.openapi) {
        (true, _) => serde_json::to_writer_pretty(&mut output, &interlingua_envelope::envelope_json_schema())?,
        (_, true) => serde_json::to_writer_pretty(&mut output, &interlingua_server::openapi_document())?,
        _ => serde_json::to_writer_pretty(&mut output, &interlingua_schema::json_schema())?,
    }
    output.write_all(b"\n")?;
    output.flush()?;
    Ok(Outcome::Success)
}
