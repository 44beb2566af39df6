//! `interlingua health`: asks a server whether it works.

use anyhow::Context as _;

use crate::Outcome;
use crate::sessions::ServerArgs;

/// Ask a running server whether it works, for health checks of containers and load balancers.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Exit codes: 0 the server answers, 1 it does not, 2 error.

Examples:
  interlingua health
  interlingua health --endpoint http://127.0.0.1:8080")]
pub struct Args {
    #[command(flatten)]
    server: ServerArgs,
}

/// Runs the command.
///
/// # Errors
/// If the address of the server is invalid.
pub fn run(args: &Args) -> anyhow::Result<Outcome> {
    let client = args.server.client()?;
    let tokio =
        tokio::runtime::Builder::new_current_thread().enable_all().build().context("cannot start the async runtime")?;
    match tokio.block_on(client.health()) {
        Ok(_) => Ok(Outcome::Success),
        Err(error) => {
            eprintln!("{error}");
            Ok(Outcome::IssuesFound)
        }
    }
}
