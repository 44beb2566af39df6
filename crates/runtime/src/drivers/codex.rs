//! Codex: one app server for all sessions, JSON-RPC over its standard input and output.
//!
//! A session is a thread. Lines of the server are [routed](router) to the sessions by thread; its requests are answered
//! by the session whose thread it is, and refused where no host can answer. A session that was let go is resumed by the
//! id of its thread. What is sent and how answers are read is in [`interlingua_protocol::codex`].
//!
//! Sessions share a server as long as they want the same program and environment; one that is created with `env` has a
//! server with that environment, which it shares with sessions of the same.

mod line;
mod options;
mod router;
mod server;
mod session;

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use interlingua_convert::{Agent, Input, Launch};
use interlingua_native::Request;
use interlingua_native::codex::Model as OfferedModel;
use interlingua_protocol::codex::{self, HostRequest, decode_answer};
use tokio::time::timeout;

use super::installed::InstalledAgent;
use super::shared::{Shared, meanwhile};
use crate::agents::{Mode, Model, Models, ServerStatus};
use crate::driver::{CommandReceiver, OutputSender, ServeError, ServeOutcome, SessionSpec};
use crate::environment::Environment;
use crate::error::Refusal;
use crate::install::{Found, Installation, LaunchConfig};
use crate::process::Program;
use crate::variables::variables;
use line::LineEvent;
use router::{Inbox, RoutedInput};
use server::AppServer;
use session::CodexSession;

/// The environment variables that the server gets from ours.
const OWN: [&str; 3] = ["AZURE_OPENAI_*", "CODEX_*", "OPENAI_*"];
/// The arguments of an app server that does not update itself.
const ARGS: [&str; 3] = ["app-server", "-c", "check_for_update_on_startup=false"];
/// A login by key is for this process alone and leaves no trace on the disk.
const IN_MEMORY: [&str; 2] = ["-c", r#"cli_auth_credentials_store="ephemeral""#];
/// How long it may take to list its models.
const LIST_TIMEOUT: Duration = Duration::from_secs(20);
/// How many pages of the list of models are read.
const MAX_PAGES: usize = 64;

/// What sessions have to agree in to share a server.
#[derive(PartialEq)]
struct Wanted {
    program: PathBuf,
    env: Environment,
}

/// Codex.
pub(crate) struct CodexAgent {
    installation: Installation,
    servers: Shared<Wanted, AppServer>,
}

impl CodexAgent {
    pub(crate) fn new(machine: &LaunchConfig) -> Self {
        Self { installation: Installation::new(Self::AGENT, machine), servers: Shared::new() }
    }

    async fn start_server(&self, found: &Found, env: &Environment) -> Result<Arc<AppServer>, ServeError> {
        let wanted = Wanted { program: found.path.clone(), env: env.clone() };
        let env = variables(&OWN, &[], env);
        let key = key(&env);
        let in_memory = key.iter().flat_map(|_| IN_MEMORY);
        let args = ARGS.into_iter().chain(in_memory).map(str::to_owned).collect();
        let program = Program { path: found.path.clone(), args, env, directory: std::env::temp_dir() };
        let start = |running| AppServer::start(self.installation.supervisor(), program, key.as_deref(), running);
        self.servers.get(wanted, start).await
    }

    async fn run(
        &self,
        spec: SessionSpec,
        mut commands: CommandReceiver,
        output: OutputSender,
    ) -> Result<ServeOutcome, ServeError> {
        let found = self.installation.program(spec.agent_version.as_deref())?;
        let Some((server, early)) = meanwhile(&mut commands, self.start_server(&found, &spec.env)).await else {
            return Ok(ServeOutcome::Stopped);
        };
        let server = server?;
        let argv = std::iter::once(Self::AGENT.descriptor().program).chain(ARGS).map(str::to_owned).collect();
        let version = found.semver();
        output.send_launch(Launch::new(found.version, argv)).await;
        CodexSession::new(server, version, spec, output).serve(early, commands).await
    }

    async fn list_models(&self) -> Result<Models, ServeError> {
        let found = self.installation.program(None)?;
        let server = self.start_server(&found, &Environment::default()).await?;
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
            Ok(models(offered))
        })
        .await;
        server.unsubscribe(subscriber);
        let failed = |reason: String| ServeError::Unavailable(format!("Codex does not list its models: {reason}"));
        listed.unwrap_or_else(|_| Err(format!("no answer within {LIST_TIMEOUT:?}"))).map_err(failed)
    }
}

