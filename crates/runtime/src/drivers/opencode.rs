//! OpenCode: one HTTP server for all sessions, with a password that only we know.
//!
//! Requests go in over HTTP; what happens comes out as a stream of events per directory, of which a session takes what
//! concerns it. Sessions stay in OpenCode's own store, so that one that was let go is simply spoken to again.
//!
//! Sessions share a server as long as they want the same program, environment and MCP servers. OpenCode has MCP servers
//! per directory and not per session, so a session that brings its own has a server that is configured with them.

mod events;
mod head;
mod params;
mod server;
mod talk;

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use interlingua_convert::{Agent, Launch};
use reqwest::Method;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;

use super::installed::InstalledAgent;
use super::shared::{Shared, meanwhile};
use crate::agents::{Mode, Model, Models, ServerStatus};
use crate::driver::{Orders, Parting, ServeError, SessionSpec, Wire};
use crate::environment::Environment;
use crate::error::Refusal;
use crate::install::{Found, Installation, Machine};
use crate::mcp::McpServers;
use crate::process::Program;
use crate::variables::variables;
use server::{HttpServer, in_directory};
use talk::Talk;

/// What of the server's environment is OpenCode's: its settings, and the keys of the providers it can use.
const OWN: [&str; 19] = [
    "ANTHROPIC_*",
    "AWS_*",
    "AZURE_*",
    "CEREBRAS_*",
    "CLOUDFLARE_*",
    "COHERE_*",
    "DEEPSEEK_*",
    "FIREWORKS_*",
    "GEMINI_*",
    "GITHUB_TOKEN",
    "GOOGLE_*",
    "GROQ_*",
    "MISTRAL_*",
    "OPENAI_*",
    "OPENCODE_*",
    "OPENROUTER_*",
    "PERPLEXITY_*",
    "TOGETHER_*",
    "XAI_*",
];
/// An agent that was installed stays as it is.
const SET: [(&str, &str); 1] = [("OPENCODE_DISABLE_AUTOUPDATE", "1")];
const ARGS: [&str; 5] = ["serve", "--hostname", "127.0.0.1", "--port", "0"];
/// The variable that holds configuration.
const CONFIGURATION: &str = "OPENCODE_CONFIG_CONTENT";

/// What sessions have to agree in to share a server.
#[derive(PartialEq)]
struct Wanted {
    program: PathBuf,
    env: Environment,
    mcp: McpServers,
}

/// OpenCode.
pub(crate) struct OpenCodeAgent {
    installation: Installation,
    servers: Shared<Wanted, HttpServer>,
    /// Its modes, once it was asked for them.
    modes: Mutex<Option<Vec<String>>>,
}

impl OpenCodeAgent {
    pub(crate) fn new(machine: &Machine) -> Self {
        Self { installation: Installation::new(Self::AGENT, machine), servers: Shared::new(), modes: Mutex::default() }
    }

    async fn start_server(
        &self,
        found: &Found,
        env: &Environment,
        mcp: &McpServers,
    ) -> Result<Arc<HttpServer>, ServeError> {
        let wanted = Wanted { program: found.path.clone(), env: env.clone(), mcp: mcp.clone() };
        let mut variables = variables(&OWN, &SET, env);
        if !mcp.is_empty() {
            configure(&mut variables, mcp);
        }
        let program = Program {
            path: found.path.clone(),
            args: ARGS.map(str::to_owned).to_vec(),
            env: variables,
            directory: std::env::temp_dir(),
        };
        self.servers.get(wanted, |running| HttpServer::start(self.installation.supervisor(), program, running)).await
    }

    async fn run(&self, spec: SessionSpec, mut orders: Orders, wire: Wire) -> Result<Parting, ServeError> {
        let found = self.installation.program(spec.agent_version.as_deref())?;
        let begun = async {
            let server = self.start_server(&found, &spec.env, &spec.mcp).await?;
            let argv = std::iter::once(Self::AGENT.descriptor().program).chain(ARGS).map(str::to_owned).collect();
            wire.launched(Launch::new(found.version.clone(), argv)).await;
            Talk::begin(server, spec.clone(), wire.clone()).await
        };
        let Some((talk, early)) = meanwhile(&mut orders, begun).await else { return Ok(Parting::Left) };
        drop(wire);
        talk?.go_on(early, orders).await
    }

    /// What the server answers outside of any session.
    async fn ask<T: DeserializeOwned>(&self, path: &str) -> Result<T, ServeError> {
        let found = self.installation.program(None)?;
        let server = self.start_server(&found, &Environment::default(), &McpServers::default()).await?;
        let directory = std::env::current_dir().unwrap_or_else(|_| std::env::temp_dir());
        let failed = |reason: String| ServeError::Unavailable(format!("OpenCode was asked for {path}: {reason}"));
        let answer = server.call(Method::GET, &in_directory(path, &directory), None).await.map_err(failed)?;
        if !answer.is_success() {
            return Err(failed(format!("HTTP status {}", answer.status)));
        }
        serde_json::from_str(answer.body.as_deref().unwrap_or("null")).map_err(|error| failed(error.to_string()))
    }

