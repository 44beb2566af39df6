//! Codex: one app server for all sessions, JSON-RPC over its standard input and output.
//!
//! A session is a thread. The [router] assigns lines of the server to sessions by thread. A request of the server is
//! answered by the session of its thread, or refused if no host can answer it. A session that was closed is resumed by
//! its thread id. [`interlingua_protocol::codex`] builds requests and decodes answers.
//!
//! Sessions with the same program and environment share a server. A session with `env` has a server with that
//! environment, which it shares with sessions that have the same `env`.

mod line_header;
mod options;
mod router;
mod server;
mod session;

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use interlingua_agents::LoginFile;
use interlingua_convert::{Agent, Input, Launch};
use interlingua_native::Request;
use interlingua_native::codex::Model as OfferedModel;
use interlingua_protocol::codex::{self, HostRequest, decode_answer};
use tokio::time::timeout;

use super::installed::InstalledAgent;
use super::shared_servers::{SharedServers, collect_commands_during};
use crate::agents::{Mode, Model, Models, ServerStatus};
use crate::driver::{CommandReceiver, OutputSender, ServeError, ServeOutcome, SessionOption, SessionSpec};
use crate::environment::Environment;
use crate::error::Refusal;
use crate::install::{Installation, InstalledProgram, LaunchConfig};
use crate::process::Program;
use crate::process_environment::process_environment;
use line_header::LineEvent;
use router::{Inbox, RoutedInput};
use server::AppServer;
use session::CodexSession;

