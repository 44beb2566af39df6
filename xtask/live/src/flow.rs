//! The flows, each with its scenario and its checks.

use anyhow::{Result, ensure};
use interlingua_convert::Agent;
use interlingua_schema::TurnStatus;
use interlingua_scripted_model::Scenario;
use interlingua_scripted_model::scenario::{HostAction, MAIN_SESSION, Step, ToolAction};
use interlingua_snapshots::canonical::{CanonicalScenario, TraceException};

use crate::checks::{
    check_all_played, check_api_key, check_only_turn, check_received, count_events, has_file, session,
};
use crate::settings::API_KEY;
use crate::test_environment::TestEnvironment;

/// A use of the server that must work with every agent.
#[derive(Clone, Copy)]
pub(crate) struct Flow<'a> {
    /// Name in the table.
    pub(crate) name: &'a str,
    /// Name of the scenario to play.
    pub(crate) scenario: &'a str,
    /// Canonical scenarios of the first turns.
    turns: &'static [CanonicalScenario],
    /// Checks in addition to those of all flows.
    check: fn(&TestEnvironment<'_>) -> Result<()>,
}

/// All flows in the order in which they are played.
pub(crate) const FLOWS: [Flow<'static>; 12] = [
    Flow { turns: &[CanonicalScenario::PlainText], ..flow("chat", "greeting", chat) },
    Flow { turns: &[CanonicalScenario::Command], ..flow("command", "command-succeeds", command) },
    Flow { turns: &[CanonicalScenario::PermissionAllowed], ..flow("permission allowed", "allowed-once", allowed) },
    Flow { turns: &[CanonicalScenario::PermissionDenied], ..flow("permission denied", "denied", denied) },
    Flow { turns: &[CanonicalScenario::Question], ..flow("question", "asks-which-colour", question) },
    flow("plan approval", "plan-is-approved", plan),
    Flow {
        turns: &[CanonicalScenario::Interrupt, CanonicalScenario::PlainText],
        ..flow("interrupt", "interrupted-while-speaking", interrupt)
    },
    flow("interrupt of a command", "interrupted-while-a-command-runs", interrupted_command),
    Flow {
        turns: &[CanonicalScenario::PlainText, CanonicalScenario::PlainText],
        ..flow("two sessions at once", "two-sessions-at-once", two_sessions)
    },
    Flow {
        turns: &[CanonicalScenario::PlainText, CanonicalScenario::PlainText],
        ..flow("resume after a restart", "taken-up-again", resume)
    },
    flow("tool of an MCP server", "tool-of-a-server", mcp),
    flow("server killed in a command", "ended-while-a-command-runs", killed),
];

const fn flow<'a>(name: &'a str, scenario: &'a str, check: fn(&TestEnvironment<'_>) -> Result<()>) -> Flow<'a> {
    Flow { name, scenario, turns: &[], check }
}

impl<'a> Flow<'a> {
    /// A flow that plays a scenario with only the checks of all flows.
    pub(crate) fn from_scenario(name: &'a str) -> Self {
        flow(name, name, |_| Ok(()))
    }

    /// Why this version of the agent cannot play the flow, if so.
    pub(crate) fn unsupported_reason(&self, agent: Agent, version: &str, scenario: &Scenario) -> Option<String> {
        if agent == Agent::Amp && self.name != CHAT {
            return Some("its model runs on its own server".to_owned());
        }
        if scenario.turns.iter().flat_map(|turn| &turn.actions).any(|action| action.action == HostAction::CloseInput) {
            return Some("a client of the server cannot close an agent's input".to_owned());
        }
        if agent == Agent::Claude && scenario.has_step(|step| matches!(step, Step::ToolCall(ToolAction::Todo(_)))) {
            return Some("it offers its to-do tool only if its command line names all tools".to_owned());
        }
        // A scenario with several sessions works although one process cannot play it: the server starts several.
        let is_one_session = scenario.session_names().len() == 1;
        scenario.unsupported_reason(agent.id(), version).filter(|_| is_one_session).map(str::to_owned)
    }

    /// A note for the table if the flow passes.
    pub(crate) fn note(&self, agent: Agent) -> Option<String> {
        let note = match (self.name, agent) {
            (CHAT, Agent::Amp) => Some("its model runs on its own server: it starts, and the turn fails as expected"),
            ("permission allowed" | "permission denied", Agent::Codex) => Some(
                "it runs commands in its sandbox without asking; it asks when the model wants to leave the sandbox",
            ),
            ("plan approval", Agent::Codex) => Some("its plan is a proposal in its answer, without a question"),
            ("question", Agent::Codex) => Some("it asks questions only in plan mode"),
            _ => None,
        };
        let exception = self.turns.iter().find_map(|canonical| TraceException::find(*canonical, agent));
        let exception = exception.map(|exception| format!("its trace is an exception: {}", exception.reason));
        let notes: Vec<String> = note.map(str::to_owned).into_iter().chain(exception).collect();
        (!notes.is_empty()).then(|| notes.join("; "))
    }

    /// The canonical scenario of a turn; the first is 0.
    pub(crate) fn canonical(&self, turn: usize, agent: Agent) -> Option<CanonicalScenario> {
        let canonical = self.turns.get(turn).copied();
        // Amp cannot reach a model.
        if agent == Agent::Amp { canonical.map(|_| CanonicalScenario::ModelError) } else { canonical }
    }

