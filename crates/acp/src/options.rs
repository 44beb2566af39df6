//! Modes and options of a session: what a client can choose.
//!
//! The modes are the permission modes. The options are the agent, its model and the variant of the model.

use interlingua_client::{AgentInfo, AgentModels, SessionInfo};
use interlingua_native::acp::{
    SelectSessionConfigOption, SessionConfigOption, SessionConfigOptionCategory, SessionConfigSelectOptionsItem,
    SessionMode, SessionModeState,
};
use interlingua_native::new;

/// Ids of the options.
pub(crate) const AGENT: &str = "agent";
pub(crate) const MODEL: &str = "model";
pub(crate) const VARIANT: &str = "variant";
pub(crate) const MODE: &str = "mode";
/// The value of an option that is left to the agent.
pub(crate) const DEFAULT: &str = "default";

/// Id, name and description of the permission modes.
const MODES: [(&str, &str, &str); 4] = [
    ("default", "Ask", "The agent asks before anything that matters"),
    ("acceptEdits", "Accept edits", "The agent edits files without asking"),
    ("plan", "Plan", "The agent reads and plans, and changes nothing"),
    ("bypass", "Never ask", "The agent never asks"),
];

/// The modes of a session.
pub(crate) fn modes(session: &SessionInfo) -> SessionModeState {
    let mode = |(id, name, description): (&str, &str, &str)| SessionMode {
        description: Some(description.to_owned()),
        ..new!(SessionMode { id: id, name: name })
    };
    let current = session.permission_mode.as_deref().unwrap_or(DEFAULT);
    new!(SessionModeState { available_modes: MODES.map(mode).to_vec(), current_mode_id: current })
}

/// Whether this is the id of a mode.
pub(crate) fn is_mode(id: &str) -> bool {
    MODES.iter().any(|(known, ..)| *known == id)
}

/// The options of a session.
pub(crate) fn options(
    session: &SessionInfo,
    agents: &[AgentInfo],
    models: Option<&AgentModels>,
) -> Vec<SessionConfigOption> {
    let mut options = Vec::new();
    let permissions = MODES.map(|(id, name, _)| (id.to_owned(), name.to_owned()));
    let mode = session.permission_mode.as_deref().unwrap_or(DEFAULT);
    options.push(select(MODE, "Permissions", SessionConfigOptionCategory::Mode, mode, permissions.to_vec()));
    let installed = agents.iter().filter(|agent| agent.installed || agent.id == session.agent);
    let names: Vec<(String, String)> = installed.map(|agent| (agent.id.clone(), agent.id.clone())).collect();
    options.push(select(AGENT, "Agent", SessionConfigOptionCategory::from("agent"), &session.agent, names));
    let Some(models) = models.filter(|models| !models.models.is_empty()) else { return options };
    let default = (DEFAULT.to_owned(), "Default".to_owned());
    let mut choices: Vec<(String, String)> = models
        .models
        .iter()
        .map(|model| (model.id.clone(), model.name.clone().unwrap_or_else(|| model.id.clone())))
        .collect();
    if !choices.iter().any(|(id, _)| id == DEFAULT) {
        choices.insert(0, default.clone());
    }
    let current = if session.model.is_empty() { DEFAULT } else { session.model.as_str() };
    if !choices.iter().any(|(id, _)| id == current) {
        choices.push((current.to_owned(), current.to_owned()));
    }
    options.push(select(MODEL, "Model", SessionConfigOptionCategory::Model, current, choices));
    let variants = models.models.iter().find(|model| model.id == current).or_else(|| {
        let default = models.default_model.as_ref()?;
        models.models.iter().find(|model| model.id == *default)
    });
    let variants = variants.map(|model| model.variants.as_slice()).unwrap_or_default();
    if !variants.is_empty() {
        let choices = std::iter::once(default).chain(variants.iter().map(|variant| (variant.clone(), variant.clone())));
        let current = session.variant.as_deref().unwrap_or(DEFAULT);
        options.push(select(VARIANT, "Variant", SessionConfigOptionCategory::ThoughtLevel, current, choices.collect()));
    }
    options
}

fn select(
    id: &str,
    name: &str,
    category: SessionConfigOptionCategory,
    current: &str,
    choices: Vec<(String, String)>,
) -> SessionConfigOption {
    let choice = |(value, name): (String, String)| SessionConfigSelectOptionsItem {
        value: Some(value),
        ..new!(SessionConfigSelectOptionsItem { name: name })
    };
    let choices = choices.into_iter().map(choice).collect();
    SelectSessionConfigOption {
        category: Some(category),
        ..new!(SelectSessionConfigOption { current_value: current, id: id, name: name, options: choices })
    }
    .into()
}