/// Variables of the server's environment that Codex inherits.
const INHERITED_VARIABLES: [&str; 3] = ["AZURE_OPENAI_*", "CODEX_*", "OPENAI_*"];
/// The arguments of an app server that does not update itself.
const ARGS: [&str; 3] = ["app-server", "-c", "check_for_update_on_startup=false"];
/// Additional arguments for a login by key: it is valid for this process only and is not written to disk.
const EPHEMERAL_LOGIN_ARGS: [&str; 2] = ["-c", r#"cli_auth_credentials_store="ephemeral""#];
/// How long Codex may take to list its models.
const LIST_TIMEOUT: Duration = Duration::from_secs(20);
/// Maximum number of pages of the list of models.
const MAX_PAGES: usize = 64;

/// What sessions must have in common to share a server.
#[derive(PartialEq)]
struct ServerKey {
    program: PathBuf,
    env: Environment,
}

/// Codex.
pub(crate) struct CodexAgent {
    installation: Installation,
    servers: SharedServers<ServerKey, AppServer>,
}

impl CodexAgent {
    pub(crate) fn new(config: &LaunchConfig) -> Self {
        Self { installation: Installation::new(Self::AGENT, config), servers: SharedServers::new(Self::AGENT.id()) }
    }

    async fn start_server(
        &self,
        installed: &InstalledProgram,
        env: &Environment,
    ) -> Result<Arc<AppServer>, ServeError> {
        let server_key = ServerKey { program: installed.path.clone(), env: env.clone() };
        let env = process_environment(&INHERITED_VARIABLES, &[], env);
        let api_key = find_api_key(&env);
        let login_args = api_key.iter().flat_map(|_| EPHEMERAL_LOGIN_ARGS);
        let args = ARGS.into_iter().chain(login_args).map(str::to_owned).collect();
        let program = Program { path: installed.path.clone(), args, env, directory: std::env::temp_dir() };
        let start = |running| AppServer::start(self.installation.supervisor(), program, api_key.as_deref(), running);
        self.servers.get(server_key, start).await
    }

    async fn run(
        &self,
        spec: SessionSpec,
        mut commands: CommandReceiver,
        output: OutputSender,
    ) -> Result<ServeOutcome, ServeError> {
        let installed = self.installation.find_program(spec.agent_version.as_deref())?;
        let starting = self.start_server(&installed, &spec.env);
        let Some((server, early_commands)) = collect_commands_during(&mut commands, starting).await else {
            return Ok(ServeOutcome::Stopped);
        };
        let server = server?;
        let argv = std::iter::once(Self::AGENT.descriptor().program).chain(ARGS).map(str::to_owned).collect();
        let version = installed.semver();
        output.send_launch(Launch::new(installed.version, argv)).await;
        CodexSession::new(server, version, spec, output).serve(early_commands, commands).await
    }

    async fn list_models(&self) -> Result<Models, ServeError> {
        let installed = self.installation.find_program(None)?;
        let server = self.start_server(&installed, &Environment::default()).await?;
        let (subscriber, mut inbox) = server.subscribe(None);
        let listed = timeout(LIST_TIMEOUT, async {
            let mut offered = Vec::new();
            let mut cursor = None;
            for _ in 0..MAX_PAGES {
                let page = call(&server, subscriber, &mut inbox, codex::list_models(cursor)).await?;
                offered.extend(page.data.unwrap_or_default());
                cursor = page.next_cursor;
                if cursor.is_none() {
                    break;
                }
            }
            Ok(to_models(offered))
        })
        .await;
        server.unsubscribe(subscriber);
        let failed = |reason: String| ServeError::Unavailable(format!("cannot list the models of Codex: {reason}"));
        listed.unwrap_or_else(|_| Err(format!("no answer within {LIST_TIMEOUT:?}"))).map_err(failed)
    }
}

/// Finds the API key to log in with. `None` if the user has logged in. The app server does not look for a key by
/// itself.
fn find_api_key(env: &[(OsString, OsString)]) -> Option<String> {
    let find = |wanted: &str| env.iter().find(|(name, _)| name == wanted).map(|(_, value)| value.clone());
    let is_logged_in = |login: &LoginFile| login.locate(find).is_some_and(|path| path.exists());
    if Agent::Codex.descriptor().login_files.iter().any(is_logged_in) {
        return None;
    }
    let key = |name: &str| find(name)?.into_string().ok().filter(|key| !key.is_empty());
    key("CODEX_API_KEY").or_else(|| key("OPENAI_API_KEY"))
}

/// Sends a request and waits for its answer. The subscriber has no other open request.
async fn call<R: Request + Into<HostRequest>>(
    server: &AppServer,
    subscriber: u64,
    inbox: &mut Inbox,
    params: R,
) -> Result<R::Response, String> {
    let id = server.open_request(subscriber);
    server.send(&params.into().into_line(id));
    loop {
        let batch = inbox.recv().await;
        if batch.is_empty() {
            return Err("the app server exited".to_owned());
        }
        for RoutedInput { input, event } in batch {
            match (input, event) {
                (Input::Received(line), LineEvent::Answer { .. }) => {
                    return decode_answer::<R>(&line).map_err(|error| error.to_string());
                }
                (Input::Unreadable { error, .. }, LineEvent::Answer { .. }) => return Err(error),
                (Input::Exit { .. }, _) => return Err("the app server exited".to_owned()),
                _ => {}
            }
        }
    }
}

fn to_models(offered: Vec<OfferedModel>) -> Models {
    let default_model = offered.iter().find(|model| model.is_default == Some(true)).and_then(|model| model.id.clone());
    let models = offered.into_iter().filter(|model| model.hidden != Some(true)).filter_map(|model| {
        let id = model.id?;
        let efforts = model.supported_reasoning_efforts.unwrap_or_default();
        Some(Model {
            name: model.display_name.filter(|name| *name != id),
            id,
            variants: efforts.into_iter().filter_map(|effort| effort.reasoning_effort).collect(),
            default_variant: model.default_reasoning_effort,
        })
    });
    Models { models: models.collect(), default_model, fallback: false }
}

impl InstalledAgent for CodexAgent {
    const AGENT: Agent = Agent::Codex;
    const DEFAULT_MODE: Option<&'static str> = Some(options::BUILD);

    fn installation(&self) -> &Installation {
        &self.installation
    }

    /// Codex ignores other options when it resumes a thread that its server still has in memory.
    fn refuse_change(&self, field: SessionOption) -> Option<&'static str> {
        Some(match field {
            SessionOption::Model => "Codex cannot change the model of an open thread; create a new session",
            SessionOption::PermissionMode => {
                "Codex cannot change the permission mode of an open thread; create a new session"
            }
        })
    }

    fn check(&self, spec: &SessionSpec) -> Result<(), Refusal> {
        let installed = self.installation.find_program(spec.agent_version.as_deref()).ok();
        options::check(spec, installed.and_then(|installed| installed.semver()).as_ref())
    }

    async fn modes(&self) -> Result<Vec<Mode>, ServeError> {
        Ok(options::modes())
    }

    async fn models(&self) -> Result<Models, ServeError> {
        self.list_models().await
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
    use interlingua_native::codex::ModelListParams;

    use super::*;

    #[test]
    fn an_api_key_is_used_if_there_is_no_login() {
        let home = tempfile::tempdir().unwrap();
        let variable = |name: &str, value: &str| (OsString::from(name), OsString::from(value));
        let env = [variable("CODEX_HOME", home.path().to_str().unwrap()), variable("OPENAI_API_KEY", "sk-1")];
        assert_eq!(find_api_key(&env).as_deref(), Some("sk-1"));
        assert_eq!(find_api_key(&env[..1]), None);
        std::fs::write(home.path().join("auth.json"), "{}").unwrap();
        assert_eq!(find_api_key(&env), None);
    }

    #[test]
    fn models_have_their_efforts_and_hidden_ones_are_left_out() {
        let line = r#"{"id":1,"result":{"data":[
            {"id":"gpt-5.5","displayName":"GPT-5.5","isDefault":true,"defaultReasoningEffort":"medium",
             "supportedReasoningEfforts":[{"reasoningEffort":"low","description":""},{"reasoningEffort":"medium","description":""}]},
            {"id":"secret","hidden":true}],"nextCursor":null}}"#;
        let page = decode_answer::<ModelListParams>(line).unwrap();
        let models = to_models(page.data.unwrap());
        assert_eq!(models.default_model.as_deref(), Some("gpt-5.5"));
        assert_eq!(models.models.len(), 1);
        assert_eq!(models.models[0].variants, ["low", "medium"]);
        assert_eq!(models.models[0].default_variant.as_deref(), Some("medium"));
    }
}
