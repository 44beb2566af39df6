//! Whatever an agent says, in whatever order, broken in whatever way: the stream goes on, keeps the rules, and every
//! payload is accounted for.

use std::sync::LazyLock;

use interlingua_convert::{Agent, Conversion, ConversionOptions, Launch, StreamEnd, converter_for};
use interlingua_schema::Checker;
use interlingua_snapshots::{Damage, Line, corrupt, recordings};
use interlingua_wirelog::Input;
use proptest::prelude::*;

/// A recording's launch and lines.
struct Tape {
    launch: Launch,
    lines: Vec<Line>,
}

fn tapes(agent: Agent) -> &'static [Tape] {
    static TAPES: LazyLock<Vec<(Agent, Vec<Tape>)>> = LazyLock::new(|| {
        let all = recordings().unwrap();
        let of = |agent| all.iter().filter(move |recording| recording.agent == agent);
        let tape = |recording: &interlingua_snapshots::Recording| Tape {
            launch: recording.reader().unwrap().header().map(Launch::from).unwrap_or_default(),
            // Long recordings repeat themselves, and time is short.
            lines: recording.lines().unwrap().into_iter().take(250).collect(),
        };
        Agent::ALL.into_iter().map(|agent| (agent, of(agent).map(tape).collect())).collect()
    });
    TAPES.iter().find(|(of, _)| *of == agent).map(|(_, tapes)| tapes.as_slice()).unwrap()
}

/// Something that happens to a tape. Numbers are taken modulo what there is.
#[derive(Debug, Clone)]
enum Edit {
    /// A line is broken.
    Break { line: usize, damage: usize, place: usize, with: usize },
    /// Some lines are gone.
    Cut { from: usize, count: usize },
    /// Some lines come again.
    Repeat { from: usize, count: usize, to: usize },
    /// Two lines change places.
    Swap { one: usize, other: usize },
    /// Another recording's lines come in between.
    Splice { tape: usize, from: usize, count: usize, to: usize },
    /// The agent is gone.
    Exit { at: usize, code: i32 },
}

fn edit() -> impl Strategy<Value = Edit> {
    let n = || any::<u16>().prop_map(usize::from);
    let few = || 1..12_usize;
    prop_oneof![
        8 => (n(), n(), n(), n()).prop_map(|(line, damage, place, with)| Edit::Break { line, damage, place, with }),
        2 => (n(), few()).prop_map(|(from, count)| Edit::Cut { from, count }),
        2 => (n(), few(), n()).prop_map(|(from, count, to)| Edit::Repeat { from, count, to }),
        4 => (n(), n()).prop_map(|(one, other)| Edit::Swap { one, other }),
        3 => (n(), n(), few(), n()).prop_map(|(tape, from, count, to)| Edit::Splice { tape, from, count, to }),
        1 => (n(), -9..3_i32).prop_map(|(at, code)| Edit::Exit { at, code }),
    ]
}

fn apply(lines: &mut Vec<Line>, edit: &Edit, tapes: &[Tape]) {
    if lines.is_empty() {
        return;
    }
    let len = lines.len();
    match *edit {
        Edit::Break { line, damage, place, with } => {
            let (Input::Received(line) | Input::Sent(line)) = &mut lines[line % len] else { return };
            *line = corrupt(line, Damage::ALL[damage % Damage::ALL.len()], place, with).line;
        }
        Edit::Cut { from, count } => {
            let from = from % len;
            lines.drain(from..(from + count).min(len));
        }
        Edit::Repeat { from, count, to } => {
            let from = from % len;
            let again: Vec<Line> = lines[from..(from + count).min(len)].to_vec();
            let to = to % len;
            lines.splice(to..to, again);
        }
        Edit::Swap { one, other } => lines.swap(one % len, other % len),
        Edit::Splice { tape, from, count, to } => {
            let other = &tapes[tape % tapes.len()].lines;
            if !other.is_empty() {
                let from = from % other.len();
                let more: Vec<Line> = other[from..(from + count).min(other.len())].to_vec();
                let to = to % len;
                lines.splice(to..to, more);
            }
        }
        Edit::Exit { at, code } => lines.insert(at % len, Input::Exit { code: Some(code) }),
    }
}

/// Plays the lines, and says what is wrong with what they become.
fn play(agent: Agent, launch: &Launch, lines: &[Line], raw: bool) -> Vec<String> {
    let mut stream = Conversion::new(converter_for(agent), ConversionOptions::with_raw(raw));
    let mut events = Vec::new();
    stream.observe_launch(None, launch, &mut events);
    for line in lines {
        stream.push(None, line.borrowed(), &mut events);
    }
    stream.finish(None, StreamEnd::Log, &mut events);
    let mut checker = if raw { Checker::with_raw() } else { Checker::new() };
    let violations = events.iter().flat_map(|event| checker.push(event));
    let mut problems: Vec<String> = violations.map(|violation| violation.to_string()).collect();
    let tally = stream.stats();
    if tally.unaccounted > 0 {
        problems.push(format!("{} payloads are unaccounted for", tally.unaccounted));
    }
    if tally.payloads != tally.converted + tally.dropped.values().sum::<u64>() + tally.unaccounted {
        problems.push(format!("the tally does not add up: {tally:?}"));
    }
    problems
}

fn any_tape_survives(agent: Agent) {
    let tapes = tapes(agent);
    let config = ProptestConfig { failure_persistence: None, ..ProptestConfig::default() };
    proptest!(config, |(tape in 0..tapes.len(), edits in prop::collection::vec(edit(), 1..14), raw: bool)| {
        let mut lines = tapes[tape].lines.clone();
        for edit in &edits {
            apply(&mut lines, edit, tapes);
        }
        let problems = play(agent, &tapes[tape].launch, &lines, raw);
        prop_assert!(problems.is_empty(), "{problems:#?}");
    });
}

#[test]
fn amp_survives_anything() {
    any_tape_survives(Agent::Amp);
}

#[test]
fn claude_survives_anything() {
    any_tape_survives(Agent::Claude);
}

#[test]
fn codex_survives_anything() {
    any_tape_survives(Agent::Codex);
}

#[test]
fn opencode_survives_anything() {
    any_tape_survives(Agent::OpenCode);
}
