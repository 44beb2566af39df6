//! What holds for the stream of every recording.

use std::collections::{BTreeMap, BTreeSet};

use interlingua_convert::{Agent, Conversion, ConversionOptions, convert_log, convert_log_to_writer, converter_for};
use interlingua_schema::{ContentPart, EventData, Item, ItemEvent, ItemKind, StatusLabel};
use interlingua_snapshots::{CorpusEntry, recordings};

use crate::corpus;

#[test]
fn every_stream_keeps_the_rules_and_accounts_for_every_payload() {
    let mut problems = Vec::new();
    for CorpusEntry { recording, converted } in corpus().entries() {
        let name = recording.name();
        problems.extend(converted.violations().into_iter().map(|violation| format!("{name}: {violation}")));
        if converted.tally.unaccounted > 0 {
            problems.push(format!("{name}: {} payloads are unaccounted for", converted.tally.unaccounted));
        }
        let plain_text = recording.received().unwrap().iter().filter(|line| is_plain_text(line)).count();
        let unparsed: Vec<_> = converted
            .events
            .iter()
            .filter_map(|event| match &event.data {
                EventData::AgentUnparsed(data) => Some(format!("{}: {}", data.location, data.error)),
                _ => None,
            })
            .collect();
        if unparsed.len() > plain_text {
            problems.push(format!("{name}: unparsed {unparsed:?}"));
        }
        let unknown = converted.events.iter().filter(|event| match &event.data {
            EventData::ItemStarted(data) => data.item.kind == ItemKind::Unknown,
            EventData::Unknown(_) => true,
            _ => false,
        });
        problems.extend(unknown.map(|event| format!("{name}: seq {} is of unknown kind", event.sequence)));
    }
    assert!(problems.is_empty(), "{problems:#?}");
}

/// Written as they happen or kept and written later: the bytes are the same, with payloads and without.
#[test]
fn events_written_as_they_happen_are_the_events_that_are_made() {
    for recording in recordings().unwrap() {
        for raw in [false, true] {
            let stream = || Conversion::new(converter_for(recording.agent), ConversionOptions::with_raw(raw));
            let (mut made, mut written) = (Vec::new(), Vec::new());
            convert_log(&mut recording.reader().unwrap(), &mut stream(), |event| {
                serde_json::to_writer(&mut made, &event)?;
                made.push(b'\n');
                Ok(())
            })
            .unwrap();
            convert_log_to_writer(&mut recording.reader().unwrap(), &mut stream(), &mut written).unwrap();
            assert!(written == made, "{}: raw {raw}", recording.name());
        }
    }
}

/// A client cannot tell the agent by the steps of its plan.
#[test]
fn every_plan_has_the_same_words() {
    let mut planners = BTreeSet::new();
    for CorpusEntry { recording, converted } in corpus().entries() {
        let mut last: BTreeMap<_, &Item> = BTreeMap::new();
        for event in &converted.events {
            let EventData::ItemCompleted(ItemEvent { item, .. }) = &event.data else { continue };
            let [ContentPart::Status { label: StatusLabel::Plan, detail }, ContentPart::Json { json }, ..] =
                item.content.as_slice()
            else {
                continue;
            };
            let name = recording.name();
            assert!(detail.as_ref().is_some_and(|detail| detail.ends_with(" done")), "{name}: {detail:?}");
            for step in json["steps"].as_array().unwrap() {
                let status = step["status"].as_str().unwrap_or_default();
                assert!(["pending", "in_progress", "completed", "cancelled"].contains(&status), "{name}: {step}");
                assert!(step["content"].is_string(), "{name}: {step}");
            }
            let before = last.insert(&event.session_id, item);
            assert!(before.is_none_or(|before| before.content != item.content), "{name}: {json} is told twice");
            planners.insert(recording.agent);
        }
    }
    // Nobody has recorded one of Amp's.
    assert_eq!(planners.len(), 3, "{planners:?}");
}

fn is_plain_text(line: &str) -> bool {
    serde_json::from_str::<serde::de::IgnoredAny>(line).is_err()
}

/// Prints what is dropped and why; run with `--nocapture` to see it.
#[test]
fn the_share_of_dropped_lines_is_told_and_every_reason_is_documented() {
    let mut agents: BTreeMap<Agent, (u64, BTreeMap<&'static str, u64>)> = BTreeMap::new();
    for CorpusEntry { recording, converted } in corpus().entries() {
        let (payloads, dropped) = agents.entry(recording.agent).or_default();
        *payloads += converted.tally.payloads;
        for (reason, count) in &converted.tally.dropped {
            *dropped.entry(*reason).or_default() += count;
        }
    }
    let mut undocumented = Vec::new();
    for (agent, (payloads, dropped)) in agents {
        let total: u64 = dropped.values().sum();
        println!("{agent}: {total} of {payloads} payloads dropped ({} %)", total * 100 / payloads.max(1));
        let page = format!("docs/mapping-{agent}.md");
        let text = std::fs::read_to_string(format!("{}/../{page}", env!("CARGO_MANIFEST_DIR"))).unwrap_or_default();
        for (reason, count) in dropped {
            println!("  {count:>6} {reason}");
            if !text.contains(reason) {
                undocumented.push(format!("{page} does not list the reason `{reason}`"));
            }
        }
    }
    assert!(undocumented.is_empty(), "{undocumented:#?}");
}