    /// Runs the checks of this flow.
    pub(crate) fn check(&self, environment: &TestEnvironment<'_>) -> Result<()> {
        (self.check)(environment)
    }
}

const CHAT: &str = "chat";

fn chat(environment: &TestEnvironment<'_>) -> Result<()> {
    if environment.agent == Agent::Amp {
        return Ok(());
    }
    check_all_played(environment)?;
    check_api_key(environment, API_KEY)
}

fn command(environment: &TestEnvironment<'_>) -> Result<()> {
    check_all_played(environment)?;
    check_received(environment, 0, "2 notes.txt")
}

fn allowed(environment: &TestEnvironment<'_>) -> Result<()> {
    check_all_played(environment)?;
    ensure!(has_file(environment, "made.txt"), "the allowed command did not run: made.txt does not exist");
    Ok(())
}

fn denied(environment: &TestEnvironment<'_>) -> Result<()> {
    check_all_played(environment)?;
    ensure!(!has_file(environment, "made.txt"), "the denied command ran: made.txt exists");
    Ok(())
}

fn question(environment: &TestEnvironment<'_>) -> Result<()> {
    check_all_played(environment)?;
    check_received(environment, 0, "Blue")
}

fn plan(environment: &TestEnvironment<'_>) -> Result<()> {
    let session = session(environment, MAIN_SESSION)?;
    ensure!(session.lines.iter().any(|line| line.contains("Rewrite it")), "the plan is not in the stream");
    check_only_turn(session, &TurnStatus::Completed)?;
    if environment.agent == Agent::Codex {
        return Ok(());
    }
    let questions = count_events(session, "question.requested");
    ensure!(questions == 1, "expected one question about the plan, found {questions}");
    check_all_played(environment)
}

fn interrupt(environment: &TestEnvironment<'_>) -> Result<()> {
    check_all_played(environment)?;
    check_received(environment, 1, "Tell me a long story")
}

fn interrupted_command(environment: &TestEnvironment<'_>) -> Result<()> {
    check_only_turn(session(environment, MAIN_SESSION)?, &TurnStatus::Interrupted)
}

fn two_sessions(environment: &TestEnvironment<'_>) -> Result<()> {
    check_all_played(environment)?;
    let native = |name| Ok::<_, anyhow::Error>(native_ids(session(environment, name)?));
    let (main, other) = (native(MAIN_SESSION)?, native("other")?);
    let has_one_id_each = main.len() == 1 && other.len() == 1;
    ensure!(has_one_id_each, "expected one native id per session, found {main:?} and {other:?}");
    ensure!(main != other, "both sessions have the native id {main:?}");
    Ok(())
}

fn resume(environment: &TestEnvironment<'_>) -> Result<()> {
    check_all_played(environment)?;
    check_received(environment, 1, "My name is Ada")?;
    let ids = native_ids(session(environment, MAIN_SESSION)?);
    ensure!(ids.len() == 1, "expected the resumed session to keep its native id, found {ids:?}");
    Ok(())
}

fn mcp(environment: &TestEnvironment<'_>) -> Result<()> {
    check_all_played(environment)?;
    check_received(environment, 0, "42")?;
    check_only_turn(session(environment, MAIN_SESSION)?, &TurnStatus::Completed)
}

fn killed(environment: &TestEnvironment<'_>) -> Result<()> {
    check_only_turn(session(environment, MAIN_SESSION)?, &TurnStatus::Failed)
}

/// The distinct native session ids of a session's events.
fn native_ids(session: &crate::session::Session) -> Vec<String> {
    let mut ids: Vec<String> =
        session.events.iter().filter_map(|event| Some(event.native_session_id.as_ref()?.as_str().to_owned())).collect();
    ids.sort();
    ids.dedup();
    ids
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn scenario(name: &str) -> Scenario {
        Scenario::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../scenarios/{name}.toml"))).unwrap()
    }

    #[test]
    fn no_flow_has_more_canonical_turns_than_its_scenario() {
        for flow in &FLOWS {
            assert!(flow.turns.len() <= scenario(flow.scenario).turns.len(), "{}", flow.name);
        }
    }

    #[test]
    fn unsupported_flows_are_recognised() {
        let is_supported = |name: &str, agent| {
            let flow = FLOWS.iter().find(|flow| flow.name == name).unwrap();
            flow.unsupported_reason(agent, "999.0.0", &scenario(flow.scenario)).is_none()
        };
        // One process of Claude Code has one session, but the server starts two processes.
        assert!(is_supported("two sessions at once", Agent::Claude));
        assert!(!is_supported("plan approval", Agent::OpenCode));
        assert!(is_supported("chat", Agent::Amp) && !is_supported("question", Agent::Amp));
    }

    #[test]
    fn a_note_mentions_the_trace_exception_of_an_agent() {
        let question = FLOWS.iter().find(|flow| flow.name == "question").unwrap();
        assert!(question.note(Agent::Codex).unwrap().contains("exception"));
        assert_eq!(question.note(Agent::Claude), None);
    }
}
