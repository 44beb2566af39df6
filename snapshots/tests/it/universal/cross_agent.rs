//! The same scenario on different agents leaves the same canonical trace, but for the listed exceptions.

use std::collections::{BTreeMap, BTreeSet};

use interlingua_convert::Agent;
use interlingua_convert::coverage::{Feature, is_proven};
use interlingua_schema::{EventData, ItemKind, UniversalEvent};
use interlingua_snapshots::CorpusEntry;
use interlingua_snapshots::canonical::{
    CanonicalScenario, EXCEPTIONS, Evidence, Focus, FocusTarget, TraceException, trace,
};

use crate::corpus;

/// A recording that plays a scenario, and where in it.
struct Play {
    scenario: CanonicalScenario,
    recording: &'static str,
    focus: Focus,
}

/// In the first turn.
const fn play(scenario: CanonicalScenario, recording: &'static str) -> Play {
    Play { scenario, recording, focus: Focus { turn: 0, target: scenario.target() } }
}

impl Play {
    const fn turn(mut self, turn: usize) -> Self {
        self.focus.turn = turn;
        self
    }

    const fn call(mut self, call: usize) -> Self {
        self.focus.target = FocusTarget::ToolCall(call);
        self
    }
}

const PLAYS: &[Play] = &[
    play(CanonicalScenario::PlainText, "claude/2.1.325/text"),
    play(CanonicalScenario::PlainText, "claude/2.1.325/stream-input-two-turns").turn(1),
    play(CanonicalScenario::PlainText, "codex/0.166.0/text_deltas"),
    play(CanonicalScenario::PlainText, "codex/0.145.0/text_deltas").turn(1),
    play(CanonicalScenario::PlainText, "opencode/1.18.33/text_deltas"),
    play(CanonicalScenario::PlainText, "amp/0.0.1790142911-g7618fb/text"),
    play(CanonicalScenario::PlainText, "amp/0.0.1790142911-g7618fb/stream-json-input").turn(1),
    play(CanonicalScenario::Reasoning, "claude/2.1.325/thinking-text"),
    play(CanonicalScenario::Reasoning, "claude/2.1.325/partial-thinking-text"),
    play(CanonicalScenario::Reasoning, "codex/0.166.0/reasoning"),
    play(CanonicalScenario::Reasoning, "opencode/1.18.33/reasoning"),
    play(CanonicalScenario::Reasoning, "amp/0.0.1790142911-g7618fb/thinking-shown"),
    play(CanonicalScenario::Command, "claude/2.1.325/bash-allowed"),
    play(CanonicalScenario::Command, "claude/2.1.325/partial-tools"),
    play(CanonicalScenario::Command, "codex/0.166.0/exec_basic"),
    play(CanonicalScenario::Command, "codex/0.145.0/exec_basic"),
    play(CanonicalScenario::Command, "opencode/1.18.33/bash_tool"),
    play(CanonicalScenario::Command, "opencode/1.18.33/anthropic_provider"),
    play(CanonicalScenario::Command, "opencode/1.18.33/responses_provider"),
    play(CanonicalScenario::Command, "opencode/1.18.33/v2_api_file"),
    play(CanonicalScenario::Command, "amp/0.0.1790142911-g7618fb/shell-command"),
    play(CanonicalScenario::FailingCommand, "claude/2.1.325/bash-allowed").call(1),
    play(CanonicalScenario::FailingCommand, "codex/0.166.0/exec_basic").call(1),
    play(CanonicalScenario::FailingCommand, "opencode/1.18.33/bash_tool").call(1),
    play(CanonicalScenario::FailingCommand, "amp/0.0.1790142911-g7618fb/shell-command").call(1),
    play(CanonicalScenario::FileEdit, "claude/2.1.325/files-accept-edits").call(1),
    play(CanonicalScenario::FileEdit, "codex/0.166.0/apply_patch").call(1),
    play(CanonicalScenario::FileEdit, "codex/0.166.0/patch_streaming").call(1),
    play(CanonicalScenario::FileEdit, "opencode/1.18.33/file_tools").call(2),
    play(CanonicalScenario::FileEdit, "amp/0.0.1790142911-g7618fb/file-tools").call(1),
    play(CanonicalScenario::PermissionAllowed, "claude/2.1.325/perm-allow"),
    play(CanonicalScenario::PermissionAllowed, "codex/0.166.0/approve_exec"),
    play(CanonicalScenario::PermissionAllowed, "codex/0.145.0/approve_exec"),
    play(CanonicalScenario::PermissionAllowed, "opencode/1.18.33/permission_once"),
    play(CanonicalScenario::PermissionAllowed, "opencode/1.18.33/permission_once").call(1),
    play(CanonicalScenario::PermissionAllowed, "opencode/1.18.33/v2_permission"),
    play(CanonicalScenario::PermissionDenied, "claude/2.1.325/perm-deny"),
    play(CanonicalScenario::PermissionDenied, "codex/0.166.0/approve_exec").turn(2),
    play(CanonicalScenario::PermissionDenied, "opencode/1.18.33/permission_reject_message"),
    play(CanonicalScenario::Question, "claude/2.1.325/ask-user-question"),
    play(CanonicalScenario::Question, "claude/2.1.325/ask-user-question-free-text"),
    play(CanonicalScenario::Question, "opencode/1.18.33/question_reply"),
    play(CanonicalScenario::Interrupt, "claude/2.1.325/interrupt-while-streaming"),
    play(CanonicalScenario::Interrupt, "codex/0.166.0/interrupt_stream"),
    play(CanonicalScenario::Interrupt, "opencode/1.18.33/abort_streaming"),
    play(CanonicalScenario::ModelError, "claude/2.1.325/error-529-forever"),
    play(CanonicalScenario::ModelError, "claude/2.1.325/no-api-key"),
    play(CanonicalScenario::ModelError, "codex/0.166.0/error_400"),
    play(CanonicalScenario::ModelError, "codex/0.145.0/error_401"),
    play(CanonicalScenario::ModelError, "opencode/1.18.33/error_400"),
    play(CanonicalScenario::ModelError, "opencode/1.18.33/error_401"),
    play(CanonicalScenario::ModelError, "amp/0.0.1790142911-g7618fb/cancelled-assistant"),
];

