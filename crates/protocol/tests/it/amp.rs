//! What is sent to Amp.

use std::fs;

use interlingua_native::Native as _;
use interlingua_native::amp::{InputContentType, UserInputMessage};
use interlingua_protocol::amp::{Image, Prompt};
use interlingua_recordings::Transcripts;
use serde_json::Value;

use crate::schema::{assert_valid, validator};

#[test]
fn a_prompt_is_valid() {
    let input = validator("amp", "/definitions/UserInputMessage");
    for text in ["hi", ""] {
        let line = Prompt { text: text.to_owned(), images: Vec::new() }.into_line();
        assert_valid(&input, &serde_json::from_str(&line).unwrap());
    }
}

/// The vendor does not declare images; the recording `image-input` shows that the agent accepts them.
#[test]
fn recorded_prompts_are_rebuilt() {
    let mut sent = 0;
    for recording in Transcripts::in_repository().for_agent("amp").unwrap() {
        for line in fs::read_to_string(&recording.path).unwrap().lines() {
            let line: Value = serde_json::from_str(line).unwrap();
            if line["dir"] != "send" {
                continue;
            }
            let line = line["line"].as_str().unwrap();
            let message = UserInputMessage::decode(line).unwrap().value.message.unwrap();
            let mut prompt = Prompt::default();
            for content in message.content.unwrap() {
                match content.type_.unwrap() {
                    InputContentType::Text => prompt.text = content.text.unwrap(),
                    InputContentType::Image => {
                        let source = content.source.unwrap();
                        let media_type = source.media_type.unwrap();
                        prompt.images.push(Image { media_type, base64: source.data.unwrap() });
                    }
                    InputContentType::Unknown(other) => panic!("{other}"),
                }
            }
            let again: Value = serde_json::from_str(&prompt.into_line()).unwrap();
            assert_eq!(again, serde_json::from_str::<Value>(line).unwrap(), "{}", recording.scenario);
            sent += 1;
        }
    }
    assert!(sent >= 2, "{sent}");
}