    async fn list_modes(&self) -> Result<Vec<Mode>, ServeError> {
        let modes = modes(self.ask("/agent").await?);
        let names = modes.iter().map(|mode| mode.id.clone()).collect();
        *self.modes.lock().unwrap_or_else(PoisonError::into_inner) = Some(names);
        Ok(modes)
    }
}

/// Adds MCP servers to the configuration in an environment.
fn configure(env: &mut Vec<(OsString, OsString)>, mcp: &McpServers) {
    let there = env.iter().position(|(name, _)| name == CONFIGURATION).map(|place| env.swap_remove(place).1);
    let configuration = params::with_servers(there.as_deref().and_then(|text| text.to_str()), mcp);
    env.push((CONFIGURATION.into(), configuration.into()));
}

/// One of its agents. Those that are not for sub-agents alone are modes.
#[derive(Deserialize)]
struct Offered {
    name: String,
    #[serde(default)]
    description: String,
    #[serde(default)]
    mode: String,
    #[serde(default)]
    hidden: bool,
}

fn modes(offered: Vec<Offered>) -> Vec<Mode> {
    let offered = offered.into_iter().filter(|agent| agent.mode != "subagent" && !agent.hidden);
    offered.map(|agent| Mode::new(agent.name.clone(), agent.name, agent.description)).collect()
}

#[derive(Deserialize)]
struct Providers {
    providers: Vec<Provider>,
    #[serde(default)]
    default: BTreeMap<String, String>,
}

#[derive(Deserialize)]
struct Provider {
    id: String,
    #[serde(default)]
    models: BTreeMap<String, Known>,
}

#[derive(Deserialize)]
struct Known {
    name: Option<String>,
    #[serde(default)]
    variants: BTreeMap<String, serde_json::Value>,
}

/// What it is configured with.
#[derive(Deserialize)]
struct Configuration {
    model: Option<String>,
}

fn models(offered: Providers, configuration: Configuration) -> Models {
    // Without a choice of the user's, the default of the only provider is the default.
    let mut defaults = offered.default.iter().map(|(provider, model)| format!("{provider}/{model}"));
    let only = defaults.next().filter(|_| defaults.next().is_none());
    let default_model = configuration.model.or(only);
    let models = offered.providers.into_iter().flat_map(|provider| {
        provider.models.into_iter().map(move |(model, known)| Model {
            id: format!("{}/{model}", provider.id),
            name: known.name,
            variants: known.variants.into_keys().collect(),
            default_variant: None,
        })
    });
    Models { models: models.collect(), default_model }
}

impl InstalledAgent for OpenCodeAgent {
    const AGENT: Agent = Agent::OpenCode;

    fn installation(&self) -> &Installation {
        &self.installation
    }

    fn check(&self, spec: &SessionSpec) -> Result<(), Refusal> {
        let modes = self.modes.lock().unwrap_or_else(PoisonError::into_inner);
        params::check(spec, modes.as_deref())
    }

    async fn modes(&self) -> Result<Vec<Mode>, ServeError> {
        self.list_modes().await
    }

    async fn models(&self) -> Result<Models, ServeError> {
        Ok(models(self.ask("/config/providers").await?, self.ask("/config").await?))
    }

    async fn serve(&self, spec: SessionSpec, orders: Orders, wire: Wire) -> Result<Parting, ServeError> {
        self.run(spec, orders, wire).await
    }

    fn server(&self) -> Option<ServerStatus> {
        Some(self.servers.status())
    }

    async fn shutdown(&self) {
        self.servers.ended().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn its_modes_are_the_agents_that_a_user_can_speak_to() {
        let agents = r#"[{"name":"build","mode":"primary"},{"name":"explore","mode":"subagent"},
            {"name":"title","mode":"primary","hidden":true},{"name":"review","mode":"all","description":"Looks it over"}]"#;
        let modes = modes(serde_json::from_str(agents).unwrap());
        let names: Vec<&str> = modes.iter().map(|mode| mode.id.as_str()).collect();
        assert_eq!(names, ["build", "review"]);
        assert_eq!(modes[1].description, "Looks it over");
    }

    #[test]
    fn its_models_are_named_with_their_providers() {
        let providers = r#"{"providers":[{"id":"lab","models":{"one":{"name":"One","variants":{"high":{},"low":{}}}}}],
            "default":{"lab":"one"}}"#;
        let models = models(serde_json::from_str(providers).unwrap(), Configuration { model: None });
        assert_eq!(models.default_model.as_deref(), Some("lab/one"));
        assert_eq!(models.models[0].id, "lab/one");
        assert_eq!(models.models[0].variants, ["high", "low"]);
    }
}
