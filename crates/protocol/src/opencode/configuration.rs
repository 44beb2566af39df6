//! The server's configuration in its environment.

use std::collections::BTreeMap;

use interlingua_native::opencode::{
    Config, McpOAuthConfig, McpServerConfig, McpServerConfigOauth, McpServerConfigType,
};
use serde_json::{Map, Value};

/// The variable with configuration that is added to the configuration files.
pub const CONFIGURATION_VARIABLE: &str = "OPENCODE_CONFIG_CONTENT";

/// Adds settings to a configuration of the user. Entries with the same name are replaced; text that is not a JSON
/// object is replaced completely.
#[must_use]
pub fn add_to_configuration(existing: Option<&str>, addition: &Config) -> String {
    let existing = existing.and_then(|text| serde_json::from_str::<Map<String, Value>>(text).ok());
    let mut configuration = existing.unwrap_or_default();
    // Encoding generated types does not fail: their keys are strings.
    let addition = serde_json::to_value(addition).unwrap_or_default();
    for (key, value) in addition.as_object().cloned().unwrap_or_default() {
        match (configuration.entry(key).or_insert(Value::Null), value) {
            (Value::Object(settings), Value::Object(added)) => settings.extend(added),
            (setting, added) => *setting = added,
        }
    }
    Value::from(configuration).to_string()
}

/// An MCP server that OpenCode starts: a program with its arguments, and variables in addition to OpenCode's.
#[must_use]
pub fn local_mcp_server(command: Vec<String>, environment: BTreeMap<String, String>) -> McpServerConfig {
    McpServerConfig {
        type_: Some(McpServerConfigType::Local),
        command: Some(command),
        environment: Some(environment),
        enabled: Some(true),
        ..McpServerConfig::new()
    }
}

/// An MCP server over HTTP, with headers for every request. OpenCode detects the transport by itself.
#[must_use]
pub fn remote_mcp_server(url: &str, headers: BTreeMap<String, String>) -> McpServerConfig {
    McpServerConfig {
        type_: Some(McpServerConfigType::Remote),
        url: Some(url.to_owned()),
        headers: Some(headers),
        enabled: Some(true),
        ..McpServerConfig::new()
    }
}

/// An OAuth client for an MCP server. Without an id, OpenCode registers one.
#[must_use]
pub fn oauth_client(id: Option<String>, scope: Option<String>) -> McpServerConfigOauth {
    McpOAuthConfig { client_id: id, scope, ..McpOAuthConfig::new() }.into()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn with_tiny(existing: Option<&str>) -> Value {
        let tiny = local_mcp_server(vec!["tiny".to_owned()], BTreeMap::new());
        let addition = Config { mcp: Some([("tiny".to_owned(), tiny)].into()), ..Config::new() };
        serde_json::from_str(&add_to_configuration(existing, &addition)).unwrap()
    }

    #[test]
    fn the_settings_of_the_user_are_kept() {
        let tiny = json!({"type": "local", "command": ["tiny"], "environment": {}, "enabled": true});
        let existing = r#"{"model":"lab/x","mcp":{"other":{"enabled":false},"tiny":{"enabled":false}}}"#;
        let both = json!({"model": "lab/x", "mcp": {"other": {"enabled": false}, "tiny": tiny}});
        assert_eq!(with_tiny(Some(existing)), both);
        let alone = json!({"mcp": {"tiny": tiny}});
        for existing in [None, Some(""), Some("[]"), Some(r#"{"mcp":"none"}"#)] {
            assert_eq!(with_tiny(existing), alone, "{existing:?}");
        }
    }
}
