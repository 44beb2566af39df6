//! What the generated types are, and that their corrections are needed.

use std::fmt::Write as _;

use interlingua_codegen::{SchemaFolder, generate};
use interlingua_convert::{Agent, Input};
use interlingua_snapshots::recordings;

use crate::snapshots_in;

fn source(agent: Agent) -> SchemaFolder {
    let schemas = interlingua_agent_schemas::find(agent.id()).unwrap();
    SchemaFolder::parse(agent.id(), schemas.files()).unwrap()
}

/// A schema update is reviewed as a diff of this.
#[test]
fn the_generated_types_are_these() {
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
            assert!(!entry.reason.is_empty(), "{agent}: correction `{name}` gives no reason");
            let recording = recordings.iter().find(|recording| recording.name() == entry.recording);
            let recording =
                recording.unwrap_or_else(|| panic!("{agent}: `{name}` names no recording: {}", entry.recording));
            let is_shown = recording.lines().unwrap().iter().any(|line| match line {
                Input::Received(line) | Input::Sent(line) => line.contains(shows),
                _ => false,
            });
            assert!(
                is_shown,
                "{agent}: no line of {} shows {shows}, which correction `{name}` is for",
                entry.recording
            );
        }
    }
}
