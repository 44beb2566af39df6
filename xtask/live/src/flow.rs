//! The flows: what is played, and what must have come of it.

use anyhow::{Result, ensure};
use interlingua_convert::Agent;
use interlingua_schema::TurnStatus;
use interlingua_scripted_model::Scenario;
use interlingua_scripted_model::scenario::{HostAction, MAIN_SESSION, Step, ToolAction};
use interlingua_snapshots::canonical::{CanonicalScenario, TraceException};

use crate::checks::{all_was_played, count, ends, has_file, has_key, model_heard, session};
use crate::settings::KEY;
use crate::stage::Stage;

/// Something that must work with every agent.
#[derive(Clone, Copy)]
pub(crate) struct Flow<'a> {
    /// What it is called in the table.
    pub(crate) name: &'a str,
    /// The scenario that is played.
    pub(crate) scenario: &'a str,
    /// The canonical scenario of each turn, where there is one.
    turns: &'static [CanonicalScenario],
    /// What else must have happened.
    check: fn(&Stage<'_>) -> Result<()>,
}

/// All of them, in the order in which they are played.
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

const fn flow<'a>(name: &'a str, scenario: &'a str, check: fn(&Stage<'_>) -> Result<()>) -> Flow<'a> {
    Flow { name, scenario, turns: &[], check }
}

impl<'a> Flow<'a> {
    /// A scenario as it is, of which only that must be true which is true of every flow.
    pub(crate) fn of_scenario(name: &'a str) -> Self {
        flow(name, name, |_| Ok(()))
    }

    /// Why it cannot be played with an agent, if so.
    pub(crate) fn impossible(&self, agent: Agent, scenario: &Scenario) -> Option<String> {
        if agent == Agent::Amp && self.name != CHAT {
            return Some("its model runs on its own server".to_owned());
        }
        if scenario.turns.iter().flat_map(|turn| &turn.actions).any(|action| action.action == HostAction::CloseInput) {
            return Some("a client of the server cannot close an agent's input".to_owned());
        }
        if agent == Agent::Claude && scenario.has_step(|step| matches!(step, Step::ToolCall(ToolAction::Todo(_)))) {
            return Some("its to-do list is there only if its command line names all tools".to_owned());
        }
        // What one process of an agent cannot do the server can: it has as many as it needs.
        let is_one_session = scenario.session_names().len() == 1;
        scenario.unsupported.get(agent.id()).filter(|_| is_one_session).cloned()
    }

    /// What there is to say when it passes with an agent.
    pub(crate) fn remark(&self, agent: Agent) -> Option<String> {
        let own = match (self.name, agent) {
            (CHAT, Agent::Amp) => Some("its model runs on its own server: it starts, and the turn fails as it should"),
            ("permission allowed" | "permission denied", Agent::Codex) => {
                Some("its sandbox lets commands run: it asks when the model wants out of it")
            }
            ("plan approval", Agent::Codex) => Some("its plan is a proposal in its answer: nobody is asked"),
            ("question", Agent::Codex) => Some("it asks in plan mode only"),
            _ => None,
        };
        let excepted = self.turns.iter().find_map(|canonical| TraceException::find(*canonical, agent));
        let excepted = excepted.map(|exception| format!("its trace is an exception: {}", exception.reason));
        let all: Vec<String> = own.map(str::to_owned).into_iter().chain(excepted).collect();
        (!all.is_empty()).then(|| all.join("; "))
    }

    /// The canonical scenario of a turn; the first is 0.
    pub(crate) fn canonical(&self, turn: usize, agent: Agent) -> Option<CanonicalScenario> {
        let canonical = self.turns.get(turn).copied();
        // There is no model that Amp could reach.
        if agent == Agent::Amp { canonical.map(|_| CanonicalScenario::ModelError) } else { canonical }
    }

    /// Whether that happened which must have.
    pub(crate) fn check(&self, stage: &Stage<'_>) -> Result<()> {
        (self.check)(stage)
    }
}

const CHAT: &str = "chat";

fn chat(stage: &Stage<'_>) -> Result<()> {
    if stage.agent == Agent::Amp {
        return Ok(());
    }
    all_was_played(stage)?;
    has_key(stage, KEY)
}

