//! One place of one recorded line is broken. The stream must then mean the same, or say `agent.unparsed` and where.
//!
//! `cargo test -p interlingua-snapshots mutations -- --nocapture` prints the table. What is lost is
//! cured by `needed` or `expected` in the agent's `source.toml`, a false success in its converter.

mod outcome;
mod places;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::thread;

use interlingua_convert::{Agent, Launch};
use interlingua_snapshots::{Line, Recording, recordings};
use interlingua_wirelog::Input;
use serde_json::Value;

use outcome::{Outcome, Played, judge, play};
use places::{Change, Mutation, Schema};

/// Longer recordings take too long to convert once per case.
const MAX_LINES: usize = 400;
/// A recording that is to be broken.
struct Tape {
    agent: Agent,
    version: String,
    launch: Launch,
    lines: Vec<Line>,
    original: Played,
}

impl Tape {
    fn load(recording: &Recording) -> Self {
        let launch = recording.reader().unwrap().header().map(Launch::from).unwrap_or_default();
        let lines = recording.lines().unwrap();
        let original = play(recording.agent, &launch, &lines, None);
        Self { agent: recording.agent, version: recording.version.clone(), launch, lines, original }
    }
}

/// A line of a tape, and how it is broken.
struct Case {
    tape: usize,
    line: usize,
    native_type: String,
    mutation: Mutation,
}

/// Every different way to break a line of an agent's version: by native type, field and kind of change.
fn cases(tapes: &[Tape], agent: Agent) -> Vec<Case> {
    let schema = Schema::load(agent);
    let mut cases: BTreeMap<(String, String, String, Change), Case> = BTreeMap::new();
    let mut order: Vec<usize> = (0..tapes.len()).filter(|tape| tapes[*tape].agent == agent).collect();
    order.sort_by_key(|tape| tapes[*tape].lines.len());
    for tape in order {
        let mut asked = BTreeMap::new();
        for (line, wire) in tapes[tape].lines.iter().enumerate() {
            let (Input::Sent(text) | Input::Received(text)) = wire else { continue };
            let Ok(value) = serde_json::from_str::<Value>(text) else { continue };
            if let (Input::Sent(_), Some(id), Some(method)) = (wire, value.get("id"), value.get("method")) {
                asked.insert(id.to_string(), method.as_str().unwrap_or_default().to_owned());
            }
            let Input::Received(_) = wire else { continue };
            let Some((native_type, mutations)) = schema.mutations(&value, &asked) else { continue };
            for mutation in mutations {
                let version = tapes[tape].version.clone();
                let key = (version, native_type.clone(), mutation.field.clone(), mutation.change);
                let case = || Case { tape, line, native_type: native_type.clone(), mutation };
                cases.entry(key).or_insert_with(case);
            }
        }
    }
    cases.into_values().collect()
}

fn run(tapes: &[Tape], case: &Case) -> Outcome {
    let tape = &tapes[case.tape];
    let Input::Received(line) = &tape.lines[case.line] else { return Outcome::Same };
    let broken = case.mutation.apply(&serde_json::from_str(line).unwrap());
    let mut lines = tape.lines.clone();
    lines[case.line] = Input::Received(broken.to_string());
    let mutated = play(tape.agent, &tape.launch, &lines, Some(case.line));
    judge(&tape.original, &mutated, case, &broken)
}

#[test]
fn a_broken_place_means_the_same_or_is_named() {
    let recordings = recordings().unwrap();
    let tapes: Vec<Tape> = recordings.iter().map(Tape::load).filter(|tape| tape.lines.len() <= MAX_LINES).collect();
    let mut table = String::new();
    let mut problems: BTreeMap<String, usize> = BTreeMap::new();
    for agent in Agent::ALL {
        let cases = cases(&tapes, agent);
        let _ = writeln!(table, "{agent}: {} places", cases.len());
        let mut counts: BTreeMap<Change, BTreeMap<Outcome, usize>> = BTreeMap::new();
        for (case, outcome) in cases.iter().zip(run_all(&tapes, &cases)) {
            let Case { native_type, mutation, .. } = case;
            *counts.entry(mutation.change).or_default().entry(outcome).or_default() += 1;
            if matches!(outcome, Outcome::Lost | Outcome::FalseSuccess) {
                let line = format!("{outcome:?} {agent} {native_type} {} {:?}", mutation.field, mutation.change);
                *problems.entry(line).or_default() += 1;
            }
        }
        for (change, counts) in counts {
            let count = |outcome| counts.get(&outcome).copied().unwrap_or_default();
            let _ = writeln!(
                table,
                "  {:<16} same {:>4}  unparsed {:>4}  lost {:>4}  false success {:>4}",
                format!("{change:?}"),
                count(Outcome::Same),
                count(Outcome::Unparsed),
                count(Outcome::Lost),
                count(Outcome::FalseSuccess),
            );
        }
    }
    println!("{table}");
    assert!(problems.is_empty(), "{problems:#?}");
}

/// The outcomes of all cases, found by two threads.
fn run_all(tapes: &[Tape], cases: &[Case]) -> Vec<Outcome> {
    let run_half = |cases: &[Case]| cases.iter().map(|case| run(tapes, case)).collect::<Vec<_>>();
    let (first, second) = cases.split_at(cases.len() / 2);
    thread::scope(|scope| {
        let other = scope.spawn(|| run_half(second));
        let mut outcomes = run_half(first);
        outcomes.extend(other.join().unwrap());
        outcomes
    })
}
