//! The log of the server.

use std::io::{self, IsTerminal as _};

use anyhow::{Context as _, anyhow};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::{SubscriberBuilder, format};

/// Target of the log lines that a JSON log always contains, even if the filter excludes everything else.
pub(super) const STATUS_TARGET: &str = "interlingua::status";

/// Format of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum LogFormat {
    Text,
    Json,
}

/// A log on standard error. If that is closed or full, the server goes on without its log.
pub(crate) fn log_to_stderr(
    filter: EnvFilter,
) -> SubscriberBuilder<format::DefaultFields, format::Format, EnvFilter, fn() -> io::Stderr> {
    // Internal errors, such as a line that cannot be written, would be printed with `eprintln!`, which panics.
    let writer: fn() -> io::Stderr = io::stderr;
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(writer).log_internal_errors(false)
}

pub(super) fn init_logging(filter: &str, format: LogFormat) -> anyhow::Result<()> {
    // Not `context`: the parser's error repeats its source in its own text.
    let parsed = EnvFilter::try_new(filter).map_err(|error| anyhow!("invalid filter --log {filter}: {error}"));
    // The error itself has to be logged, too.
    let (env_filter, result) = match parsed {
        Ok(env_filter) => (env_filter, Ok(())),
        Err(error) => (EnvFilter::new("info"), Err(error)),
    };
    // It would log the parameters of statements, which have the text of messages and events.
    let env_filter = env_filter.add_directive("tokio_postgres=warn".parse().context("invalid log directive")?);
    match format {
        LogFormat::Text => log_to_stderr(env_filter).with_ansi(io::stderr().is_terminal()).init(),
        LogFormat::Json => {
            let status = format!("{STATUS_TARGET}=info").parse().context("invalid log directive")?;
            log_to_stderr(env_filter.add_directive(status)).json().init();
        }
    }
    result
}
