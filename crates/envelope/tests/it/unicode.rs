//! Splitting and truncation of texts with any characters.

use interlingua_envelope::AgentWrapperEvent;
use interlingua_envelope::bounds::{MAX_FINAL_TEXT_BYTES, MAX_MESSAGE_BYTES, MAX_TEXT_BYTES, TRUNCATION_SUFFIX};
use interlingua_schema::{ContentPart, ErrorCode, ErrorEvent, EventData, Role, Visibility};
use proptest::prelude::*;
use serde_json::json;

use crate::test_projector::{TestProjector, completed, message, started};

/// Texts of about `bytes` bytes with difficult characters at every position: characters of one to four bytes, combining
/// marks, joiners, line breaks, nulls. A random prefix shifts them relative to the limit.
fn text(bytes: usize) -> impl Strategy<Value = String> {
    let parts =
        ["x", "é", "\u{301}", "ẞ", "漢", "🦀", "👩\u{200d}💻", "\n", "\r", "\u{0}", "\"", "\\", "\u{feff}", "\u{2028}"];
    let pattern = proptest::collection::vec(proptest::sample::select(parts.to_vec()), 1..12);
    (any::<[char; 3]>(), pattern, 0..4_usize).prop_map(move |(random, pattern, shift)| {
        let pattern = pattern.concat() + &String::from_iter(random);
        "s".repeat(shift) + &pattern.repeat(bytes.div_ceil(pattern.len()))
    })
}

fn assert_truncated(original: &str, found: &str, max_bytes: usize) {
    assert!(found.len() <= max_bytes);
    if original.len() <= max_bytes {
        assert_eq!(found, original);
        return;
    }
    let kept = found.strip_suffix(TRUNCATION_SUFFIX).unwrap();
    assert!(original.starts_with(kept));
    // One more character would not have fitted.
    let next = original[kept.len()..].chars().next().unwrap();
    assert!(found.len() + next.len_utf8() > max_bytes);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn the_joined_pieces_of_a_text_are_the_text(
        text in prop_oneof![text(10), text(MAX_TEXT_BYTES - 3), text(MAX_TEXT_BYTES), text(3 * MAX_TEXT_BYTES)],
        reasoning: bool,
        streamed: bool,
    ) {
        let part = |text: &str| if reasoning { ContentPart::reasoning(text, Visibility::Public) } else { ContentPart::text(text) };
        let (channel, other) = if reasoning { ("reasoning", "assistant") } else { ("assistant", "reasoning") };
        let mut projector = TestProjector::new();
        projector.push_data(started(message("i", Role::Assistant, vec![part("")])));
        if streamed {
            projector.delta("i", &text);
        }
        projector.push_data(completed(message("i", Role::Assistant, vec![part(&text)])));
        let pieces = projector.texts(channel);
        prop_assert!(pieces.iter().all(|piece| !piece.is_empty() && piece.len() <= MAX_TEXT_BYTES));
        // One more character would not have fitted into any piece.
        for pair in pieces.windows(2) {
            prop_assert!(pair[0].len() + pair[1].chars().next().unwrap().len_utf8() > MAX_TEXT_BYTES);
        }
        prop_assert!(pieces.concat() == text);
        prop_assert!(projector.texts(other).is_empty());
        for event in &projector.events {
            let json = serde_json::to_string(event).unwrap();
            prop_assert!(!json.contains('\n'));
            prop_assert_eq!(&serde_json::from_str::<AgentWrapperEvent>(&json).unwrap(), event);
        }
    }

    #[test]
    fn a_message_is_truncated_between_characters(
        text in prop_oneof![text(10), text(MAX_MESSAGE_BYTES - 20), text(MAX_MESSAGE_BYTES), text(2 * MAX_MESSAGE_BYTES)],
    ) {
        let mut projector = TestProjector::new();
        projector.push_data(EventData::Error(ErrorEvent::new(ErrorCode::AgentError, format!("!{text}"))));
        assert_truncated(&format!("!{text}"), projector.last().message().unwrap(), MAX_MESSAGE_BYTES);
        let read: AgentWrapperEvent =
            serde_json::from_value(json!({"agent_kind": "amp", "kind": "Status", "message": text})).unwrap();
        assert_truncated(&text, read.message().unwrap(), MAX_MESSAGE_BYTES);
    }

    #[test]
    fn a_final_text_is_truncated_between_characters(
        text in prop_oneof![text(10), text(MAX_FINAL_TEXT_BYTES), text(2 * MAX_FINAL_TEXT_BYTES)],
    ) {
        let mut projector = TestProjector::new();
        projector.start_turn().push_data(completed(message("i", Role::Assistant, vec![ContentPart::text(text.clone())])));
        assert_truncated(&text, projector.completion().final_text().unwrap(), MAX_FINAL_TEXT_BYTES);
    }
}
