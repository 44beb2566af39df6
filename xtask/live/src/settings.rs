//! Settings with which an agent calls the scripted model, made through the server as a user would make them.

use std::path::Path;

use anyhow::{Context as _, Result};
use interlingua_client::CreateSessionRequest;
use interlingua_convert::Agent;
use interlingua_record::mcp;
use interlingua_scripted_model::scenario::{PermissionPolicy, Step, ToolAction};
use interlingua_scripted_model::{Scenario, agent_environment, codex_config, required_model};
use serde_json::json;
use toml::Table;

/// API key of all agents.
pub(crate) const API_KEY: &str = "scripted";

/// Environment variables of the server with which its agent finds the model.
pub(crate) fn server_environment(agent: Agent, url: &str) -> Vec<(String, String)> {
    let variables = match agent {
        // The agent does run in a sandbox: it has only loopback, and its own home and workspace.
        Agent::Claude => [agent_environment(agent, url), vec![("IS_SANDBOX", "1".to_owned())]].concat(),
        // The model is in its configuration. It requires the login that the server makes with this key.
        Agent::Codex => vec![("OPENAI_API_KEY", API_KEY.to_owned())],
        Agent::OpenCode => agent_environment(agent, url),
        // The model is not a server of Amp, so its requests fail at once. Otherwise it would wait for the network.
        Agent::Amp => vec![("AMP_API_KEY", API_KEY.to_owned()), ("AMP_URL", url.to_owned())],
        Agent::Acp => Vec::new(),
    };
    variables.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// Writes the agent's configuration in its home directory.
pub(crate) fn write_home_config(agent: Agent, home: &Path, url: &str) -> Result<()> {
    if agent != Agent::Codex {
        return Ok(());
    }
    let folder = home.join(".codex");
    std::fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
    std::fs::write(folder.join("config.toml"), codex_home_config(url)?).context("cannot write config.toml")
}

/// Codex's configuration. Its provider uses the key of the login instead of its own.
fn codex_home_config(url: &str) -> Result<String> {
    let mut config: Table = codex_config(url).parse().context("the configuration is not TOML")?;
    let providers = config.get_mut("model_providers").and_then(|all| all.get_mut("scripted"));
    let provider = providers.and_then(toml::Value::as_table_mut).context("the configuration has no provider")?;
    provider.remove("env_key");
    provider.insert("requires_openai_auth".to_owned(), true.into());
    Ok(config.to_string())
}

/// The request that creates a session for a scenario.
pub(crate) fn session_request(agent: Agent, scenario: &Scenario, workspace: &Path) -> Result<CreateSessionRequest> {
    let setup = &scenario.setup;
    let has_question = scenario.has_step(|step| matches!(step, Step::ToolCall(ToolAction::Ask(_))));
    // Codex asks questions only in plan mode.
    let uses_plan_mode = setup.plan_mode || (agent == Agent::Codex && has_question);
    let permissions = if setup.plan_mode || setup.permissions == PermissionPolicy::Ask { "default" } else { "bypass" };
    let mut request = CreateSessionRequest::new(agent.id());
    request.directory = Some(workspace.to_string_lossy().into_owned());
    request.permission_mode = Some(permissions.to_owned());
    request.title = Some(scenario.name.clone());
    request.model = required_model(agent, scenario).map(Into::into);
    if uses_plan_mode {
        request.agent_mode = Some("plan".to_owned());
    }
    if agent == Agent::Claude && scenario.has_step(|step| matches!(step, Step::ToolCall(_))) {
        // All tools are offered at once. A search for deferred tools would be the same in every scenario. Without tool
        // calls the variable is not set, because the environment of a session is lost when the server restarts.
        request.env.insert("ENABLE_TOOL_SEARCH".to_owned(), "false".to_owned());
    }
    if setup.mcp {
        let program = std::env::current_exe().context("cannot determine the path of this program")?;
        request.mcp = Some(json!({"tiny": {"command": program, "args": [mcp::SUBCOMMAND]}}));
    }
    Ok(request)
}

/// Adapts a scenario to an agent.
pub(crate) fn adapt_scenario(agent: Agent, mut scenario: Scenario) -> Scenario {
    // In its default mode, Codex requests permission when the model wants to leave the sandbox.
    scenario.setup.escalates = agent == Agent::Codex && scenario.setup.permissions == PermissionPolicy::Ask;
    scenario
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(agent: Agent, setup: &str, model: &str) -> serde_json::Value {
        let text = format!("about = \"x\"\n{setup}\n[[turn]]\nuser = \"Hello\"\nmodel = [{model}]\n");
        let request =
            session_request(agent, &Scenario::parse("test", &text).unwrap(), Path::new("/workspace")).unwrap();
        serde_json::to_value(request).unwrap()
    }

    #[test]
    fn a_session_gets_the_permissions_and_servers_of_the_scenario() {
        assert_eq!(request(Agent::Claude, "", "")["permissionMode"], "bypass");
        assert_eq!(request(Agent::Claude, "[setup]\npermissions = \"ask\"", "")["permissionMode"], "default");
        let plan = request(Agent::Claude, "[setup]\nplan_mode = true", "");
        assert_eq!((&plan["permissionMode"], &plan["agentMode"]), (&json!("default"), &json!("plan")));
        let mcp = request(Agent::OpenCode, "[setup]\nmcp = true", "");
        assert_eq!(mcp["mcp"]["tiny"]["args"], json!(["mcp-server"]));
    }

    #[test]
    fn codex_uses_plan_mode_for_questions() {
        let question = "[{ ask = [{ question = \"Which?\", header = \"W\", options = [\"A\"] }] }]";
        assert_eq!(request(Agent::Codex, "", question)["agentMode"], "plan");
        assert_eq!(request(Agent::OpenCode, "", question).get("agentMode"), None);
    }

    #[test]
    fn codex_uses_only_the_key_of_its_login() {
        let config: Table = codex_home_config("http://127.0.0.1:1").unwrap().parse().unwrap();
        let provider = &config["model_providers"]["scripted"];
        assert_eq!(provider.get("env_key"), None);
        assert_eq!(provider["requires_openai_auth"].as_bool(), Some(true));
        assert_eq!(config["model_provider"].as_str(), Some("scripted"));
    }
}
