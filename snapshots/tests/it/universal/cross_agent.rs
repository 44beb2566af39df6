//! The same scenario has the same canonical trace with every agent, except for the listed exceptions.

use std::collections::{BTreeMap, BTreeSet};

use interlingua_convert::Agent;
use interlingua_convert::coverage::{Feature, is_proven};
use interlingua_schema::{EventData, ItemKind, UniversalEvent};
use interlingua_snapshots::CorpusEntry;
use interlingua_snapshots::canonical::{
    CanonicalScenario, EXCEPTIONS, Evidence, Focus, FocusTarget, TraceException, trace,
};

use crate::corpus;

/// A recording that contains a canonical scenario, and where.
struct RecordedScenario {
    scenario: CanonicalScenario,
    recording: &'static str,
    focus: Focus,
}

/// A scenario in the first turn of a recording.
const fn recorded(scenario: CanonicalScenario, recording: &'static str) -> RecordedScenario {
    RecordedScenario { scenario, recording, focus: Focus { turn: 0, target: scenario.target() } }
}

impl RecordedScenario {
    const fn turn(mut self, turn: usize) -> Self {
        self.focus.turn = turn;
        self
    }

    const fn call(mut self, call: usize) -> Self {
        self.focus.target = FocusTarget::ToolCall(call);
        self
    }
}

