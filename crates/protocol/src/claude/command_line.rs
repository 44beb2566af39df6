//! The command-line arguments of a session.

use std::collections::BTreeMap;

use interlingua_native::claude::{McpServerConfigForProcessTransport, PermissionMode};
use semver::Version;
use serde::Serialize;

use super::support::{EFFORT, PARTIAL_MESSAGES, TOOLS};
use super::to_text;

/// The flags of every session: JSON lines in both directions, and requests to the host.
pub const WIRE_FLAGS: [&str; 9] = [
    "--print",
    "--output-format",
    "stream-json",
    "--verbose",
    "--include-partial-messages",
    "--input-format",
    "stream-json",
    "--permission-prompt-tool",
    "stdio",
];

/// The options of a session.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SessionOptions<'a> {
    /// What the agent may do without asking.
    pub permissions: Permissions,
    /// The model; `None` for the default.
    pub model: Option<&'a str>,
    /// The effort of the model; `None` for the default.
    pub effort: Option<&'a str>,
    /// The built-in tools, separated by commas; `None` for the default.
    pub tools: Option<&'a str>,
    /// The session to resume; `None` for a new one.
    pub resume: Option<&'a str>,
    /// The MCP servers of the session.
    pub mcp_servers: McpServers,
    /// Whether the agent uses only the MCP servers of the session.
    pub strict_mcp_config: bool,
}

/// What the agent may do without asking.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Permissions {
    /// What the user's settings allow.
    #[default]
    Default,
    /// What a permission mode allows.
    Mode(PermissionMode),
    /// Everything.
    Bypass,
}

/// MCP servers by name: the value of `--mcp-config`. The vendor's schema declares the servers, but not the object that
/// contains them.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct McpServers {
    /// The servers.
    pub mcp_servers: BTreeMap<String, McpServerConfigForProcessTransport>,
}

/// The command line of a session for a version of the agent, without flags that the version does not support.
#[must_use]
pub fn command_line(options: &SessionOptions<'_>, version: Option<&Version>) -> Vec<String> {
    let mut args: Vec<String> = WIRE_FLAGS.map(str::to_owned).to_vec();
    if !PARTIAL_MESSAGES.includes(version) {
        args.retain(|flag| flag != PARTIAL_MESSAGES.name);
    }
    let mut add = |words: &[&str]| args.extend(words.iter().map(|word| (*word).to_owned()));
    match &options.permissions {
        Permissions::Default => {}
        Permissions::Mode(mode) => add(&["--permission-mode", mode.as_str()]),
        Permissions::Bypass => add(&["--dangerously-skip-permissions"]),
    }
    if let Some(model) = options.model {
        add(&["--model", model]);
    }
    if let Some(effort) = options.effort.filter(|_| EFFORT.includes(version)) {
        add(&[EFFORT.name, effort]);
    }
    if let Some(tools) = options.tools.filter(|_| TOOLS.includes(version)) {
        add(&[TOOLS.name, tools]);
    }
    if let Some(session) = options.resume {
        add(&["--resume", session]);
    }
    if !options.mcp_servers.mcp_servers.is_empty() {
        add(&["--mcp-config", &to_text(&options.mcp_servers)]);
    }
    if options.strict_mcp_config {
        add(&["--strict-mcp-config"]);
    }
    args
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flags(options: &SessionOptions<'_>) -> String {
        let args = command_line(options, None);
        assert_eq!(args[..WIRE_FLAGS.len()], WIRE_FLAGS);
        args[WIRE_FLAGS.len()..].join(" ")
    }

    #[test]
    fn default_options_have_only_the_wire_flags() {
        assert_eq!(flags(&SessionOptions::default()), "");
    }

    #[test]
    fn every_option_is_a_flag() {
        let server = McpServerConfigForProcessTransport {
            command: Some("tool".to_owned()),
            args: Some(vec!["a".to_owned()]),
            ..McpServerConfigForProcessTransport::new()
        };
        let options = SessionOptions {
            permissions: Permissions::Mode(PermissionMode::AcceptEdits),
            model: Some("opus"),
            effort: Some("low"),
            tools: Some("Bash,Read"),
            resume: Some("abc"),
            mcp_servers: McpServers { mcp_servers: BTreeMap::from([("tiny".to_owned(), server)]) },
            strict_mcp_config: true,
        };
        assert_eq!(
            flags(&options),
            "--permission-mode acceptEdits --model opus --effort low --tools Bash,Read --resume abc --mcp-config \
             {\"mcpServers\":{\"tiny\":{\"args\":[\"a\"],\"command\":\"tool\"}}} --strict-mcp-config"
        );
        let bypass = SessionOptions { permissions: Permissions::Bypass, ..SessionOptions::default() };
        assert_eq!(flags(&bypass), "--dangerously-skip-permissions");
    }

    #[test]
    fn unsupported_flags_are_left_out_for_old_versions() {
        let options = SessionOptions { effort: Some("low"), tools: Some("Bash"), ..SessionOptions::default() };
        let args = |version: &str| command_line(&options, Some(&Version::parse(version).unwrap())).join(" ");
        assert!(args("2.1.325").ends_with("stdio --effort low --tools Bash"));
        assert!(args("2.0.31").ends_with("stdio --tools Bash"));
        assert!(args("2.0.30").ends_with("stdio"));
        assert!(args("2.0.30").contains("--include-partial-messages"));
        assert!(!args("1.0.80").contains("--include-partial-messages"));
    }
}
