//! OpenCode: one HTTP server for all sessions, with a random password.
//!
//! Requests are sent over HTTP. Events arrive in one stream per directory, from which each session takes those that
//! concern it. OpenCode stores its sessions, so resuming one takes no request.
//!
//! Sessions with the same program, environment and MCP servers share a server. OpenCode configures MCP servers per
//! directory and not per session, so a session with MCP servers has a server that is configured with them.

mod connection;
mod event_header;
mod event_stream;
mod options;
mod server;

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use interlingua_convert::{Agent, Launch};
use interlingua_native::HttpRequest;
use interlingua_protocol::opencode::{
    self, AgentMode, CONFIGURATION_VARIABLE, Config, ProviderListResponse, Request, Requests, serve_arguments,
};

use super::installed::InstalledAgent;
use super::shared_servers::{SharedServers, collect_commands_during};
use crate::agents::{Mode, Model, Models, ServerStatus};
use crate::driver::{CommandReceiver, OutputSender, ServeError, ServeOutcome, SessionOption, SessionSpec};
use crate::environment::Environment;
use crate::error::Refusal;
use crate::install::{Installation, InstalledProgram, LaunchConfig};
use crate::mcp::McpServers;
use crate::process::Program;
use crate::process_environment::process_environment;
use connection::Connection;
use server::HttpServer;