const RECORDED_SCENARIOS: &[RecordedScenario] = &[
    recorded(CanonicalScenario::PlainText, "claude/2.1.325/text"),
    recorded(CanonicalScenario::PlainText, "claude/2.1.325/stream-input-two-turns").turn(1),
    recorded(CanonicalScenario::PlainText, "codex/0.166.0/text_deltas"),
    recorded(CanonicalScenario::PlainText, "codex/0.145.0/text_deltas").turn(1),
    recorded(CanonicalScenario::PlainText, "opencode/1.18.33/text_deltas"),
    recorded(CanonicalScenario::PlainText, "amp/0.0.1790142911-g7618fb/text"),
    recorded(CanonicalScenario::PlainText, "amp/0.0.1790142911-g7618fb/stream-json-input").turn(1),
    recorded(CanonicalScenario::Reasoning, "claude/2.1.325/thinking-text"),
    recorded(CanonicalScenario::Reasoning, "claude/2.1.325/partial-thinking-text"),
    recorded(CanonicalScenario::Reasoning, "codex/0.166.0/reasoning"),
    recorded(CanonicalScenario::Reasoning, "opencode/1.18.33/reasoning"),
    recorded(CanonicalScenario::Reasoning, "amp/0.0.1790142911-g7618fb/thinking-shown"),
    recorded(CanonicalScenario::Command, "claude/2.1.325/bash-allowed"),
    recorded(CanonicalScenario::Command, "claude/2.1.325/partial-tools"),
    recorded(CanonicalScenario::Command, "codex/0.166.0/exec_basic"),
    recorded(CanonicalScenario::Command, "codex/0.145.0/exec_basic"),
    recorded(CanonicalScenario::Command, "opencode/1.18.33/bash_tool"),
    recorded(CanonicalScenario::Command, "opencode/1.18.33/anthropic_provider"),
    recorded(CanonicalScenario::Command, "opencode/1.18.33/responses_provider"),
    recorded(CanonicalScenario::Command, "opencode/1.18.33/v2_api_file"),
    recorded(CanonicalScenario::Command, "amp/0.0.1790142911-g7618fb/shell-command"),
    recorded(CanonicalScenario::FailingCommand, "claude/2.1.325/bash-allowed").call(1),
    recorded(CanonicalScenario::FailingCommand, "codex/0.166.0/exec_basic").call(1),
    recorded(CanonicalScenario::FailingCommand, "opencode/1.18.33/bash_tool").call(1),
    recorded(CanonicalScenario::FailingCommand, "amp/0.0.1790142911-g7618fb/shell-command").call(1),
    recorded(CanonicalScenario::FileEdit, "claude/2.1.325/files-accept-edits").call(1),
    recorded(CanonicalScenario::FileEdit, "codex/0.166.0/apply_patch").call(1),
    recorded(CanonicalScenario::FileEdit, "codex/0.166.0/patch_streaming").call(1),
    recorded(CanonicalScenario::FileEdit, "opencode/1.18.33/file_tools").call(2),
    recorded(CanonicalScenario::FileEdit, "amp/0.0.1790142911-g7618fb/file-tools").call(1),
    recorded(CanonicalScenario::PermissionAllowed, "claude/2.1.325/perm-allow"),
    recorded(CanonicalScenario::PermissionAllowed, "codex/0.166.0/approve_exec"),
    recorded(CanonicalScenario::PermissionAllowed, "codex/0.145.0/approve_exec"),
    recorded(CanonicalScenario::PermissionAllowed, "opencode/1.18.33/permission_once"),
    recorded(CanonicalScenario::PermissionAllowed, "opencode/1.18.33/permission_once").call(1),
    recorded(CanonicalScenario::PermissionAllowed, "opencode/1.18.33/v2_permission"),
    recorded(CanonicalScenario::PermissionDenied, "claude/2.1.325/perm-deny"),
    recorded(CanonicalScenario::PermissionDenied, "codex/0.166.0/approve_exec").turn(2),
    recorded(CanonicalScenario::PermissionDenied, "opencode/1.18.33/permission_reject_message"),
    recorded(CanonicalScenario::Question, "claude/2.1.325/ask-user-question"),
    recorded(CanonicalScenario::Question, "claude/2.1.325/ask-user-question-free-text"),
    recorded(CanonicalScenario::Question, "opencode/1.18.33/question_reply"),
    recorded(CanonicalScenario::Interrupt, "claude/2.1.325/interrupt-while-streaming"),
    recorded(CanonicalScenario::Interrupt, "codex/0.166.0/interrupt_stream"),
    recorded(CanonicalScenario::Interrupt, "opencode/1.18.33/abort_streaming"),
    recorded(CanonicalScenario::ModelError, "claude/2.1.325/error-529-forever"),
    recorded(CanonicalScenario::ModelError, "claude/2.1.325/no-api-key"),
    recorded(CanonicalScenario::ModelError, "codex/0.166.0/error_400"),
    recorded(CanonicalScenario::ModelError, "codex/0.145.0/error_401"),
    recorded(CanonicalScenario::ModelError, "opencode/1.18.33/error_400"),
    recorded(CanonicalScenario::ModelError, "opencode/1.18.33/error_401"),
    recorded(CanonicalScenario::ModelError, "amp/0.0.1790142911-g7618fb/cancelled-assistant"),
    recorded(CanonicalScenario::PlainText, "acp/claude-0.99.1/text_two_turns").turn(1),
    recorded(CanonicalScenario::PlainText, "acp/codex-2.6.0/text_two_turns").turn(1),
    recorded(CanonicalScenario::PlainText, "acp/copilot-1.0.102/text_two_turns").turn(1),
    recorded(CanonicalScenario::PlainText, "acp/gemini-0.61.0/text_two_turns").turn(1),
    recorded(CanonicalScenario::PlainText, "acp/opencode-1.18.34/text_two_turns").turn(1),
    recorded(CanonicalScenario::Reasoning, "acp/claude-0.99.1/text_two_turns"),
    recorded(CanonicalScenario::Reasoning, "acp/codex-2.6.0/text_two_turns"),
    recorded(CanonicalScenario::Reasoning, "acp/copilot-1.0.102/text_two_turns"),
    recorded(CanonicalScenario::Reasoning, "acp/gemini-0.61.0/text_two_turns"),
    recorded(CanonicalScenario::Reasoning, "acp/opencode-1.18.34/text_two_turns"),
    recorded(CanonicalScenario::Command, "acp/codex-2.6.0/file_edit").call(1),
    // The agent's own review of the command fails it.
    recorded(CanonicalScenario::FailingCommand, "acp/codex-2.6.0/guardian_review_denied"),
    recorded(CanonicalScenario::PermissionAllowed, "acp/claude-0.99.1/tool_allowed"),
    recorded(CanonicalScenario::PermissionAllowed, "acp/codex-2.6.0/tool_allowed"),
    recorded(CanonicalScenario::PermissionAllowed, "acp/copilot-1.0.102/tool_allowed"),
    recorded(CanonicalScenario::PermissionAllowed, "acp/gemini-0.61.0/tool_allowed"),
    recorded(CanonicalScenario::PermissionAllowed, "acp/opencode-1.18.34/tool_allowed"),
    recorded(CanonicalScenario::PermissionDenied, "acp/claude-0.99.1/tool_rejected"),
    recorded(CanonicalScenario::PermissionDenied, "acp/gemini-0.61.0/tool_rejected"),
    // The repeated history of a session has no permissions.
    recorded(CanonicalScenario::FileEdit, "acp/qwen-0.24.4/load_in_new_process_2").turn(1).call(2),
    recorded(CanonicalScenario::Question, "acp/claude-0.100.0/ask_user_forms"),
    recorded(CanonicalScenario::PlainText, "acp/qwen-0.24.4/text_two_turns").turn(1),
    recorded(CanonicalScenario::ModelError, "acp/qwen-0.24.4/model_error_400"),
    recorded(CanonicalScenario::Interrupt, "acp/qwen-0.24.4/cancel_streaming"),
    recorded(CanonicalScenario::Interrupt, "acp/claude-0.99.1/cancel_streaming"),
    recorded(CanonicalScenario::Interrupt, "acp/codex-2.6.0/cancel_streaming"),
    recorded(CanonicalScenario::Interrupt, "acp/copilot-1.0.102/cancel_streaming"),
    recorded(CanonicalScenario::Interrupt, "acp/gemini-0.61.0/cancel_streaming"),
    recorded(CanonicalScenario::Interrupt, "acp/opencode-1.18.34/cancel_streaming"),
];

