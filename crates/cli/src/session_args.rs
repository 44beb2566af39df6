//! Options of a new session, shared by the commands that create one.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use serde_json::Value;

/// Options of a new session.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Session")]
pub(crate) struct SessionArgs {
    /// The agent's mode: build, plan, custom, or one that only this agent has
    #[arg(long, value_name = "MODE")]
    pub(crate) agent_mode: Option<String>,
    /// What the agent may do without asking: default, plan, bypass or acceptEdits
    #[arg(long, value_name = "MODE")]
    pub(crate) permission_mode: Option<String>,
    /// The model
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: Option<String>,
    /// Variant of the model, such as a reasoning effort
    #[arg(long, value_name = "VARIANT")]
    pub(crate) variant: Option<String>,
    /// The agent's version
    #[arg(long, value_name = "VERSION")]
    pub(crate) agent_version: Option<String>,
    /// The agent's working directory
    #[arg(long, value_name = "DIR")]
    pub(crate) directory: Option<PathBuf>,
    /// Title of the session
    #[arg(long, value_name = "TEXT")]
    pub(crate) title: Option<String>,
    /// Environment variable for the agent: NAME=VALUE, or NAME to pass on its current value; can be repeated
    #[arg(long, value_name = "NAME[=VALUE]")]
    env: Vec<String>,
    /// JSON file with MCP servers for the agent; it maps names to {"command": …, "args": […], "env": {…}} or
    /// {"url": …, "headers": {…}}
    #[arg(long, value_name = "FILE")]
    mcp: Option<PathBuf>,
}

impl SessionArgs {
    /// The environment variables of `--env`.
    pub(crate) fn environment(&self) -> anyhow::Result<BTreeMap<String, String>> {
        self.env
            .iter()
            .map(|argument| match argument.split_once('=') {
                Some((name, value)) => Ok((name.to_owned(), value.to_owned())),
                None => match std::env::var(argument) {
                    Ok(value) => Ok((argument.clone(), value)),
                    Err(_) => bail!("--env {argument}: the variable is not set; give it a value with {argument}=VALUE"),
                },
            })
            .collect()
    }

    /// The MCP servers of `--mcp` as JSON.
    pub(crate) fn mcp(&self) -> anyhow::Result<Option<Value>> {
        self.mcp.as_deref().map(read_json).transpose()
    }
}

/// Reads a JSON file that may contain secrets.
pub(crate) fn read_json(file: &Path) -> anyhow::Result<Value> {
    let text = fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    parse_json(&file.display().to_string(), &text)
}

/// Parses JSON that may contain secrets. `source` is where it comes from.
pub(crate) fn parse_json(source: &str, text: &str) -> anyhow::Result<Value> {
    // serde's message may contain parts of the text.
    serde_json::from_str(text).map_err(|error| {
        anyhow::anyhow!("{source} is not valid JSON (line {}, column {})", error.line(), error.column())
    })
}
