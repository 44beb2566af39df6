//! Configuration with which an agent calls the scripted model.

use interlingua_agents::Agent;

use crate::scenario::{Scenario, Step, ToolAction};

/// The agents that can be configured to call the scripted model.
pub fn supported_agents() -> impl Iterator<Item = Agent> {
    Agent::ALL.into_iter().filter(|agent| agent.descriptor().has_custom_model)
}

/// Environment variables with which an agent calls the model at `url` and no other server. Empty for an agent that is
/// not among the [`supported_agents`].
///
/// Codex takes the address from `config.toml` in `CODEX_HOME` instead: see [`codex_config`].
#[must_use]
pub fn agent_environment(agent: Agent, url: &str) -> Vec<(&'static str, String)> {
    let set = |names: &[(&'static str, &str)]| names.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
    match agent {
        Agent::Claude => {
            let mut variables: Vec<_> = set(&[
                ("ANTHROPIC_API_KEY", "scripted"),
                ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
                ("DISABLE_AUTOUPDATER", "1"),
            ]);
            variables.insert(0, ("ANTHROPIC_BASE_URL", url.to_owned()));
            variables
        }
        Agent::Codex => set(&[("SCRIPTED_KEY", "scripted")]),
        Agent::OpenCode => {
            let mut variables: Vec<_> = set(&[
                ("OPENCODE_DISABLE_MODELS_FETCH", "1"),
                ("OPENCODE_DISABLE_AUTOUPDATE", "1"),
                ("OPENCODE_DISABLE_LSP_DOWNLOAD", "1"),
                ("OPENCODE_DISABLE_DEFAULT_PLUGINS", "1"),
                ("OPENCODE_DISABLE_SHARE", "1"),
            ]);
            variables.insert(0, ("OPENCODE_CONFIG_CONTENT", opencode_config(url).to_string()));
            // Versions up to 1.1 fetch their list of models anyway, and end the turn without an error if they cannot.
            variables.push(("OPENCODE_MODELS_URL", url.to_owned()));
            variables
        }
        // Each agent that speaks the protocol has settings of its own.
        Agent::Amp | Agent::Acp => Vec::new(),
    }
}

/// Name of the model that an agent must use to play a scenario, because the tools that it offers depend on the model;
/// `None` if any model works.
#[must_use]
pub fn required_model(agent: Agent, scenario: &Scenario) -> Option<&'static str> {
    let delegates = || scenario.has_step(|step| matches!(step, Step::ToolCall(ToolAction::Delegate { .. })));
    match agent {
        // Codex offers this sub-agent tool only to models that it does not know.
        Agent::Codex if delegates() => Some("scripted"),
        Agent::OpenCode if scenario.setup.patches => Some("scripted/gpt-5-scripted"),
        _ => None,
    }
}

/// Content of Codex's `config.toml` for the model at `url`.
#[must_use]
pub fn codex_config(url: &str) -> String {
    format!(
        r#"model = "gpt-5.5"
model_provider = "scripted"
check_for_update_on_startup = false

[model_providers.scripted]
name = "scripted"
base_url = "{url}/v1"
wire_api = "responses"
env_key = "SCRIPTED_KEY"

[features]
plugins = false

[tools.update_plan]
enabled = true
"#
    )
}

/// `OpenCode`'s configuration for the model at `url`.
#[must_use]
pub fn opencode_config(url: &str) -> serde_json::Value {
    let model = |name: &str| {
        serde_json::json!({
            "name": name, "reasoning": true, "tool_call": true, "attachment": true,
            "modalities": {"input": ["text", "image", "pdf"], "output": ["text"]},
            "limit": {"context": 200_000, "output": 8192},
        })
    };
    serde_json::json!({
        "autoupdate": false, "share": "disabled", "enabled_providers": ["scripted"],
        "model": "scripted/scripted", "small_model": "scripted/scripted",
        "provider": {"scripted": {
            "npm": "@ai-sdk/openai-compatible",
            "options": {"baseURL": format!("{url}/v1"), "apiKey": "scripted"},
            // OpenCode offers its patch tool to models of this name only.
            "models": {"scripted": model("Scripted"), "gpt-5-scripted": model("Scripted, likes patches")},
        }},
    })
}