/// The canonical scenarios in the files of `scenarios/`: name of the file, canonical scenario, index of the turn, and
/// index of the tool call if the scenario is about one. The recordings have the same name with every agent.
const SCENARIO_FILES: &[(&str, CanonicalScenario, usize, usize)] = &[
    ("greeting", CanonicalScenario::PlainText, 0, 0),
    ("speaks-in-small-pieces", CanonicalScenario::PlainText, 0, 0),
    ("drips-slowly", CanonicalScenario::PlainText, 0, 0),
    ("pauses-then-goes-on", CanonicalScenario::PlainText, 0, 0),
    ("overloaded-then-fine", CanonicalScenario::PlainText, 0, 0),
    ("server-error-then-fine", CanonicalScenario::PlainText, 0, 0),
    ("remembers-the-first-turn", CanonicalScenario::PlainText, 0, 0),
    ("remembers-the-first-turn", CanonicalScenario::PlainText, 1, 0),
    ("taken-up-again", CanonicalScenario::PlainText, 0, 0),
    ("taken-up-again", CanonicalScenario::PlainText, 1, 0),
    ("thinks-then-answers", CanonicalScenario::Reasoning, 0, 0),
    ("command-succeeds", CanonicalScenario::Command, 0, 0),
    ("command-prints-much", CanonicalScenario::Command, 0, 0),
    ("command-prints-nothing", CanonicalScenario::Command, 0, 0),
    ("commands-at-once", CanonicalScenario::Command, 0, 0),
    ("commands-at-once", CanonicalScenario::Command, 0, 1),
    ("commands-one-after-the-other", CanonicalScenario::Command, 0, 0),
    ("commands-one-after-the-other", CanonicalScenario::Command, 0, 1),
    ("command-fails", CanonicalScenario::FailingCommand, 0, 0),
    ("writes-a-file", CanonicalScenario::FileEdit, 0, 0),
    ("edits-a-file", CanonicalScenario::FileEdit, 0, 1),
    ("allowed-once", CanonicalScenario::PermissionAllowed, 0, 0),
    ("allowed-for-good", CanonicalScenario::PermissionAllowed, 0, 0),
    ("allowed-for-good", CanonicalScenario::Command, 0, 1),
    ("denied", CanonicalScenario::PermissionDenied, 0, 0),
    ("denied-with-a-reason", CanonicalScenario::PermissionDenied, 0, 0),
    ("asks-which-colour", CanonicalScenario::Question, 0, 0),
    ("asks-two-questions", CanonicalScenario::Question, 0, 0),
    ("interrupted-while-speaking", CanonicalScenario::Interrupt, 0, 0),
    ("interrupted-while-speaking", CanonicalScenario::PlainText, 1, 0),
    ("refused-as-invalid", CanonicalScenario::ModelError, 0, 0),
    ("refused-for-a-wrong-key", CanonicalScenario::ModelError, 0, 0),
    ("overloaded-for-ever", CanonicalScenario::ModelError, 0, 0),
];

/// Recordings of a scenario file with another trace, although the agent can run the canonical scenario.
struct RecordingException {
    recordings: &'static [&'static str],
    trace: &'static [&'static str],
    reason: &'static str,
}

