//! Edited recordings: whatever an agent sends, in any order, its stream keeps the lifecycle rules and every payload
//! is accounted for.

use std::sync::LazyLock;

use interlingua_convert::{Agent, Conversion, ConversionOptions, Launch, StreamEnd, converter_for};
use interlingua_schema::Checker;
use interlingua_snapshots::{CorruptionKind, Recording, corrupt, recordings};
use interlingua_wirelog::Input;
use proptest::prelude::*;

/// Longer recordings are truncated, because they repeat themselves and each test case converts one.
const MAX_INPUTS: usize = 250;

/// The content of a recording.
struct Transcript {
    launch: Launch,
    inputs: Vec<Input>,
}

impl Transcript {
    fn load(recording: &Recording) -> Self {
        Self {
            launch: recording.reader().unwrap().header().map(Launch::from).unwrap_or_default(),
            inputs: recording.inputs().unwrap().into_iter().take(MAX_INPUTS).collect(),
        }
    }
}

fn transcripts(agent: Agent) -> &'static [Transcript] {
    static TRANSCRIPTS: LazyLock<Vec<(Agent, Vec<Transcript>)>> = LazyLock::new(|| {
        let all = recordings().unwrap();
        let load = |agent| all.iter().filter(|recording| recording.agent == agent).map(Transcript::load).collect();
        Agent::ALL.into_iter().map(|agent| (agent, load(agent))).collect()
    });
    TRANSCRIPTS.iter().find(|(other, _)| *other == agent).map(|(_, transcripts)| transcripts.as_slice()).unwrap()
}

/// A change of a transcript. Indexes are taken modulo the length.
#[derive(Debug, Clone)]
enum Edit {
    /// Corrupts a line.
    Corrupt { index: usize, kind: usize, position: usize, variant: usize },
    /// Removes some inputs.
    Remove { from: usize, count: usize },
    /// Repeats some inputs at another position.
    Repeat { from: usize, count: usize, to: usize },
    /// Swaps two inputs.
    Swap { first: usize, second: usize },
    /// Inserts inputs of another recording.
    Splice { transcript: usize, from: usize, count: usize, to: usize },
    /// Inserts an exit of the agent.
    Exit { index: usize, code: i32 },
}

fn edits() -> impl Strategy<Value = Edit> {
    let n = || any::<u16>().prop_map(usize::from);
    let few = || 1..12_usize;
    prop_oneof![
        8 => (n(), n(), n(), n())
            .prop_map(|(index, kind, position, variant)| Edit::Corrupt { index, kind, position, variant }),
        2 => (n(), few()).prop_map(|(from, count)| Edit::Remove { from, count }),
        2 => (n(), few(), n()).prop_map(|(from, count, to)| Edit::Repeat { from, count, to }),
        4 => (n(), n()).prop_map(|(first, second)| Edit::Swap { first, second }),
        3 => (n(), n(), few(), n())
            .prop_map(|(transcript, from, count, to)| Edit::Splice { transcript, from, count, to }),
        1 => (n(), -9..3_i32).prop_map(|(index, code)| Edit::Exit { index, code }),
    ]
}

fn apply(inputs: &mut Vec<Input>, edit: &Edit, transcripts: &[Transcript]) {
    if inputs.is_empty() {
        return;
    }
    let len = inputs.len();
    match *edit {
        Edit::Corrupt { index, kind, position, variant } => {
            let (Input::Received(line) | Input::Sent(line)) = &mut inputs[index % len] else { return };
            *line = corrupt(line, CorruptionKind::ALL[kind % CorruptionKind::ALL.len()], position, variant).line;
        }
        Edit::Remove { from, count } => {
            let from = from % len;
            inputs.drain(from..(from + count).min(len));
        }
        Edit::Repeat { from, count, to } => {
            let from = from % len;
            let repeated: Vec<Input> = inputs[from..(from + count).min(len)].to_vec();
            let to = to % len;
            inputs.splice(to..to, repeated);
        }
        Edit::Swap { first, second } => inputs.swap(first % len, second % len),
        Edit::Splice { transcript, from, count, to } => {
            let other = &transcripts[transcript % transcripts.len()].inputs;
            if !other.is_empty() {
                let from = from % other.len();
                let inserted: Vec<Input> = other[from..(from + count).min(other.len())].to_vec();
                let to = to % len;
                inputs.splice(to..to, inserted);
            }
        }
        Edit::Exit { index, code } => inputs.insert(index % len, Input::Exit { code: Some(code) }),
    }
}

/// Converts the inputs and describes everything that is wrong with the result.
fn find_problems(agent: Agent, launch: &Launch, inputs: &[Input], raw: bool) -> Vec<String> {
    let mut conversion = Conversion::new(converter_for(agent), ConversionOptions::with_raw(raw));
    let mut events = Vec::new();
    conversion.observe_launch(None, launch, &mut events);
    for input in inputs {
        conversion.push(None, input.borrowed(), &mut events);
    }
    conversion.finish(None, StreamEnd::Log, &mut events);
    let mut checker = if raw { Checker::with_raw() } else { Checker::new() };
    let violations = events.iter().flat_map(|event| checker.push(event));
    let mut problems: Vec<String> = violations.map(|violation| violation.to_string()).collect();
    let stats = conversion.stats();
    if stats.unaccounted > 0 {
        problems.push(format!("{} payloads are unaccounted", stats.unaccounted));
    }
    if stats.payloads != stats.converted + stats.dropped.values().sum::<u64>() + stats.unaccounted {
        problems.push(format!("the payload counts do not add up: {stats:?}"));
    }
    problems
}

fn check_edited_recordings(agent: Agent) {
    let transcripts = transcripts(agent);
    let config = ProptestConfig { failure_persistence: None, ..ProptestConfig::default() };
    proptest!(config, |(index in 0..transcripts.len(), edits in prop::collection::vec(edits(), 1..14), raw: bool)| {
        let mut inputs = transcripts[index].inputs.clone();
        for edit in &edits {
            apply(&mut inputs, edit, transcripts);
        }
        let problems = find_problems(agent, &transcripts[index].launch, &inputs, raw);
        prop_assert!(problems.is_empty(), "{problems:#?}");
    });
}

#[test]
fn edited_recordings_of_acp_agents_keep_the_rules() {
    check_edited_recordings(Agent::Acp);
}

#[test]
fn edited_recordings_of_amp_keep_the_rules() {
    check_edited_recordings(Agent::Amp);
}

#[test]
fn edited_recordings_of_claude_keep_the_rules() {
    check_edited_recordings(Agent::Claude);
}

#[test]
fn edited_recordings_of_codex_keep_the_rules() {
    check_edited_recordings(Agent::Codex);
}

#[test]
fn edited_recordings_of_opencode_keep_the_rules() {
    check_edited_recordings(Agent::OpenCode);
}
