//! Options of a session: which of them Amp supports, and the command line of a turn.

use super::mcp_config::McpConfig;
use super::prompt::Delivery;
use super::supported_flags::SupportedFlags;
use crate::agents::Mode;
use crate::driver::SessionSpec;
use crate::error::Refusal;
use crate::mcp::SupportedOptions;
use crate::permission_mode::PermissionMode;

/// The mode of a session that was created without one.
pub(super) const BUILD: &str = "build";
/// Amp's own modes: id, name and description.
const AMP_MODES: [(&str, &str, &str); 4] = [
    ("low", "Low", "Amp's cheapest and fastest agent"),
    ("medium", "Medium", "Amp's balance of speed and thoroughness"),
    ("high", "High", "Amp's thorough agent"),
    ("ultra", "Ultra", "Amp's most thorough agent"),
];

/// The modes of an Amp session.
pub(super) fn modes() -> Vec<Mode> {
    let build = Mode::new(BUILD, "Build", "Amp's default agent");
    std::iter::once(build).chain(AMP_MODES.map(|(id, name, description)| Mode::new(id, name, description))).collect()
}

/// Refuses options that Amp does not support.
pub(super) fn check(spec: &SessionSpec) -> Result<(), Refusal> {
    let known: Vec<&str> = std::iter::once(BUILD).chain(AMP_MODES.map(|(id, _, _)| id)).collect();
    if let Some(mode) = spec.agent_mode.as_deref().filter(|mode| !known.contains(mode)) {
        return Err(Refusal::mode("agentMode", mode, &known));
    }
    if !matches!(spec.permission_mode, PermissionMode::Default | PermissionMode::Bypass) {
        let known = [PermissionMode::Default.name(), PermissionMode::Bypass.name()];
        return Err(Refusal::mode("permissionMode", spec.permission_mode.name(), &known));
    }
    spec.mcp.check_options("Amp", SupportedOptions::default())?;
    if let Some(model) = &spec.model {
        let detail = format!(
            "Amp has no option for the model `{model}`: the mode decides it (`agentMode` {})",
            known.join(", ")
        );
        return Err(Refusal::field("model", detail));
    }
    if let Some(variant) = &spec.variant {
        return Err(Refusal::field("variant", format!("Amp has no model variants, found `{variant}`")));
    }
    Ok(())
}

/// The arguments of a turn. `thread` is the thread to continue; `None` for a new one.
pub(super) fn command_line(
    spec: &SessionSpec,
    thread: Option<&str>,
    delivery: &Delivery,
    mcp: Option<&McpConfig>,
    flags: &SupportedFlags,
) -> Vec<String> {
    let mut args = Vec::new();
    let mut add = |words: &[&str]| args.extend(words.iter().map(|word| (*word).to_owned()));
    for flag in [SupportedFlags::NO_IDE, SupportedFlags::NO_NOTIFICATIONS] {
        if flags.contains(flag) {
            add(&[flag]);
        }
    }
    if spec.permission_mode == PermissionMode::Bypass {
        // No version lists this flag.
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
        if flags.contains(SupportedFlags::NO_ARCHIVE) {
            add(&[SupportedFlags::NO_ARCHIVE]);
        }
    }
    match delivery {
        Delivery::Line(_) => add(&["-x", "--stream-json", SupportedFlags::MESSAGE_INPUT]),
        Delivery::Argument(text) => add(&["-x", text, "--stream-json"]),
    }
    if flags.contains(SupportedFlags::THINKING) {
        add(&[SupportedFlags::THINKING]);
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

    fn joined_args(spec: &SessionSpec, thread: Option<&str>, flags: &SupportedFlags) -> String {
        let reads_messages = flags.contains(SupportedFlags::MESSAGE_INPUT);
        let delivery = if reads_messages { Delivery::Line("{}".into()) } else { Delivery::Argument("hi".into()) };
        command_line(spec, thread, &delivery, None, flags).join(" ")
    }

    #[test]
    fn variants_are_accepted_as_the_descriptor_declares() {
        let spec = SessionSpec { variant: Some("high".into()), ..spec() };
        assert_eq!(check(&spec).is_ok(), Agent::Amp.descriptor().has_model_variants);
    }

    #[test]
    fn a_version_without_optional_flags_gets_none() {
        assert_eq!(joined_args(&spec(), None, &SupportedFlags::default()), "-x hi --stream-json");
        assert_eq!(
            joined_args(&spec(), Some("T-1"), &SupportedFlags::default()),
            "threads continue T-1 -x hi --stream-json"
        );
    }

    #[test]
    fn a_version_with_all_optional_flags_gets_all() {
        let flags = SupportedFlags::parse(
            "--no-ide --no-notifications --stream-json-thinking --stream-json-input --no-archive-after-execute",
        );
        let spec = SessionSpec { agent_mode: Some("low".into()), permission_mode: PermissionMode::Bypass, ..spec() };
        assert_eq!(
            joined_args(&spec, None, &flags),
            "--no-ide --no-notifications --dangerously-allow-all --mode low --no-archive-after-execute \
             -x --stream-json --stream-json-input --stream-json-thinking"
        );
    }

    #[test]
    fn unsupported_options_are_refused() {
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