const RECORDING_EXCEPTIONS: &[RecordingException] = &[
    RecordingException {
        recordings: &["opencode/1.1.34/denied", "opencode/1.18.33/denied"],
        trace: &[
            "turn.started",
            "message/user: started [], delta, completed [text]",
            "tool_call/assistant: started [tool_call command], completed [tool_call command]",
            "permission.requested",
            "permission.resolved denied",
            "tool_result/tool: started [tool_result], failed [tool_result]",
            "turn.ended completed",
        ],
        reason: "OpenCode ends the turn after a denial without a message",
    },
    RecordingException {
        recordings: &["opencode/1.1.34/asks-which-colour"],
        trace: &[
            "turn.started",
            "message/user: started [], delta, completed [text]",
            "tool_call/assistant: started [tool_call question], completed [tool_call question]",
            "question.requested",
            "message/assistant: started [], delta, completed [text]",
            "question.resolved answered",
            "tool_result/tool: started [tool_result], completed [tool_result]",
            "message/assistant: started [], delta, completed [text]",
            "turn.ended completed",
        ],
        reason: "OpenCode 1.1.34 sends the question before the message that the model wrote first",
    },
];

/// Scenarios without a recording yet, each with the feature that a recording would prove.
const UNRECORDED: &[(CanonicalScenario, Agent, Feature)] =
    &[(CanonicalScenario::Interrupt, Agent::Amp, Feature::Interrupts)];

fn events(name: &str) -> &'static [UniversalEvent] {
    &corpus().find(name).unwrap_or_else(|| panic!("the recording {name} does not exist")).converted.events
}

fn recording_agent(recording: &str) -> Agent {
    recording.split('/').next().unwrap_or_default().parse().unwrap()
}

/// The names of the tools that the agent lists, in lower case.
fn listed_tools(events: &[UniversalEvent]) -> Vec<String> {
    let metadata = events.iter().find_map(|event| match &event.data {
        EventData::SessionStarted(session) => session.metadata.clone(),
        _ => None,
    });
    let tools = metadata.and_then(|metadata| metadata.tools).unwrap_or_default();
    tools.iter().map(|tool| tool.to_lowercase()).collect()
}

/// Checks that a recording shows the evidence of an exception. The error describes what it shows instead.
fn check_evidence(exception: &TraceException, events: &[UniversalEvent]) -> Result<(), String> {
    match exception.evidence {
        Evidence::Trace(expected) => {
            let found = trace(events, Focus { turn: 0, target: exception.target() });
            if found == expected { Ok(()) } else { Err(format!("the trace is {found:#?}")) }
        }
        Evidence::CallTrace(call, expected) => {
            let found = trace(events, Focus { turn: 0, target: FocusTarget::ToolCall(call) });
            if found == expected { Ok(()) } else { Err(format!("the trace is {found:#?}")) }
        }
        Evidence::MissingTool(words) => {
            let tools = listed_tools(events);
            match tools.iter().find(|tool| words.iter().any(|word| tool.contains(word))) {
                Some(tool) => Err(format!("the agent lists the tool {tool}")),
                None if tools.is_empty() => Err("the agent lists no tools".to_owned()),
                None => Ok(()),
            }
        }
        _ => Err("this test has no check for this kind of evidence".to_owned()),
    }
}

/// Whether any turn, or any tool call of a turn, has the trace of the scenario.
fn contains_scenario(scenario: CanonicalScenario, events: &[UniversalEvent]) -> bool {
    let mut sessions = BTreeMap::<_, Vec<&UniversalEvent>>::new();
    for event in events {
        sessions.entry(event.session_id.as_str()).or_default().push(event);
    }
    sessions.values().any(|events| {
        let calls = if scenario.is_about_tool_call() { count(events, is_tool_call) } else { 1 };
        let turns = count(events, |data| matches!(data, EventData::TurnStarted(_)));
        (0..turns).any(|turn| {
            (0..calls).any(|call| {
                let target =
                    if scenario.is_about_tool_call() { FocusTarget::ToolCall(call) } else { FocusTarget::WholeTurn };
                trace(events.iter().copied(), Focus { turn, target }) == scenario.trace()
            })
        })
    })
}

fn count(events: &[&UniversalEvent], predicate: fn(&EventData) -> bool) -> usize {
    events.iter().filter(|event| predicate(&event.data)).count()
}

fn is_tool_call(data: &EventData) -> bool {
    matches!(data, EventData::ItemStarted(started) if started.item.kind == ItemKind::ToolCall)
}

