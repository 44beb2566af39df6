//! `interlingua ui`: a server and its page in a browser.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, bail};

use crate::Outcome;
use crate::mock_args::MockArgs;
use crate::output::print_notice;
use crate::store_args::StoreArgs;

/// Name of the file in the data directory that sends the browser to the page.
const LAUNCH_FILE: &str = "open-inspector.html";

/// Open the inspector: run agents and look at their sessions in the browser.
///
/// Starts a server on a free port with a token of its own, and opens its page. The server ends with this command.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The page shows the sessions of the data directory. Run any agent from it, answer what it asks, look at every event beside \
the line that the agent sent, and export transcripts. The mock agent needs no key.

One server at a time uses a data directory. If one runs already, open http://ADDRESS/ui/ in a browser instead.

Examples:
  interlingua ui
  interlingua ui --no-open --port 8080")]
pub struct Args {
    /// Print the address of the page, and open no browser
    #[arg(long)]
    no_open: bool,
    /// Directory for sessions and agents [default: ~/.local/share/interlingua]
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,
    /// Port to listen on [default: a free one]
    #[arg(long, value_name = "PORT", default_value_t = 0, hide_default_value = true)]
    port: u16,
    /// What to log: error, warn, info, debug, trace, or a filter such as `interlingua_server=debug`
    #[arg(long, value_name = "FILTER", default_value = "warn")]
    log: String,
    #[command(flatten)]
    mock: MockArgs,
    #[command(flatten)]
    store: StoreArgs,
}

/// Runs the server until it receives SIGINT or SIGTERM.
///
/// # Errors
/// If the program does not contain the page, or the server cannot start.
pub fn run(args: Args) -> anyhow::Result<Outcome> {
    if !interlingua_inspector::is_built() {
        bail!(
            "this build does not include the inspector; run `cargo xtask inspector`, which needs Node 20.19 or newer, \
             then rebuild `interlingua`"
        );
    }
    let Args { no_open, data_dir, port, log, mock, store } = args;
    crate::server::run_for_page(data_dir, port, &log, mock, store, |data_dir, url, token| {
        // The fragment of an address is not sent to the server, and is in no log.
        let page = format!("{url}/ui/#token={token}");
        print_notice(format_args!("The inspector is at {page}\nCtrl-C stops it."));
        if no_open {
            return None;
        }
        let launch =
            LaunchFile::create(data_dir, &page).and_then(|file| file.open().map(|()| file)).inspect_err(|error| {
                print_notice(format_args!("cannot open a browser: {error:#}; open the address above"));
            });
        launch.ok()
    })?;
    Ok(Outcome::Success)
}

/// A file that only its owner can read and that leads to the page. The browser is started with the path of the file,
/// because other users can see the arguments of a process. It is removed when the server ends.
#[derive(Debug)]
pub(crate) struct LaunchFile(PathBuf);

impl LaunchFile {
    fn create(data_dir: &Path, page: &str) -> anyhow::Result<Self> {
        let path = data_dir.join(LAUNCH_FILE);
        // A file that another run left may have other permissions.
        let _ = fs::remove_file(&path);
        let mut file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&path)
            .with_context(|| format!("cannot write {}", path.display()))?;
        write!(
            file,
            "<!doctype html>\n<meta charset=\"utf-8\">\n<title>Interlingua</title>\n\
             <meta http-equiv=\"refresh\" content=\"0; url={page}\">\n<a href=\"{page}\">Open the inspector</a>\n"
        )?;
        Ok(Self(path))
    }

    fn open(&self) -> anyhow::Result<()> {
        let program = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
        Command::new(program)
            .arg(&self.0)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .with_context(|| format!("cannot run {program}"))?;
        Ok(())
    }
}

impl Drop for LaunchFile {
    fn drop(&mut self) {
        // It may be gone with the data directory.
        let _ = fs::remove_file(&self.0);
    }
}