/// What is played in the scenarios of `scenarios/`, which have the same name with every agent that they are recorded
/// with: in which turn, and in which call of it where it is about one.
const SCRIPTS: &[(&str, CanonicalScenario, usize, usize)] = &[
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

/// A recording of a script that has another trace, though the agent can play the scenario.
struct Otherwise {
    recordings: &'static [&'static str],
    trace: &'static [&'static str],
    reason: &'static str,
}

const OTHERWISE: &[Otherwise] = &[
    Otherwise {
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
        reason: "OpenCode ends the turn when it is refused without a word",
    },
    Otherwise {
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
        reason: "OpenCode 1.1.34 asks before it tells what the model said first",
    },
];

/// What nobody has recorded yet, and the feature that a recording of it would prove.
const UNRECORDED: &[(CanonicalScenario, Agent, Feature)] =
    &[(CanonicalScenario::Interrupt, Agent::Amp, Feature::Interrupts)];

fn events(name: &str) -> &'static [UniversalEvent] {
    &corpus().find(name).unwrap_or_else(|| panic!("there is no recording {name}")).converted.events
}

fn agent_of(recording: &str) -> Agent {
    recording.split('/').next().unwrap_or_default().parse().unwrap()
}

/// The tools that the agent says it has.
fn tools(events: &[UniversalEvent]) -> Vec<String> {
    let metadata = events.iter().find_map(|event| match &event.data {
        EventData::SessionStarted(session) => session.metadata.clone(),
        _ => None,
    });
    let tools = metadata.and_then(|metadata| metadata.tools).unwrap_or_default();
    tools.iter().map(|tool| tool.to_lowercase()).collect()
}

/// Whether the recording shows what the exception says.
fn is_shown(exception: &TraceException, events: &[UniversalEvent]) -> Result<(), String> {
    match exception.evidence {
        Evidence::Trace(expected) => {
            let found = trace(events, Focus { turn: 0, target: exception.target() });
            if found == expected { Ok(()) } else { Err(format!("its trace is {found:#?}")) }
        }
        Evidence::MissingTool(words) => {
            let tools = tools(events);
            match tools.iter().find(|tool| words.iter().any(|word| tool.contains(word))) {
                Some(tool) => Err(format!("it has the tool {tool}")),
                None if tools.is_empty() => Err("it lists no tools".to_owned()),
                None => Ok(()),
            }
        }
        _ => Err("nobody knows how to look for it".to_owned()),
    }
}