#[test]
fn a_canonical_scenario_has_the_same_trace_with_every_agent() {
    let mut problems = Vec::new();
    for recorded in RECORDED_SCENARIOS {
        let found = trace(events(recorded.recording), recorded.focus);
        if found != recorded.scenario.trace() {
            problems.push(format!(
                "{} does not have the trace of {:?}; found {found:#?}",
                recorded.recording, recorded.scenario
            ));
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

/// The expected trace of a scenario with an agent, and the part of the turn that it describes.
fn expected_trace(scenario: CanonicalScenario, agent: Agent, call: usize) -> (&'static [&'static str], FocusTarget) {
    match TraceException::find(scenario, agent) {
        Some(exception) => match exception.evidence {
            Evidence::Trace(trace) => (trace, exception.target()),
            _ => panic!("{agent} has a recording of {scenario:?}, which is declared impossible: {}", exception.reason),
        },
        None if scenario.is_about_tool_call() => (scenario.trace(), FocusTarget::ToolCall(call)),
        None => (scenario.trace(), FocusTarget::WholeTurn),
    }
}

#[test]
fn a_scenario_file_has_the_same_trace_with_every_agent_and_version() {
    let mut problems = Vec::new();
    for &(file, scenario, turn, call) in SCENARIO_FILES {
        let mut agents = BTreeSet::new();
        let of_file = corpus().entries().iter().filter(|entry| entry.recording.scenario == file);
        for CorpusEntry { recording, converted } in of_file {
            agents.insert(recording.agent);
            let (canonical, target) = expected_trace(scenario, recording.agent, call);
            let name = recording.name();
            let exception = RECORDING_EXCEPTIONS.iter().find(|exception| exception.recordings.contains(&name.as_str()));
            let expected = exception.map_or(canonical, |exception| exception.trace);
            if let Some(exception) = exception {
                assert_ne!(
                    exception.trace, canonical,
                    "the trace of {name} is canonical, so its exception can be removed: {}",
                    exception.reason
                );
            }
            let found = trace(&converted.events, Focus { turn, target });
            if found != expected {
                problems.push(format!("{name} does not have the trace of {scenario:?}; found {found:#?}"));
            }
        }
        assert!(agents.len() > 1, "scenarios/{file}.toml is recorded with {agents:?} only");
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn every_exception_is_shown_by_its_recording_and_still_needed() {
    for exception in EXCEPTIONS {
        let TraceException { scenario, agent, recording, .. } = *exception;
        let events = events(recording);
        if let Err(found) = check_evidence(exception, events) {
            panic!("{recording} does not show the exception of {agent} for {scenario:?}: {found}");
        }
        let mut of_agent = corpus().entries().iter().filter(|entry| entry.recording.agent == agent);
        if let Some(entry) = of_agent.find(|entry| contains_scenario(scenario, &entry.converted.events)) {
            panic!("{agent} no longer needs the exception for {scenario:?}: see {}", entry.recording.name());
        }
    }
}

#[test]
fn a_scenario_is_found_in_any_turn_and_call() {
    assert!(contains_scenario(CanonicalScenario::PlainText, events("amp/0.0.1790142911-g7618fb/stream-json-input")));
    assert!(contains_scenario(CanonicalScenario::FileEdit, events("opencode/1.18.33/file_tools")));
    assert!(!contains_scenario(CanonicalScenario::Question, events("opencode/1.18.33/file_tools")));
}

#[test]
fn an_exception_for_a_missing_tool_fails_if_the_agent_has_the_tool() {
    let exception = EXCEPTIONS.iter().find(|exception| matches!(exception.evidence, Evidence::MissingTool(_))).unwrap();
    assert!(check_evidence(exception, events("claude/2.1.325/ask-user-question")).is_err());
    assert!(check_evidence(exception, &[]).is_err());
}

#[test]
fn every_scenario_is_recorded_excepted_or_unrecorded_for_every_agent() {
    for scenario in CanonicalScenario::ALL {
        for agent in Agent::ALL {
            let is_recorded = RECORDED_SCENARIOS
                .iter()
                .any(|recorded| recorded.scenario == scenario && recording_agent(recorded.recording) == agent);
            let has_exception = TraceException::find(scenario, agent).is_some();
            let unrecorded =
                UNRECORDED.iter().find(|(other, other_agent, _)| (*other, *other_agent) == (scenario, agent));
            assert!(
                is_recorded || has_exception || unrecorded.is_some(),
                "there is no recording of {scenario:?} with {agent}: add one to `RECORDED_SCENARIOS`, or an exception"
            );
            if let Some((_, _, feature)) = unrecorded {
                assert!(
                    !is_recorded && !has_exception,
                    "{scenario:?} is recorded with {agent}: remove it from `UNRECORDED`"
                );
                assert!(
                    !is_proven(agent, *feature),
                    "a recording of {agent} shows {feature:?}: add it to `RECORDED_SCENARIOS` for {scenario:?}"
                );
            }
        }
    }
}
