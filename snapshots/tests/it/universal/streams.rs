//! Rules that hold for the universal stream of every recording.

use std::collections::{BTreeMap, BTreeSet};

use interlingua_convert::{Agent, Conversion, ConversionOptions, convert_log, convert_log_to_writer, converter_for};
use interlingua_native::Union as _;
use interlingua_native::acp::{AgentNotification, AgentRequest};
use interlingua_schema::{AgentUnparsed, ContentPart, EventData, Item, ItemEvent, ItemKind, StatusLabel};
use interlingua_snapshots::{CorpusEntry, recordings};

use crate::corpus;

#[test]
fn every_stream_keeps_the_rules_and_accounts_for_every_payload() {
    let mut problems = Vec::new();
    for CorpusEntry { recording, converted } in corpus().entries() {
        let name = recording.name();
        problems.extend(converted.violations().into_iter().map(|violation| format!("{name}: {violation}")));
        if converted.stats.unaccounted > 0 {
            problems.push(format!("{name}: {} payloads are unaccounted", converted.stats.unaccounted));
        }
        let plain_text = recording.received_lines().unwrap().iter().filter(|line| is_plain_text(line)).count();
        let unparsed: Vec<_> = converted
            .events
            .iter()
            .filter_map(|event| match &event.data {
                EventData::AgentUnparsed(data) if is_vendor_method(data) => None,
                EventData::AgentUnparsed(data) => Some(format!("{}: {}", data.location, data.error)),
                _ => None,
            })
            .collect();
        if unparsed.len() > plain_text {
            problems.push(format!(
                "{name}: {} payloads are unparsed, but only {plain_text} lines are not JSON: {unparsed:?}",
                unparsed.len()
            ));
        }
        let unknown = converted.events.iter().filter(|event| match &event.data {
            EventData::ItemStarted(data) => data.item.kind == ItemKind::Unknown,
            EventData::Unknown(_) => true,
            _ => false,
        });
        problems.extend(unknown.map(|event| format!("{name}: event {} is of unknown kind", event.sequence)));
    }
    assert!(problems.is_empty(), "{problems:#?}");
}

/// Whether a payload is unparsed because an ACP agent uses a method of its own, which the protocol does not have.
fn is_vendor_method(unparsed: &AgentUnparsed) -> bool {
    let is_declared = |method: &str| {
        let mut declared = AgentNotification::TAGS.iter().chain(AgentRequest::TAGS);
        declared.any(|(tag, _)| *tag == method)
    };
    unparsed.location == Agent::Acp.id()
        && matches!(unparsed.error.as_str(), "unknown notification" | "unknown request")
        && unparsed.native_type.as_deref().is_some_and(|method| !is_declared(method))
}

/// The streaming writer and the serializer produce the same bytes, with raw payloads and without.
#[test]
fn convert_log_to_writer_writes_the_events_of_convert_log() {
    for recording in recordings().unwrap() {
        for raw in [false, true] {
            let conversion = || Conversion::new(converter_for(recording.agent), ConversionOptions::with_raw(raw));
            let (mut serialized, mut written) = (Vec::new(), Vec::new());
            convert_log(&mut recording.reader().unwrap(), &mut conversion(), |event| {
                serde_json::to_writer(&mut serialized, &event)?;
                serialized.push(b'\n');
                Ok(())
            })
            .unwrap();
            convert_log_to_writer(&mut recording.reader().unwrap(), &mut conversion(), &mut written).unwrap();
            assert!(
                written == serialized,
                "{}: `convert_log_to_writer` differs from `convert_log` with raw = {raw}",
                recording.name()
            );
        }
    }
}

/// A client sees no difference between the plans of different agents.
#[test]
fn plans_have_the_same_form_with_every_agent() {
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
            let previous = last.insert(&event.session_id, item);
            assert!(
                previous.is_none_or(|previous| previous.content != item.content),
                "{name}: the plan {json} is repeated without a change"
            );
            planners.insert(recording.agent);
        }
    }
    // There is no recording of a plan of Amp.
    assert_eq!(planners.len(), 3, "agents with plans: {planners:?}");
}

fn is_plain_text(line: &str) -> bool {
    serde_json::from_str::<serde::de::IgnoredAny>(line).is_err()
}

/// Prints the dropped payloads per reason. Run with `--nocapture` to see them.
#[test]
fn every_reason_for_dropping_a_payload_is_documented() {
    let mut agents: BTreeMap<Agent, (u64, BTreeMap<&'static str, u64>)> = BTreeMap::new();
    for CorpusEntry { recording, converted } in corpus().entries() {
        let (payloads, dropped) = agents.entry(recording.agent).or_default();
        *payloads += converted.stats.payloads;
        for (reason, count) in &converted.stats.dropped {
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
                undocumented
                    .push(format!("{page} does not list the reason `{reason}`, for which payloads are dropped"));
            }
        }
    }
    assert!(undocumented.is_empty(), "{undocumented:#?}");
}
