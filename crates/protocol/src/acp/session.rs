//! Opening a session, and choosing its mode, its model and the effort of the model.

use interlingua_native::acp::{
    EnvVariable, HttpHeader, LoadSessionRequest, LoadSessionResponse, McpServer, McpServerType, NewSessionRequest,
    NewSessionResponse, ResumeSessionRequest, ResumeSessionResponse, SessionConfigOption, SessionConfigOptionCategory,
    SessionModeState, SessionModelState, SetSessionConfigOptionRequest, SetSessionConfigOptionRequestValue,
    SetSessionModeRequest,
};
use interlingua_native::new;
use serde_json::json;

use super::request_line;

/// What a session is opened with.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SessionOptions {
    /// The working directory, absolute.
    pub cwd: String,
    /// The MCP servers.
    pub mcp_servers: Vec<McpServer>,
}

impl SessionOptions {
    /// Creates a session.
    #[must_use]
    pub fn create(&self) -> NewSessionRequest {
        new!(NewSessionRequest { cwd: self.cwd.as_str(), mcp_servers: self.mcp_servers.clone() })
    }

    /// Loads a session with its history.
    #[must_use]
    pub fn load(&self, session: &str) -> LoadSessionRequest {
        let servers = self.mcp_servers.clone();
        new!(LoadSessionRequest { cwd: self.cwd.as_str(), mcp_servers: servers, session_id: session })
    }

    /// Resumes a session without its history.
    #[must_use]
    pub fn resume(&self, session: &str) -> ResumeSessionRequest {
        ResumeSessionRequest {
            mcp_servers: Some(self.mcp_servers.clone()),
            ..new!(ResumeSessionRequest { cwd: self.cwd.as_str(), session_id: session })
        }
    }

    /// The same options without values that may be secret: environment variables, headers and arguments.
    #[must_use]
    pub fn without_secrets(&self) -> Self {
        const HIDDEN: &str = "…";
        let mut options = self.clone();
        for server in &mut options.mcp_servers {
            for variable in server.env.iter_mut().flatten() {
                variable.value = Some(HIDDEN.to_owned());
            }
            for header in server.headers.iter_mut().flatten() {
                header.value = Some(HIDDEN.to_owned());
            }
            if server.args.as_ref().is_some_and(|args| !args.is_empty()) {
                server.args = Some(vec![HIDDEN.to_owned()]);
            }
            if server.url.is_some() {
                server.url = Some(HIDDEN.to_owned());
            }
        }
        options
    }
}

/// An MCP server that the agent starts.
#[must_use]
pub fn stdio_server<'a>(
    name: &str,
    command: &str,
    args: &[String],
    env: impl Iterator<Item = (&'a str, &'a str)>,
) -> McpServer {
    McpServer {
        command: Some(command.to_owned()),
        args: Some(args.to_vec()),
        env: Some(env.map(|(name, value)| new!(EnvVariable { name: name, value: value })).collect()),
        ..new!(McpServer { name: name })
    }
}

/// An MCP server over HTTP, or over the older SSE transport.
#[must_use]
pub fn http_server<'a>(
    name: &str,
    url: &str,
    sse: bool,
    headers: impl Iterator<Item = (&'a str, &'a str)>,
) -> McpServer {
    McpServer {
        type_: Some(if sse { McpServerType::Sse } else { McpServerType::Http }),
        url: Some(url.to_owned()),
        headers: Some(headers.map(|(name, value)| new!(HttpHeader { name: name, value: value })).collect()),
        ..new!(McpServer { name: name })
    }
}

/// A session as the agent describes it when it is opened.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OpenedSession {
    /// Id of the session.
    pub id: String,
    /// The modes; `None` if the agent has none, or has them as an option.
    pub modes: Option<SessionModeState>,
    /// The models of agents that do not have them as an option.
    pub models: Option<SessionModelState>,
    /// The options.
    pub options: Vec<SessionConfigOption>,
}

impl From<NewSessionResponse> for OpenedSession {
    fn from(response: NewSessionResponse) -> Self {
        Self {
            id: response.session_id.unwrap_or_default(),
            modes: response.modes,
            models: response.models,
            options: response.config_options.unwrap_or_default(),
        }
    }
}

impl OpenedSession {
    /// A loaded session.
    #[must_use]
    pub fn loaded(id: &str, response: LoadSessionResponse) -> Self {
        let options = response.config_options.unwrap_or_default();
        Self { id: id.to_owned(), modes: response.modes, models: response.models, options }
    }

    /// A resumed session.
    #[must_use]
    pub fn resumed(id: &str, response: ResumeSessionResponse) -> Self {
        let options = response.config_options.unwrap_or_default();
        Self { id: id.to_owned(), modes: response.modes, models: response.models, options }
    }

    /// Values, names and current value of the option of a category.
    #[must_use]
    pub fn choices(&self, category: &SessionConfigOptionCategory) -> Option<(Vec<(String, String)>, String)> {
        let option = self.option(category)?;
        let choices = option.options.iter().flatten().flat_map(|item| {
            let own = item.value.clone().map(|value| {
                let name = item.name.clone().unwrap_or_else(|| value.clone());
                (value, name)
            });
            let grouped = item.options.iter().flatten().filter_map(|item| {
                let value = item.value.clone()?;
                let name = item.name.clone().unwrap_or_else(|| value.clone());
                Some((value, name))
            });
            own.into_iter().chain(grouped)
        });
        Some((choices.collect(), option.current_value.clone().unwrap_or_default()))
    }