/// The key to log in with, if there is one in the environment and no login of the user's own. The app server does not
/// look for a key by itself.
fn key(env: &[(OsString, OsString)]) -> Option<String> {
    let find = |wanted: &str| env.iter().find(|(name, _)| name == wanted).map(|(_, value)| value.clone());
    let home = find("CODEX_HOME").map(PathBuf::from).or_else(|| Some(PathBuf::from(find("HOME")?).join(".codex")));
    if home.is_some_and(|home| home.join("auth.json").exists()) {
        return None;
    }
    let key = |name: &str| find(name)?.into_string().ok().filter(|key| !key.is_empty());
    key("CODEX_API_KEY").or_else(|| key("OPENAI_API_KEY"))
}

/// Makes a request and waits for its answer. It is the only open request of the subscriber.
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
            return Err("it left".to_owned());
        }
        for RoutedInput { input, event } in batch {
            match (input, event) {
                (Input::Received(line), LineEvent::Answer { .. }) => {
                    return decode_answer::<R>(&line).map_err(|error| error.to_string());
                }
                (Input::Unreadable { error, .. }, LineEvent::Answer { .. }) => return Err(error),
                (Input::Exit { .. }, _) => return Err("it left".to_owned()),
                _ => {}
            }
        }
    }
}

fn models(offered: Vec<OfferedModel>) -> Models {
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
    Models { models: models.collect(), default_model }
}

impl InstalledAgent for CodexAgent {
    const AGENT: Agent = Agent::Codex;

    fn installation(&self) -> &Installation {
        &self.installation
    }

    fn check(&self, spec: &SessionSpec) -> Result<(), Refusal> {
        let found = self.installation.program(spec.agent_version.as_deref()).ok();
        options::check(spec, found.and_then(|found| found.semver()).as_ref())
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
        self.servers.ended().await;
    }
}

#[cfg(test)]
mod tests {
    use interlingua_native::codex::ModelListParams;

    use super::*;

    #[test]
    fn a_key_counts_where_there_is_no_login() {
        let home = tempfile::tempdir().unwrap();
        let variable = |name: &str, value: &str| (OsString::from(name), OsString::from(value));
        let env = [variable("CODEX_HOME", home.path().to_str().unwrap()), variable("OPENAI_API_KEY", "sk-1")];
        assert_eq!(key(&env).as_deref(), Some("sk-1"));
        assert_eq!(key(&env[..1]), None);
        std::fs::write(home.path().join("auth.json"), "{}").unwrap();
        assert_eq!(key(&env), None);
    }

    #[test]
    fn its_models_come_with_their_efforts_and_without_the_hidden_ones() {
        let line = r#"{"id":1,"result":{"data":[
            {"id":"gpt-5.5","displayName":"GPT-5.5","isDefault":true,"defaultReasoningEffort":"medium",
             "supportedReasoningEfforts":[{"reasoningEffort":"low","description":""},{"reasoningEffort":"medium","description":""}]},
            {"id":"secret","hidden":true}],"nextCursor":null}}"#;
        let page = decode_answer::<ModelListParams>(line).unwrap();
        let models = models(page.data.unwrap());
        assert_eq!(models.default_model.as_deref(), Some("gpt-5.5"));
        assert_eq!(models.models.len(), 1);
        assert_eq!(models.models[0].variants, ["low", "medium"]);
        assert_eq!(models.models[0].default_variant.as_deref(), Some("medium"));
    }
}
