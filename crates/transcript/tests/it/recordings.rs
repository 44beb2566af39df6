//! The transcript of every recording.

use std::fs::File;
use std::io::BufReader;

use interlingua_agents::Agent;
use interlingua_convert::{Conversion, ConversionOptions, convert_log, converter_for};
use interlingua_recordings::Transcripts;
use interlingua_schema::{ContentPart, EventData, ItemKind, Role, UniversalEvent};
use interlingua_transcript::TranscriptFormat;
use interlingua_wirelog::Reader;

use crate::{check_markup, render};

/// Events of every recording, with the recording's name.
fn recordings() -> impl Iterator<Item = (String, Vec<UniversalEvent>)> {
    Transcripts::in_repository().all().unwrap().into_iter().map(|recording| {
        let name = format!("{}/{}/{}", recording.agent, recording.version, recording.scenario);
        let agent = recording.agent.parse::<Agent>().unwrap();
        let mut reader = Reader::new(BufReader::new(File::open(&recording.path).unwrap())).unwrap();
        let mut conversion = Conversion::new(converter_for(agent), ConversionOptions::default());
        let mut events = Vec::new();
        convert_log(&mut reader, &mut conversion, |event| {
            events.push(event);
            Ok(())
        })
        .unwrap();
        (name, events)
    })
}

fn words(text: &str) -> Vec<String> {
    let mut words: Vec<_> =
        text.split(|c: char| !c.is_ascii_alphanumeric()).filter(|w| w.len() > 3).map(str::to_owned).collect();
    words.dedup();
    words
}

#[test]
fn every_recording_becomes_a_complete_page() {
    let mut count = 0;
    for (name, events) in recordings() {
        let html = render(&events, TranscriptFormat::Html);
        check_markup(&html);
        assert!(html.contains("Content-Security-Policy") && html.ends_with("</html>\n"), "{name}");
        let calls = events
            .iter()
            .filter(
                |event| matches!(&event.data, EventData::ItemCompleted(data) if data.item.kind == ItemKind::ToolCall),
            )
            .count();
        let shown = html.matches("<details class=\"tool").count();
        assert!(shown >= calls, "{name}: {calls} tool calls, {shown} shown");
        let markdown = render(&events, TranscriptFormat::Markdown);
        for event in &events {
            let EventData::ItemCompleted(data) = &event.data else { continue };
            if data.item.kind != ItemKind::Message || data.item.role == Some(Role::System) {
                continue;
            }
            for part in &data.item.content {
                let ContentPart::Text { text } = part else { continue };
                for word in words(text) {
                    assert!(html.contains(&word), "{name}: {word:?} is not in the HTML");
                    assert!(markdown.contains(&word), "{name}: {word:?} is not in the Markdown");
                }
            }
        }
        count += 1;
    }
    assert!(count > 50, "only {count} recordings");
}

#[test]
fn what_a_sub_agent_does_is_inside_its_tool_call() {
    let mut nested = 0;
    for (name, events) in recordings().filter(|(name, _)| name.contains("/helper-")) {
        let html = render(&events, TranscriptFormat::Html);
        assert!(html.contains("<div class=\"children\">"), "{name} shows no sub-agent");
        nested += 1;
    }
    assert!(nested > 0, "no recording has a sub-agent");
}
