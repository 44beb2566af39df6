//! `interlingua config`: checks a configuration file of the server.

use std::io::Write as _;
use std::path::PathBuf;

use anyhow::bail;

use crate::Outcome;
use crate::output::Output;
use crate::server::ConfigFile;

/// Check a configuration file of the server.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The file is TOML. Its keys are the options of `interlingua server` without the dashes, and mean the same:

  listen = [\"tcp://0.0.0.0:2468\", \"unix:/run/interlingua/server.sock\"]
  data-dir = \"/var/lib/interlingua\"
  tls-cert = \"/etc/interlingua/cert.pem\"
  tls-key = \"/etc/interlingua/key.pem\"
  retain = \"30d\"
  drain = \"10m\"
  fs = true

Exit codes: 0 no errors, 1 errors found, 2 the file cannot be read.

Examples:
  interlingua config check /etc/interlingua/server.toml")]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Print what is wrong in a configuration file: each error with its line, its key and the key that was probably meant
    Check {
        /// The file
        file: PathBuf,
    },
}

/// Runs the command.
///
/// # Errors
/// If the file cannot be read.
pub fn run(args: Args) -> anyhow::Result<Outcome> {
    let Command::Check { file: path } = args.command;
    if path.is_dir() {
        bail!("{} is a directory; expected a file", path.display());
    }
    let errors = match ConfigFile::read(&path)? {
        Ok(file) => crate::server::check_files(&file)?,
        Err(errors) => errors,
    };
    let mut output = Output::new();
    for error in &errors {
        writeln!(output, "{error}")?;
    }
    if errors.is_empty() {
        writeln!(output, "{}: no errors", path.display())?;
    }
    output.flush()?;
    Ok(Outcome::issues_if(!errors.is_empty()))
}