/// Variables of the server's environment that OpenCode inherits: its settings, and the keys of its providers.
const INHERITED_VARIABLES: [&str; 19] = [
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
/// Variables that are set for every process. They keep an installed agent from updating itself.
const FIXED_VARIABLES: [(&str, &str); 1] = [("OPENCODE_DISABLE_AUTOUPDATE", "1")];
/// Port 0: the server chooses a free one.
const ANY_PORT: u16 = 0;

/// What sessions must have in common to share a server.
#[derive(PartialEq)]
struct ServerKey {
    program: PathBuf,
    env: Environment,
    mcp: McpServers,
}

/// OpenCode.
pub(crate) struct OpenCodeAgent {
    installation: Installation,
    servers: SharedServers<ServerKey, HttpServer>,
    /// Names of the modes, after they were listed.
    modes: Mutex<Option<Vec<String>>>,
}

impl OpenCodeAgent {
    pub(crate) fn new(config: &LaunchConfig) -> Self {
        Self {
            installation: Installation::new(Self::AGENT, config),
            servers: SharedServers::new(Self::AGENT.id()),
            modes: Mutex::default(),
        }
    }

    async fn start_server(
        &self,
        installed: &InstalledProgram,
        env: &Environment,
        mcp: &McpServers,
    ) -> Result<Arc<HttpServer>, ServeError> {
        let server_key = ServerKey { program: installed.path.clone(), env: env.clone(), mcp: mcp.clone() };
        let mut variables = process_environment(&INHERITED_VARIABLES, &FIXED_VARIABLES, env);
        if !mcp.is_empty() {
            add_mcp_servers(&mut variables, mcp);
        }
        let program = Program {
            path: installed.path.clone(),
            args: serve_arguments(ANY_PORT),
            env: variables,
            directory: std::env::temp_dir(),
        };
        let version = installed.semver();
        let start = |running| HttpServer::start(self.installation.supervisor(), program, version, running);
        self.servers.get(server_key, start).await
    }

    async fn run(
        &self,
        spec: SessionSpec,
        mut commands: CommandReceiver,
        output: OutputSender,
    ) -> Result<ServeOutcome, ServeError> {
        let installed = self.installation.find_program(spec.agent_version.as_deref())?;
        let connecting = async {
            let server = self.start_server(&installed, &spec.env, &spec.mcp).await?;
            let program = Self::AGENT.descriptor().program.to_owned();
            let argv = std::iter::once(program).chain(serve_arguments(ANY_PORT)).collect();
            output.send_launch(Launch::new(installed.version.clone(), argv)).await;
            Connection::open(server, spec.clone(), output.clone()).await
        };
        let Some((connection, early_commands)) = collect_commands_during(&mut commands, connecting).await else {
            return Ok(ServeOutcome::Stopped);
        };
        drop(output);
        connection?.run(early_commands, commands).await
    }

    /// Sends a request that belongs to no session, and waits for the answer.
    async fn query<R>(&self, request: impl FnOnce(&Requests) -> R) -> Result<R::Response, ServeError>
    where
        R: HttpRequest,
        Request: From<R>,
    {
        let installed = self.installation.find_program(None)?;
        let server = self.start_server(&installed, &Environment::default(), &McpServers::default()).await?;
        let directory = std::env::current_dir().unwrap_or_else(|_| std::env::temp_dir());
        let request = Request::from(request(&Requests::in_directory(&directory)));
        let failed = |reason: String| {
            ServeError::Unavailable(format!("request {} {} to OpenCode failed: {reason}", R::METHOD, R::PATH))
        };
        let reply = server.send(server.to_call(&request)).await.map_err(failed)?;
        reply.decode::<R>().map_err(|error| failed(error.to_string()))
    }

    async fn list_modes(&self) -> Result<Vec<Mode>, ServeError> {
        let modes = to_modes(self.query(Requests::list_agents).await?);
        let names = modes.iter().map(|mode| mode.id.clone()).collect();
        *self.modes.lock().unwrap_or_else(PoisonError::into_inner) = Some(names);
        Ok(modes)
    }
}

/// Adds MCP servers to the configuration in an environment.
fn add_mcp_servers(env: &mut Vec<(OsString, OsString)>, mcp: &McpServers) {
    let existing =
        env.iter().position(|(name, _)| name == CONFIGURATION_VARIABLE).map(|index| env.swap_remove(index).1);
    let existing = existing.as_deref().and_then(|text| text.to_str());
    let configuration = opencode::add_to_configuration(existing, &options::mcp_configuration(mcp));
    env.push((CONFIGURATION_VARIABLE.into(), configuration.into()));
}

/// Agents that a user can choose are modes; the others are sub-agents, or hidden.
fn to_modes(agents: Vec<opencode::Agent>) -> Vec<Mode> {
    let is_mode = |agent: &opencode::Agent| agent.mode != Some(AgentMode::Subagent) && agent.hidden != Some(true);
    let modes = agents.into_iter().filter(is_mode).filter_map(|agent| {
        let name = agent.name?;
        Some(Mode::new(name.clone(), name, agent.description.unwrap_or_default()))
    });
    modes.collect()
}

fn to_models(offered: ProviderListResponse, configuration: Config) -> Models {
    // If the user has not chosen a model and there is one provider, its default is the default.
    let defaults = offered.default.unwrap_or_default();
    let mut defaults = defaults.iter().map(|(provider, model)| format!("{provider}/{model}"));
    let only = defaults.next().filter(|_| defaults.next().is_none());
    let providers = offered.providers.unwrap_or_default().into_iter();
    let models = providers.filter_map(|provider| Some((provider.id?, provider.models?))).flat_map(|(id, models)| {
        models.into_iter().map(move |(model, about)| Model {
            id: format!("{id}/{model}"),
            name: about.name,
            variants: about.variants.unwrap_or_default().into_keys().collect(),
            default_variant: None,
        })
    });
    Models { models: models.collect(), default_model: configuration.model.or(only), fallback: false }
}

impl InstalledAgent for OpenCodeAgent {
    const AGENT: Agent = Agent::OpenCode;
    /// The user's configuration decides.
    const DEFAULT_MODE: Option<&'static str> = None;

    fn installation(&self) -> &Installation {
        &self.installation
    }

    /// The model is part of every prompt. The permission rules are part of the session.
    fn refuse_change(&self, field: SessionOption) -> Option<&'static str> {
        match field {
            SessionOption::Model => None,
            SessionOption::PermissionMode => {
                Some("opencode takes its permission rules when it creates the session; create another session")
            }
        }
    }

    fn check(&self, spec: &SessionSpec) -> Result<(), Refusal> {
        let modes = self.modes.lock().unwrap_or_else(PoisonError::into_inner);
        options::check(spec, modes.as_deref())
    }

    async fn modes(&self) -> Result<Vec<Mode>, ServeError> {
        self.list_modes().await
    }

    async fn models(&self) -> Result<Models, ServeError> {
        Ok(to_models(self.query(Requests::list_providers).await?, self.query(Requests::get_configuration).await?))
    }

    async fn serve(
        &self,
        spec: SessionSpec,
        commands: CommandReceiver,
        output: OutputSender,
    ) -> Result<ServeOutcome, ServeError> {
        self.run(spec, commands, output).await
    }

    fn server(&self) -> Option<ServerStatus> {
        Some(self.servers.status())
    }

    async fn shutdown(&self) {
        self.servers.wait_until_stopped().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agents_that_a_user_can_choose_are_modes() {
        let agents = r#"[{"name":"build","mode":"primary"},{"name":"explore","mode":"subagent"},
            {"name":"title","mode":"primary","hidden":true},{"name":"review","mode":"all","description":"Looks it over"}]"#;
        let modes = to_modes(serde_json::from_str(agents).unwrap());
        let names: Vec<&str> = modes.iter().map(|mode| mode.id.as_str()).collect();
        assert_eq!(names, ["build", "review"]);
        assert_eq!(modes[1].description, "Looks it over");
    }

    #[test]
    fn models_are_named_with_their_providers() {
        let providers = r#"{"providers":[{"id":"lab","models":{"one":{"name":"One","variants":{"high":{},"low":{}}}}}],
            "default":{"lab":"one"}}"#;
        let models = to_models(serde_json::from_str(providers).unwrap(), Config::new());
        assert_eq!(models.default_model.as_deref(), Some("lab/one"));
        assert_eq!(models.models[0].id, "lab/one");
        assert_eq!(models.models[0].variants, ["high", "low"]);
    }
}
