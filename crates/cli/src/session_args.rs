//! What a session is created with, for the commands that create one.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use serde_json::Value;

/// What a session is created with.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Session")]
pub(crate) struct SessionArgs {
    /// The agent's mode: build, plan, custom or one of its own
    #[arg(long, value_name = "MODE")]
    pub(crate) agent_mode: Option<String>,
    /// What the agent may do without asking: default, plan, bypass or acceptEdits
    #[arg(long, value_name = "MODE")]
    pub(crate) permission_mode: Option<String>,
    /// The model
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: Option<String>,
    /// The model's variant
    #[arg(long, value_name = "VARIANT")]
    pub(crate) variant: Option<String>,
    /// The agent's version
    #[arg(long, value_name = "VERSION")]
    pub(crate) agent_version: Option<String>,
    /// The agent's working directory
    #[arg(long, value_name = "FOLDER")]
    pub(crate) directory: Option<PathBuf>,
    /// What to call the session
    #[arg(long, value_name = "TEXT")]
    pub(crate) title: Option<String>,
    /// An environment variable for the agent: NAME=VALUE, or NAME to pass on the one that is set here; can be repeated
    #[arg(long, value_name = "NAME[=VALUE]")]
    env: Vec<String>,
    /// MCP servers for the agent: a JSON file that maps names to {"command": …, "args": […], "env": {…}} or
    /// {"url": …, "headers": {…}}
    #[arg(long, value_name = "FILE")]
    mcp: Option<PathBuf>,
}

impl SessionArgs {
    /// The environment variables that were asked for.
    pub(crate) fn environment(&self) -> anyhow::Result<BTreeMap<String, String>> {
        self.env
            .iter()
            .map(|given| match given.split_once('=') {
                Some((name, value)) => Ok((name.to_owned(), value.to_owned())),
                None => match std::env::var(given) {
                    Ok(value) => Ok((given.clone(), value)),
                    Err(_) => bail!("--env {given}: it is not set here; give a value with {given}=…"),
                },
            })
            .collect()
    }

    /// The MCP servers that were asked for, as JSON.
    pub(crate) fn mcp(&self) -> anyhow::Result<Option<Value>> {
        self.mcp.as_deref().map(read_json).transpose()
    }
}

fn read_json(file: &Path) -> anyhow::Result<Value> {
    let text = fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    // The text may hold secrets, which serde would repeat.
    serde_json::from_str(&text).map_err(|error| {
        anyhow::anyhow!("{} is not JSON (line {}, column {})", file.display(), error.line(), error.column())
    })
}
