//! What an agent is given so that it talks to the scripted model, through the server as a user would set it up.

use std::path::Path;

use anyhow::{Context as _, Result};
use interlingua_client::CreateSessionRequest;
use interlingua_convert::Agent;
use interlingua_record::mcp;
use interlingua_scripted_model::scenario::{PermissionPolicy, Step, ToolAction};
use interlingua_scripted_model::{Scenario, agent_environment, codex_config, required_model};
use serde_json::json;
use toml::Table;

/// Everybody's key.
pub(crate) const KEY: &str = "scripted";

/// The variables of the server with which its agent finds the model.
pub(crate) fn server(agent: Agent, url: &str) -> Vec<(String, String)> {
    let own = |client| agent_environment(client, url);
    let all = match agent {
        // It is in a sandbox: nothing but loopback, a home and a workspace of its own.
        Agent::Claude => [own(Agent::Claude), vec![("IS_SANDBOX", "1".to_owned())]].concat(),
        // Its model is in its configuration, and wants the login that the server makes with this key.
        Agent::Codex => vec![("OPENAI_API_KEY", KEY.to_owned())],
        Agent::OpenCode => own(Agent::OpenCode),
        // The model is no server of Amp's, which it is told soon. Otherwise it would wait for the network.
        Agent::Amp => vec![("AMP_API_KEY", KEY.to_owned()), ("AMP_URL", url.to_owned())],
    };
    all.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// Writes what the agent wants to find at home.
pub(crate) fn at_home(agent: Agent, home: &Path, url: &str) -> Result<()> {
    if agent != Agent::Codex {
        return Ok(());
    }
    let folder = home.join(".codex");
    std::fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    std::fs::write(folder.join("config.toml"), codex(url)?).context("cannot write config.toml")
}

/// Codex's configuration: the provider takes the key of the login and none of its own.
fn codex(url: &str) -> Result<String> {
    let mut config: Table = codex_config(url).parse().context("the configuration is no TOML")?;
    let providers = config.get_mut("model_providers").and_then(|all| all.get_mut("scripted"));
    let provider = providers.and_then(toml::Value::as_table_mut).context("the configuration has no provider")?;
    provider.remove("env_key");
    provider.insert("requires_openai_auth".to_owned(), true.into());
    Ok(config.to_string())
}

/// The session that a scenario wants.
pub(crate) fn session(agent: Agent, scenario: &Scenario, workspace: &Path) -> Result<CreateSessionRequest> {
    let setup = &scenario.setup;
    let asks = scenario.has_step(|step| matches!(step, Step::ToolCall(ToolAction::Ask(_))));
    // Codex asks the user in plan mode only.
    let plans = setup.plan_mode || (agent == Agent::Codex && asks);
    let permissions = if setup.plan_mode || setup.permissions == PermissionPolicy::Ask { "default" } else { "bypass" };
    let mut wanted = CreateSessionRequest::new(agent.id());
    wanted.directory = Some(workspace.to_string_lossy().into_owned());
    wanted.permission_mode = Some(permissions.to_owned());
    wanted.title = Some(scenario.name.clone());
    wanted.model = required_model(agent, scenario).map(Into::into);
    if plans {
        wanted.agent_mode = Some("plan".to_owned());
    }
    if agent == Agent::Claude && scenario.has_step(|step| matches!(step, Step::ToolCall(_))) {
        // All tools are offered at once; looking for them first is the same in every scenario. Where none is called it
        // is left out: what a session is given like this does not outlive the server.
        wanted.env.insert("ENABLE_TOOL_SEARCH".to_owned(), "false".to_owned());
    }
    if setup.mcp {
        let program = std::env::current_exe().context("cannot tell which program this is")?;
        wanted.mcp = Some(json!({"tiny": {"command": program, "args": [mcp::WORD]}}));
    }
    Ok(wanted)
}

/// A scenario as it is played to an agent.
pub(crate) fn scenario(agent: Agent, mut scenario: Scenario) -> Scenario {
    // In its default mode, Codex asks when the model wants to leave the sandbox.
    scenario.setup.escalates = agent == Agent::Codex && scenario.setup.permissions == PermissionPolicy::Ask;
    scenario
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(agent: Agent, setup: &str, model: &str) -> serde_json::Value {
        let text = format!("about = \"x\"\n{setup}\n[[turn]]\nuser = \"Hello\"\nmodel = [{model}]\n");
        let wanted = session(agent, &Scenario::parse("test", &text).unwrap(), Path::new("/workspace")).unwrap();
        serde_json::to_value(wanted).unwrap()
    }

    #[test]
    fn a_session_may_what_the_scenario_lets_it() {
        assert_eq!(wanted(Agent::Claude, "", "")["permissionMode"], "bypass");
        assert_eq!(wanted(Agent::Claude, "[setup]\npermissions = \"ask\"", "")["permissionMode"], "default");
        let plan = wanted(Agent::Claude, "[setup]\nplan_mode = true", "");
        assert_eq!((&plan["permissionMode"], &plan["agentMode"]), (&json!("default"), &json!("plan")));
        let mcp = wanted(Agent::OpenCode, "[setup]\nmcp = true", "");
        assert_eq!(mcp["mcp"]["tiny"]["args"], json!(["mcp-server"]));
    }

    #[test]
    fn codex_asks_in_plan_mode_only() {
        let asks = "[{ ask = [{ question = \"Which?\", header = \"W\", options = [\"A\"] }] }]";
        assert_eq!(wanted(Agent::Codex, "", asks)["agentMode"], "plan");
        assert_eq!(wanted(Agent::OpenCode, "", asks).get("agentMode"), None);
    }

    #[test]
    fn codex_has_no_key_but_that_of_its_login() {
        let config: Table = codex("http://127.0.0.1:1").unwrap().parse().unwrap();
        let provider = &config["model_providers"]["scripted"];
        assert_eq!(provider.get("env_key"), None);
        assert_eq!(provider["requires_openai_auth"].as_bool(), Some(true));
        assert_eq!(config["model_provider"].as_str(), Some("scripted"));
    }
}