fn command(stage: &Stage<'_>) -> Result<()> {
    all_was_played(stage)?;
    model_heard(stage, 0, "2 notes.txt")
}

fn allowed(stage: &Stage<'_>) -> Result<()> {
    all_was_played(stage)?;
    ensure!(has_file(stage, "made.txt"), "what was allowed was not done: there is no made.txt");
    Ok(())
}

fn denied(stage: &Stage<'_>) -> Result<()> {
    all_was_played(stage)?;
    ensure!(!has_file(stage, "made.txt"), "what was denied was done: there is a made.txt");
    Ok(())
}

fn question(stage: &Stage<'_>) -> Result<()> {
    all_was_played(stage)?;
    model_heard(stage, 0, "Blue")
}

fn plan(stage: &Stage<'_>) -> Result<()> {
    let session = session(stage, MAIN_SESSION)?;
    ensure!(session.lines.iter().any(|line| line.contains("Rewrite it")), "the plan is not in the stream");
    ensure!(ends(session) == [TurnStatus::Completed], "the turn ended as {:?}", ends(session));
    if stage.agent == Agent::Codex {
        return Ok(());
    }
    ensure!(count(session, "question.requested") == 1, "nobody was asked whether the plan is good");
    all_was_played(stage)
}

fn interrupt(stage: &Stage<'_>) -> Result<()> {
    all_was_played(stage)?;
    model_heard(stage, 1, "Tell me a long story")
}

fn interrupted_command(stage: &Stage<'_>) -> Result<()> {
    let session = session(stage, MAIN_SESSION)?;
    ensure!(ends(session) == [TurnStatus::Interrupted], "the turn ended as {:?}", ends(session));
    Ok(())
}

fn two_sessions(stage: &Stage<'_>) -> Result<()> {
    all_was_played(stage)?;
    let native = |name| Ok::<_, anyhow::Error>(native_ids(session(stage, name)?));
    let (main, other) = (native(MAIN_SESSION)?, native("other")?);
    ensure!(main.len() == 1 && other.len() == 1, "a session has one native id, and these are {main:?} and {other:?}");
    ensure!(main != other, "both sessions are {main:?}");
    Ok(())
}

fn resume(stage: &Stage<'_>) -> Result<()> {
    all_was_played(stage)?;
    model_heard(stage, 1, "My name is Ada")?;
    let ids = native_ids(session(stage, MAIN_SESSION)?);
    ensure!(ids.len() == 1, "a session that is taken up again has its old native id, and these are {ids:?}");
    Ok(())
}

fn mcp(stage: &Stage<'_>) -> Result<()> {
    all_was_played(stage)?;
    model_heard(stage, 0, "42")?;
    let session = session(stage, MAIN_SESSION)?;
    ensure!(ends(session) == [TurnStatus::Completed], "the turn ended as {:?}", ends(session));
    Ok(())
}

fn killed(stage: &Stage<'_>) -> Result<()> {
    let session = session(stage, MAIN_SESSION)?;
    ensure!(ends(session) == [TurnStatus::Failed], "the turn ended as {:?}", ends(session));
    Ok(())
}

/// The native ids that a session's events have, once they have any.
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
    fn every_flow_has_its_scenario_and_no_more_canonical_turns_than_that() {
        for flow in &FLOWS {
            assert!(flow.turns.len() <= scenario(flow.scenario).turns.len(), "{}", flow.name);
        }
    }

    #[test]
    fn what_one_process_cannot_do_the_server_can() {
        let possible = |name: &str, agent| {
            let flow = FLOWS.iter().find(|flow| flow.name == name).unwrap();
            flow.impossible(agent, &scenario(flow.scenario)).is_none()
        };
        assert!(possible("two sessions at once", Agent::Claude));
        assert!(!possible("plan approval", Agent::OpenCode));
        assert!(possible("chat", Agent::Amp) && !possible("question", Agent::Amp));
    }

    #[test]
    fn an_exception_of_the_recordings_is_said() {
        let question = FLOWS.iter().find(|flow| flow.name == "question").unwrap();
        assert!(question.remark(Agent::Codex).unwrap().contains("exception"));
        assert_eq!(question.remark(Agent::Claude), None);
    }
}
