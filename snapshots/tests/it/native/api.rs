//! The generated types, and the recordings that prove that their corrections are needed.

use std::fmt::Write as _;

use interlingua_codegen::{SchemaFolder, generate};
use interlingua_convert::{Agent, Input};
use interlingua_snapshots::recordings;

use crate::snapshots_in;

fn source(agent: Agent) -> SchemaFolder {
    let schemas = interlingua_agent_schemas::find(agent.id()).unwrap();
    SchemaFolder::parse(agent.id(), schemas.files()).unwrap()
}

/// Maximum number of lines of the native agents' types, without documentation. What is not reachable from the roots is not
/// generated.
const MAX_LINES: usize = 30_000;

#[test]
fn the_generated_types_stay_small() {
    let lines = |agent: Agent| -> usize {
        let modules = source(agent).modules.into_iter();
        let sources = modules.map(|module| generate(&module.file, &module.document, &module.settings).unwrap().source);
        let is_code = |line: &&str| !line.trim_start().starts_with("///");
        sources.map(|source| source.lines().filter(is_code).count()).sum()
    };
    let total: usize = Agent::ALL.into_iter().filter(|agent| *agent != Agent::Acp).map(lines).sum();
    assert!(total <= MAX_LINES, "{total} lines");
}

/// The snapshots show a schema update as a diff of types. Review changes with `cargo insta review`.
#[test]
fn the_generated_types_match_their_snapshots() {
    for agent in Agent::ALL {
        let mut digest = String::new();
        for module in source(agent).modules {
            let name = module.name.map(|name| format!("{name}::")).unwrap_or_default();
            for line in generate(&module.file, &module.document, &module.settings).unwrap().digest {
                let _ = writeln!(digest, "{name}{line}");
            }
        }
        snapshots_in("native").bind(|| insta::assert_snapshot!(format!("api_{agent}"), digest));
    }
}

#[test]
fn every_correction_is_shown_by_its_recording() {
    let recordings = recordings().unwrap();
    for agent in Agent::ALL {
        for entry in source(agent).corrections {
            let (name, shows) = (&entry.name, &entry.shows);
            assert!(!entry.reason.is_empty(), "{agent}: correction `{name}` has no reason");
            let recording = recordings.iter().find(|recording| recording.name() == entry.recording);
            let recording = recording.unwrap_or_else(|| {
                panic!("{agent}: correction `{name}` names the recording {}, which does not exist", entry.recording)
            });
            let is_shown = recording.inputs().unwrap().iter().any(|input| match input {
                Input::Received(line) | Input::Sent(line) => line.contains(shows),
                _ => false,
            });
            assert!(
                is_shown,
                "{agent}: no line of {} contains {shows}; correction `{name}` is not proven",
                entry.recording
            );
        }
    }
}
