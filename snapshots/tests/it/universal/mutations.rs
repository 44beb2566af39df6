//! Mutates one value of one recorded line. The universal stream must then keep its meaning, or contain an
//! `agent.unparsed` that names the value.
//!
//! `cargo test -p interlingua-snapshots mutations -- --nocapture` prints the table. Fix a lost value with `needed` or
//! `expected` in the agent's `source.toml`, and a false success in its converter.

mod generator;
mod outcome;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::thread;

use interlingua_convert::{Agent, Launch};
use interlingua_snapshots::{Recording, recordings};
use interlingua_wirelog::Input;
use serde_json::Value;

use generator::{Change, Mutation, Schema};
use outcome::{ConvertedInputs, Outcome, convert, judge};

/// Longer recordings are left out, because converting them once per case takes too long.
const MAX_INPUTS: usize = 400;

/// A recording before mutation.
struct Original {
    agent: Agent,
    version: String,
    launch: Launch,
    inputs: Vec<Input>,
    converted: ConvertedInputs,
}

impl Original {
    fn load(recording: &Recording) -> Self {
        let launch = recording.reader().unwrap().header().map(Launch::from).unwrap_or_default();
        let inputs: Vec<Input> = recording.inputs().unwrap().into_iter().map(sort_keys).collect();
        let converted = convert(recording.agent, &launch, &inputs, None);
        Self { agent: recording.agent, version: recording.version.clone(), launch, inputs, converted }
    }
}

/// Sorts the keys of a line, as those of a mutated line are: arguments of calls keep their order.
fn sort_keys(input: Input) -> Input {
    match &input {
        Input::Received(line) => match serde_json::from_str::<Value>(line) {
            Ok(value) => Input::Received(value.to_string()),
            Err(_) => input,
        },
        _ => input,
    }
}

/// A mutation of one line of one recording.
struct Case {
    /// Index of the recording.
    original: usize,
    /// Index of the line in the recording.
    input: usize,
    native_type: String,
    mutation: Mutation,
}

/// The mutations of an agent's recordings: one per version, native type, field and kind of change.
fn generate_cases(originals: &[Original], agent: Agent) -> Vec<Case> {
    let schema = Schema::load(agent);
    let mut cases: BTreeMap<(String, String, String, Change), Case> = BTreeMap::new();
    // Short recordings first, because they are faster to convert.
    let mut order: Vec<usize> = (0..originals.len()).filter(|index| originals[*index].agent == agent).collect();
    order.sort_by_key(|index| originals[*index].inputs.len());
    for original in order {
        let mut host_requests = BTreeMap::new();
        for (index, input) in originals[original].inputs.iter().enumerate() {
            let (Input::Sent(text) | Input::Received(text)) = input else { continue };
            let Ok(value) = serde_json::from_str::<Value>(text) else { continue };
            if let (Input::Sent(_), Some(id), Some(method)) = (input, value.get("id"), value.get("method")) {
                host_requests.insert(id.to_string(), method.as_str().unwrap_or_default().to_owned());
            }
            let Input::Received(_) = input else { continue };
            let Some((native_type, mutations)) = schema.mutations(&value, &host_requests) else { continue };
            for mutation in mutations {
                let version = originals[original].version.clone();
                let key = (version, native_type.clone(), mutation.field.clone(), mutation.change);
                let case = || Case { original, input: index, native_type: native_type.clone(), mutation };
                cases.entry(key).or_insert_with(case);
            }
        }
    }
    cases.into_values().collect()
}

fn run(originals: &[Original], case: &Case) -> Outcome {
    let original = &originals[case.original];
    let Input::Received(line) = &original.inputs[case.input] else { return Outcome::Same };
    let mutated_line = case.mutation.apply(&serde_json::from_str(line).unwrap());
    let mut inputs = original.inputs.clone();
    inputs[case.input] = Input::Received(mutated_line.to_string());
    let mutated = convert(original.agent, &original.launch, &inputs, Some(case.input));
    judge(&original.converted, &mutated, case, &mutated_line)
}

#[test]
fn a_mutated_value_keeps_the_meaning_or_is_reported() {
    let recordings = recordings().unwrap();
    let originals: Vec<Original> =
        recordings.iter().map(Original::load).filter(|original| original.inputs.len() <= MAX_INPUTS).collect();
    let mut table = String::new();
    let mut problems: BTreeMap<String, usize> = BTreeMap::new();
    for agent in Agent::ALL {
        let cases = generate_cases(&originals, agent);
        let _ = writeln!(table, "{agent}: {} mutations", cases.len());
        let mut counts: BTreeMap<Change, BTreeMap<Outcome, usize>> = BTreeMap::new();
        for (case, outcome) in cases.iter().zip(run_all(&originals, &cases)) {
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
    assert!(
        problems.is_empty(),
        "mutations that lose data or turn a failure into a success, with counts: {problems:#?}"
    );
}

/// Runs all cases on two threads.
fn run_all(originals: &[Original], cases: &[Case]) -> Vec<Outcome> {
    let run_half = |cases: &[Case]| cases.iter().map(|case| run(originals, case)).collect::<Vec<_>>();
    let (first, second) = cases.split_at(cases.len() / 2);
    thread::scope(|scope| {
        let other = scope.spawn(|| run_half(second));
        let mut outcomes = run_half(first);
        outcomes.extend(other.join().unwrap());
        outcomes
    })
}
