//! Splitting and cutting, whatever the text.

use interlingua_envelope::AgentWrapperEvent;
use interlingua_envelope::bounds::{MAX_FINAL_TEXT_BYTES, MAX_MESSAGE_BYTES, MAX_TEXT_BYTES, TRUNCATION_SUFFIX};
use interlingua_schema::{ContentPart, ErrorCode, ErrorEvent, EventData, Role, Visibility};
use proptest::prelude::*;
use serde_json::json;

use crate::events::{Play, completed, message, started};

/// Texts of about so many bytes that have something awkward at every place: characters of one to four bytes, combining
/// marks, joiners, lone line breaks, nulls. The start shifts all of it against the bound.
fn text(bytes: usize) -> impl Strategy<Value = String> {
    let parts =
        ["x", "é", "\u{301}", "ẞ", "漢", "🦀", "👩\u{200d}💻", "\n", "\r", "\u{0}", "\"", "\\", "\u{feff}", "\u{2028}"];
    let pattern = proptest::collection::vec(proptest::sample::select(parts.to_vec()), 1..12);
    (any::<[char; 3]>(), pattern, 0..4_usize).prop_map(move |(random, pattern, shift)| {
        let pattern = pattern.concat() + &String::from_iter(random);
        "s".repeat(shift) + &pattern.repeat(bytes.div_ceil(pattern.len()))
    })
}

fn check_truncated(original: &str, found: &str, bound: usize) {
    assert!(found.len() <= bound);
    if original.len() <= bound {
        assert_eq!(found, original);
        return;
    }
    let kept = found.strip_suffix(TRUNCATION_SUFFIX).unwrap();
    assert!(original.starts_with(kept));
    // No character more would have fitted.
    let next = original[kept.len()..].chars().next().unwrap();
    assert!(found.len() + next.len_utf8() > bound);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn a_split_text_is_whole_again_when_joined(
        text in prop_oneof![text(10), text(MAX_TEXT_BYTES - 3), text(MAX_TEXT_BYTES), text(3 * MAX_TEXT_BYTES)],
        reasoning: bool,
        streamed: bool,
    ) {
        let part = |text: &str| if reasoning { ContentPart::reasoning(text, Visibility::Public) } else { ContentPart::text(text) };
        let (channel, other) = if reasoning { ("reasoning", "assistant") } else { ("assistant", "reasoning") };
        let mut play = Play::new();
        play.say(started(message("i", Role::Assistant, vec![part("")])));
        if streamed {
            play.delta("i", &text);
        }
        play.say(completed(message("i", Role::Assistant, vec![part(&text)])));
        let pieces = play.texts(channel);
        prop_assert!(pieces.iter().all(|piece| !piece.is_empty() && piece.len() <= MAX_TEXT_BYTES));
        // No piece could have held one character more.
        for pair in pieces.windows(2) {
            prop_assert!(pair[0].len() + pair[1].chars().next().unwrap().len_utf8() > MAX_TEXT_BYTES);
        }
        prop_assert!(pieces.concat() == text);
        prop_assert!(play.texts(other).is_empty());
        for event in &play.events {
            let json = serde_json::to_string(event).unwrap();
            prop_assert!(!json.contains('\n'));
            prop_assert_eq!(&serde_json::from_str::<AgentWrapperEvent>(&json).unwrap(), event);
        }
    }

    #[test]
    fn a_message_is_cut_between_characters(
        text in prop_oneof![text(10), text(MAX_MESSAGE_BYTES - 20), text(MAX_MESSAGE_BYTES), text(2 * MAX_MESSAGE_BYTES)],
    ) {
        let mut play = Play::new();
        play.say(EventData::Error(ErrorEvent::new(ErrorCode::AgentError, format!("!{text}"))));
        check_truncated(&format!("!{text}"), play.last().message().unwrap(), MAX_MESSAGE_BYTES);
        let read: AgentWrapperEvent =
            serde_json::from_value(json!({"agent_kind": "amp", "kind": "Status", "message": text})).unwrap();
        check_truncated(&text, read.message().unwrap(), MAX_MESSAGE_BYTES);
    }

    #[test]
    fn a_final_text_is_cut_between_characters(
        text in prop_oneof![text(10), text(MAX_FINAL_TEXT_BYTES), text(2 * MAX_FINAL_TEXT_BYTES)],
    ) {
        let mut play = Play::new();
        play.turn().say(completed(message("i", Role::Assistant, vec![ContentPart::text(text.clone())])));
        check_truncated(&text, play.completion().final_text().unwrap(), MAX_FINAL_TEXT_BYTES);
    }
}
