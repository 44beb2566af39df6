//! What a turn wants, and what of it Amp can honour.

use super::help::Help;
use super::mcp_config::McpConfig;
use super::prompt::Delivery;
use crate::agents::Mode;
use crate::driver::SessionSpec;
use crate::error::Refusal;
use crate::modes::PermissionMode;

const BUILD: &str = "build";
/// Amp's own modes: id, name and description.
const AMP_MODES: [(&str, &str, &str); 4] = [
    ("low", "Low", "Amp's cheapest and fastest agent"),
    ("medium", "Medium", "Amp's agent between speed and care"),
    ("high", "High", "Amp's careful agent"),
    ("ultra", "Ultra", "Amp's most thorough agent"),
];

/// The modes of its sessions.
pub(super) fn modes() -> Vec<Mode> {
    let build = Mode::new(BUILD, "Build", "Amp's default agent");
    std::iter::once(build).chain(AMP_MODES.map(|(id, name, description)| Mode::new(id, name, description))).collect()
}

/// Refuses what it cannot honour.
pub(super) fn check(spec: &SessionSpec) -> Result<(), Refusal> {
    let known: Vec<&str> = std::iter::once(BUILD).chain(AMP_MODES.map(|(id, _, _)| id)).collect();
    if let Some(mode) = spec.agent_mode.as_deref().filter(|mode| !known.contains(mode)) {
        return Err(Refusal::mode("agentMode", mode, &known));
    }
    if !matches!(spec.permission_mode, PermissionMode::Default | PermissionMode::Bypass) {
        let known = [PermissionMode::Default.name(), PermissionMode::Bypass.name()];
        return Err(Refusal::mode("permissionMode", spec.permission_mode.name(), &known));
    }
    if let Some(model) = &spec.model {
        let detail =
            format!("Amp cannot be given the model `{model}`: its mode decides (`agentMode` {})", known.join(", "));
        return Err(Refusal::field("model", detail));
    }
    if let Some(variant) = &spec.variant {
        return Err(Refusal::field("variant", format!("Amp has no variants, so not `{variant}`")));
    }
    Ok(())
}

/// The arguments of a turn. `thread` is the thread to continue; `None` for a new one.
pub(super) fn command_line(
    spec: &SessionSpec,
    thread: Option<&str>,
    delivery: &Delivery,
    mcp: Option<&McpConfig>,
    help: &Help,
) -> Vec<String> {
    let mut args = Vec::new();
    let mut add = |words: &[&str]| args.extend(words.iter().map(|word| (*word).to_owned()));
    for flag in [Help::NO_IDE, Help::NO_NOTIFICATIONS] {
        if help.has(flag) {
            add(&[flag]);
        }
    }
    if spec.permission_mode == PermissionMode::Bypass {
        // No version lists this one among its flags.
        add(&["--dangerously-allow-all"]);
    }
    if let Some(mcp) = mcp {
        add(&["--mcp-config", &mcp.value()]);
    }
    if let Some(thread) = thread {
        add(&["threads", "continue", thread]);
    } else {
        if let Some(mode) = spec.agent_mode.as_deref().filter(|mode| *mode != BUILD) {
            add(&["--mode", mode]);
        }
        if help.has(Help::KEEPS_THREAD) {
            add(&[Help::KEEPS_THREAD]);
        }
    }
    match delivery {
        Delivery::Line(_) => add(&["-x", "--stream-json", Help::READS_MESSAGES]),
        Delivery::Argument(text) => add(&["-x", text, "--stream-json"]),
    }
    if help.has(Help::THINKING) {
        add(&[Help::THINKING]);
    }
    args
}

#[cfg(test)]
mod tests {
    use interlingua_convert::Agent;

    use super::*;
    use crate::environment::Environment;
    use crate::mcp::McpServers;

    fn spec() -> SessionSpec {
        SessionSpec {
            session_id: "s".into(),
            native_session_id: None,
            directory: "/".into(),
            agent_mode: None,
            permission_mode: PermissionMode::Default,
            model: None,
            variant: None,
            agent_version: None,
            title: None,
            env: Environment::default(),
            mcp: McpServers::default(),
        }
    }

    fn flags(spec: &SessionSpec, thread: Option<&str>, help: &Help) -> String {
        let reads_messages = help.has(Help::READS_MESSAGES);
        let delivery = if reads_messages { Delivery::Line("{}".into()) } else { Delivery::Argument("hi".into()) };
        command_line(spec, thread, &delivery, None, help).join(" ")
    }

    #[test]
    fn variants_are_taken_as_declared() {
        let spec = SessionSpec { variant: Some("high".into()), ..spec() };
        assert_eq!(check(&spec).is_ok(), Agent::Amp.descriptor().has_model_variants);
    }

    #[test]
    fn a_version_that_knows_little_is_told_little() {
        assert_eq!(flags(&spec(), None, &Help::default()), "-x hi --stream-json");
        assert_eq!(flags(&spec(), Some("T-1"), &Help::default()), "threads continue T-1 -x hi --stream-json");
    }

    #[test]
    fn a_version_that_knows_all_is_told_all() {
        let help = Help::read(
            "--no-ide --no-notifications --stream-json-thinking --stream-json-input --no-archive-after-execute",
        );
        let spec = SessionSpec { agent_mode: Some("low".into()), permission_mode: PermissionMode::Bypass, ..spec() };
        assert_eq!(
            flags(&spec, None, &help),
            "--no-ide --no-notifications --dangerously-allow-all --mode low --no-archive-after-execute \
             -x --stream-json --stream-json-input --stream-json-thinking"
        );
    }

    #[test]
    fn what_cannot_be_honoured_is_refused() {
        assert_eq!(check(&spec()), Ok(()));
        for refused in [
            SessionSpec { agent_mode: Some("plan".into()), ..spec() },
            SessionSpec { permission_mode: PermissionMode::AcceptEdits, ..spec() },
            SessionSpec { model: Some("opus".into()), ..spec() },
            SessionSpec { variant: Some("low".into()), ..spec() },
        ] {
            assert!(check(&refused).is_err(), "{refused:?}");
        }
    }
}