    fn option(
        &self,
        category: &SessionConfigOptionCategory,
    ) -> Option<&interlingua_native::acp::SelectSessionConfigOption> {
        self.options.iter().find_map(|option| match option {
            SessionConfigOption::Select(option) if option.category.as_ref() == Some(category) => Some(option),
            _ => None,
        })
    }

    /// Ids and names of the modes, and the current one. Agents have them as modes or as an option.
    #[must_use]
    pub fn modes(&self) -> Option<(Vec<(String, String)>, String)> {
        let modes = self.modes.as_ref().map(|state| {
            let modes = state.available_modes.iter().flatten().filter_map(|mode| {
                let id = mode.id.clone()?;
                let name = mode.name.clone().unwrap_or_else(|| id.clone());
                Some((id, name))
            });
            (modes.collect(), state.current_mode_id.clone().unwrap_or_default())
        });
        modes.or_else(|| self.choices(&SessionConfigOptionCategory::Mode))
    }

    /// Ids and names of the models, and the current one.
    #[must_use]
    pub fn models(&self) -> Option<(Vec<(String, String)>, String)> {
        self.choices(&SessionConfigOptionCategory::Model).or_else(|| {
            let state = self.models.as_ref()?;
            let models = state.available_models.iter().flatten().filter_map(|model| {
                let id = model.model_id.clone()?;
                let name = model.name.clone().unwrap_or_else(|| id.clone());
                Some((id, name))
            });
            Some((models.collect(), state.current_model_id.clone().unwrap_or_default()))
        })
    }

    /// The change that chooses this mode. `None` if it is the current one.
    ///
    /// # Errors
    /// If the agent has no such mode. The error names the modes.
    pub fn choose_mode(&self, mode: &str) -> Result<Option<ModeChange>, String> {
        check_choice("mode", mode, self.modes())?
            .then(|| match &self.modes {
                Some(_) => Ok(ModeChange::Mode(mode.to_owned())),
                None => self.change_option(&SessionConfigOptionCategory::Mode, mode),
            })
            .transpose()
    }

    /// The change that chooses this model. `None` if it is the current one.
    ///
    /// # Errors
    /// If the agent has no such model. The error names the models.
    pub fn choose_model(&self, model: &str) -> Result<Option<ModeChange>, String> {
        check_choice("model", model, self.models())?
            .then(|| match self.option(&SessionConfigOptionCategory::Model) {
                Some(_) => self.change_option(&SessionConfigOptionCategory::Model, model),
                None => Ok(ModeChange::Model(model.to_owned())),
            })
            .transpose()
    }

    /// The change that chooses this effort of the model. `None` if it is the current one.
    ///
    /// # Errors
    /// If the agent has no such effort. The error names the efforts.
    pub fn choose_effort(&self, effort: &str) -> Result<Option<ModeChange>, String> {
        let category = SessionConfigOptionCategory::ThoughtLevel;
        check_choice("variant", effort, self.choices(&category))?
            .then(|| self.change_option(&category, effort))
            .transpose()
    }

    fn change_option(&self, category: &SessionConfigOptionCategory, value: &str) -> Result<ModeChange, String> {
        let option = self.option(category).and_then(|option| option.id.clone());
        let option = option.ok_or_else(|| format!("the agent has no option for {}", category.as_str()))?;
        Ok(ModeChange::Option { option, value: value.to_owned() })
    }
}

/// Whether a choice differs from the current one.
fn check_choice(kind: &str, wanted: &str, choices: Option<(Vec<(String, String)>, String)>) -> Result<bool, String> {
    let Some((choices, current)) = choices else {
        return Err(format!("the agent offers no choice of a {kind}, found `{wanted}`"));
    };
    if choices.iter().any(|(id, _)| id == wanted) {
        return Ok(current != wanted);
    }
    let known: Vec<&str> = choices.iter().map(|(id, _)| id.as_str()).collect();
    Err(format!("the agent has no {kind} `{wanted}`; expected one of {}", known.join(", ")))
}

/// A change of a session's settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ModeChange {
    /// Another mode.
    Mode(String),
    /// Another model, of an agent that has the older request for it.
    Model(String),
    /// Another value of an option.
    Option {
        /// Id of the option.
        option: String,
        /// The value.
        value: String,
    },
}

impl ModeChange {
    /// The line of the request.
    #[must_use]
    pub fn into_line(self, id: u64, session: &str) -> String {
        match self {
            Self::Mode(mode) => request_line(id, new!(SetSessionModeRequest { mode_id: mode, session_id: session })),
            Self::Option { option, value } => {
                let value = SetSessionConfigOptionRequestValue::Text(value);
                request_line(
                    id,
                    new!(SetSessionConfigOptionRequest { config_id: option, session_id: session, value: value }),
                )
            }
            // The schema does not have this request any more.
            Self::Model(model) => json!({
                "id": id, "jsonrpc": "2.0", "method": "session/set_model",
                "params": { "modelId": model, "sessionId": session },
            })
            .to_string(),
        }
    }
}
