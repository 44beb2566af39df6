//! The comparison of each pair.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use interlingua_schema::Checker;

use super::exceptions::EXCEPTIONS;
use super::trace::{self, describe};
use super::{committed, import, pairs, pairs_in};

#[test]
fn an_import_has_the_trace_of_the_wire_apart_from_what_the_format_lacks() {
    let mut different = String::new();
    for pair in pairs() {
        let wires = trace::of_wire(&pair);
        let histories = trace::of_events(&import(&pair.history).events);
        for (session, mut wire) in wires {
            // A process that failed before it had a session wrote no history.
            let Some(mut history) = histories.get(&session).cloned() else { continue };
            for exception in EXCEPTIONS.iter().filter(|exception| applies(exception.pairs, &pair.name)) {
                (exception.apply)(&mut wire, &mut history);
            }
            if wire != history {
                let _ = writeln!(
                    different,
                    "{} session {session}\n--- wire\n{}--- history\n{}",
                    pair.name,
                    describe(&wire),
                    describe(&history)
                );
            }
        }
    }
    assert!(different.is_empty(), "imports differ from the wire:\n{different}");
}

#[test]
fn every_exception_is_needed() {
    let mut needed = BTreeSet::new();
    for pair in pairs_in(&committed()) {
        let wires = trace::of_wire(&pair);
        let histories = trace::of_events(&import(&pair.history).events);
        for (session, mut wire) in wires {
            let Some(mut history) = histories.get(&session).cloned() else { continue };
            for (index, exception) in EXCEPTIONS.iter().enumerate() {
                let before = (wire.clone(), history.clone());
                if applies(exception.pairs, &pair.name) {
                    (exception.apply)(&mut wire, &mut history);
                }
                if before != (wire.clone(), history.clone()) {
                    needed.insert(index);
                }
            }
        }
    }
    let unneeded: Vec<&str> = EXCEPTIONS
        .iter()
        .enumerate()
        .filter(|(index, _)| !needed.contains(index))
        .map(|(_, exception)| exception.reason)
        .collect();
    assert!(unneeded.is_empty(), "no committed pair needs these exceptions; remove them: {unneeded:#?}");
}

fn applies(prefixes: &[&str], name: &str) -> bool {
    prefixes.iter().any(|prefix| name.starts_with(prefix))
}

#[test]
fn an_import_obeys_the_rules_and_repeats_nothing() {
    for pair in pairs() {
        let imported = import(&pair.history);
        let mut checker = Checker::new();
        let violations: Vec<String> = imported
            .events
            .iter()
            .flat_map(|event| checker.push(event))
            .map(|violation| violation.to_string())
            .collect();
        assert!(violations.is_empty(), "{}: {violations:#?}", pair.name);
        assert_eq!(imported.report.damaged, 0, "{}: {:?}", pair.name, imported.report.problems);
        for (session, lines) in trace::of_events(&imported.events) {
            let calls = lines.iter().filter(|line| line.kind == "tool_call" || line.kind == "tool_result");
            let mut seen = BTreeSet::new();
            for line in calls {
                assert!(
                    seen.insert((&line.kind, &line.call)),
                    "{} session {session}: {} {} is there twice",
                    pair.name,
                    line.kind,
                    line.call
                );
            }
        }
    }
}

#[test]
fn the_sessions_of_a_fork_repeat_no_message() {
    for name in ["claude/2.1.326/resume-and-fork", "codex/0.130.0/resume_fork_list", "opencode/1.1.34/fork_revert"] {
        let traces = trace::of_events(&import(&folder_of(name)).events);
        let mut prompts = BTreeSet::new();
        for (session, lines) in &traces {
            for line in lines.iter().filter(|line| line.kind == "message/user") {
                assert!(prompts.insert(&line.text), "{name}: {session} repeats {:?}", line.text);
            }
        }
        assert_eq!(traces.len(), 2, "{name}");
    }
}

fn folder_of(name: &str) -> std::path::PathBuf {
    pairs_in(&committed()).into_iter().find(|pair| pair.name == name).unwrap().history
}

#[test]
fn importing_again_gives_the_same_events() {
    for pair in pairs_in(&committed()) {
        assert_eq!(import(&pair.history).events, import(&pair.history).events, "{}", pair.name);
    }
}