/// Whether any turn, or any call in one, leaves the trace of the scenario.
fn is_played(scenario: CanonicalScenario, events: &[UniversalEvent]) -> bool {
    let mut sessions = BTreeMap::<_, Vec<&UniversalEvent>>::new();
    for event in events {
        sessions.entry(event.session_id.as_str()).or_default().push(event);
    }
    sessions.values().any(|events| {
        let calls = if scenario.is_about_tool_call() { count(events, is_a_call) } else { 1 };
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

fn count(events: &[&UniversalEvent], is: fn(&EventData) -> bool) -> usize {
    events.iter().filter(|event| is(&event.data)).count()
}

fn is_a_call(data: &EventData) -> bool {
    matches!(data, EventData::ItemStarted(started) if started.item.kind == ItemKind::ToolCall)
}

#[test]
fn every_agent_plays_a_scenario_with_the_same_trace() {
    let mut problems = Vec::new();
    for play in PLAYS {
        let found = trace(events(play.recording), play.focus);
        if found != play.scenario.trace() {
            problems.push(format!("{:?} in {}: {found:#?}", play.scenario, play.recording));
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

/// The trace that a script leaves with an agent, and what it is about.
fn expected(scenario: CanonicalScenario, agent: Agent, call: usize) -> (&'static [&'static str], FocusTarget) {
    match TraceException::find(scenario, agent) {
        Some(exception) => match exception.evidence {
            Evidence::Trace(trace) => (trace, exception.target()),
            _ => panic!("{agent} cannot play {scenario:?}: {}", exception.reason),
        },
        None if scenario.is_about_tool_call() => (scenario.trace(), FocusTarget::ToolCall(call)),
        None => (scenario.trace(), FocusTarget::WholeTurn),
    }
}

#[test]
fn a_script_leaves_the_same_trace_with_every_agent_and_version() {
    let mut problems = Vec::new();
    for &(script, scenario, turn, call) in SCRIPTS {
        let mut agents = BTreeSet::new();
        let of_script = corpus().entries().iter().filter(|entry| entry.recording.scenario == script);
        for CorpusEntry { recording, converted } in of_script {
            agents.insert(recording.agent);
            let (canonical, target) = expected(scenario, recording.agent, call);
            let name = recording.name();
            let otherwise = OTHERWISE.iter().find(|otherwise| otherwise.recordings.contains(&name.as_str()));
            let expected = otherwise.map_or(canonical, |otherwise| otherwise.trace);
            if let Some(otherwise) = otherwise {
                assert_ne!(
                    otherwise.trace, canonical,
                    "{name} is as the others; it is no longer so: {}",
                    otherwise.reason
                );
            }
            let found = trace(&converted.events, Focus { turn, target });
            if found != expected {
                problems.push(format!("{scenario:?} in {name}: {found:#?}"));
            }
        }
        assert!(agents.len() > 1, "{script} is played by {agents:?} only");
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn an_exception_is_shown_by_its_recording_and_still_needed() {
    for exception in EXCEPTIONS {
        let TraceException { scenario, agent, recording, .. } = *exception;
        let events = events(recording);
        if let Err(found) = is_shown(exception, events) {
            panic!("{recording} does not show that {agent} makes an exception in {scenario:?}: {found}");
        }
        let mut of_agent = corpus().entries().iter().filter(|entry| entry.recording.agent == agent);
        if let Some(entry) = of_agent.find(|entry| is_played(scenario, &entry.converted.events)) {
            panic!("{agent} needs no exception in {scenario:?}: see {}", entry.recording.name());
        }
    }
}

#[test]
fn a_scenario_is_found_wherever_it_is_played() {
    assert!(is_played(CanonicalScenario::PlainText, events("amp/0.0.1790142911-g7618fb/stream-json-input")));
    assert!(is_played(CanonicalScenario::FileEdit, events("opencode/1.18.33/file_tools")));
    assert!(!is_played(CanonicalScenario::Question, events("opencode/1.18.33/file_tools")));
}

#[test]
fn a_tool_that_is_there_is_no_exception() {
    let exception = EXCEPTIONS.iter().find(|exception| matches!(exception.evidence, Evidence::MissingTool(_))).unwrap();
    assert!(is_shown(exception, events("claude/2.1.325/ask-user-question")).is_err());
    assert!(is_shown(exception, &[]).is_err());
}

#[test]
fn every_scenario_is_played_excepted_or_unrecorded_for_every_agent() {
    for scenario in CanonicalScenario::ALL {
        for agent in Agent::ALL {
            let is_played = PLAYS.iter().any(|play| play.scenario == scenario && agent_of(play.recording) == agent);
            let is_excepted = TraceException::find(scenario, agent).is_some();
            let unrecorded = UNRECORDED.iter().find(|(other, by, _)| (*other, *by) == (scenario, agent));
            assert!(is_played || is_excepted || unrecorded.is_some(), "{agent} is missing in {scenario:?}");
            if let Some((_, _, feature)) = unrecorded {
                assert!(!is_played && !is_excepted, "{agent} is recorded in {scenario:?}");
                assert!(
                    !is_proven(agent, *feature),
                    "a recording of {agent} shows {feature:?}: let it play {scenario:?}"
                );
            }
        }
    }
}
