//! What `interlingua --version` prints.

use std::sync::LazyLock;

use interlingua_agents::Agent;

/// Target that the program was built for.
pub(crate) const TARGET: &str = env!("INTERLINGUA_BUILD_TARGET");
const COMMIT: &str = env!("INTERLINGUA_BUILD_COMMIT");
const COMMIT_DATE: &str = env!("INTERLINGUA_BUILD_COMMIT_DATE");

/// The version, and the commit if it is known: `0.1.0 (0123456789 2026-01-31)`.
pub(crate) fn with_commit() -> String {
    let version = env!("CARGO_PKG_VERSION");
    match (COMMIT, COMMIT_DATE) {
        ("", _) => version.to_owned(),
        (commit, "") => format!("{version} ({commit})"),
        (commit, date) => format!("{version} ({commit} {date})"),
    }
}

/// Version, commit, target, and the versions of the agents that the program was built for.
pub(crate) fn describe() -> &'static str {
    static DESCRIPTION: LazyLock<String> = LazyLock::new(|| {
        let agents = Agent::ALL.into_iter().filter_map(|agent| {
            let schemas = interlingua_agent_schemas::find(agent.id())?;
            Some(format!("\n{:<9} {}", agent.id(), schemas.agent_version))
        });
        format!("{}\ntarget    {TARGET}{}", with_commit(), agents.collect::<String>())
    });
    &DESCRIPTION
}
