//! Events whose texts try to break out of the page.

use interlingua_schema::{
    ContentPart, EventData, FileAction, Item, ItemDelta, ItemKind, ItemOutcome, Origin, Permission, Question,
    QuestionAnswer, QuestionMetadata, Role, Timestamp, ToolKind, TurnEnded, TurnStarted, TurnStatus, UniversalEvent,
    Visibility,
};
use interlingua_transcript::{TranscriptFormat, TranscriptWriter};

use crate::{check_markup, render};

const HOSTILE: &str = "</pre></details></style><script>alert(1)</script><img src=x onerror=alert(1)> \
    [a](javascript:alert(1)) \"'><b onclick=x> \u{1b}[31mred\u{1b}[0m \u{202e}txt.exe\n```\n</details>";

fn events(data: impl IntoIterator<Item = EventData>) -> Vec<UniversalEvent> {
    data.into_iter()
        .enumerate()
        .map(|(index, data)| {
            let sequence = index as u64 + 1;
            UniversalEvent::new(format!("evt_{sequence}"), sequence, Timestamp::EPOCH, "s", Origin::AGENT, data)
        })
        .collect()
}

fn item(id: &str, kind: ItemKind, role: Role, content: Vec<ContentPart>) -> Item {
    let mut item = Item::new(id, kind);
    item.role = Some(role);
    item.content = content;
    item
}

fn completed(item: Item) -> [EventData; 2] {
    [EventData::item_started(item.clone()), EventData::item_completed(item, ItemOutcome::Completed)]
}

fn call(id: &str) -> Item {
    let part = ContentPart::ToolCall {
        name: HOSTILE.to_owned(),
        arguments: HOSTILE.to_owned(),
        call_id: id.to_owned(),
        tool_kind: Some(ToolKind::Command),
        title: None,
        input: None,
    };
    item(&format!("item-{id}"), ItemKind::ToolCall, Role::Assistant, vec![part])
}

fn result(id: &str, output: &str) -> Item {
    let part = ContentPart::ToolResult {
        call_id: id.to_owned(),
        output: output.to_owned(),
        exit_code: Some(0),
        duration_ms: None,
        stderr_bytes: None,
    };
    item(&format!("result-{id}"), ItemKind::ToolResult, Role::Tool, vec![part])
}

#[test]
fn hostile_text_is_shown_as_text() {
    let mut data = Vec::new();
    for (index, role) in
        [Role::User, Role::Assistant, Role::System, Role::Unknown(HOSTILE.into())].into_iter().enumerate()
    {
        let content = vec![
            ContentPart::text(HOSTILE),
            ContentPart::reasoning(HOSTILE, Visibility::Public),
            ContentPart::Image { path: format!("data:image/png;base64,{HOSTILE}"), mime: None },
            ContentPart::Image { path: "https://example.org/tracker.png".to_owned(), mime: None },
            ContentPart::Image { path: "data:image/svg+xml,<svg onload=alert(1)>".to_owned(), mime: None },
            ContentPart::FileRef {
                path: HOSTILE.to_owned(),
                action: FileAction::Patch,
                diff: Some(HOSTILE.to_owned()),
            },
        ];
        data.extend(completed(item(&format!("m{index}"), ItemKind::Message, role, content)));
    }
    data.extend(completed(call("c")));
    data.extend(completed(result("c", HOSTILE)));
    data.push(EventData::permission_requested(Permission::new("p", HOSTILE)));
    data.push(EventData::question_requested(Question::new("q", HOSTILE, vec![HOSTILE.to_owned()])));
    let events = events(data);
    let html = render(&events, TranscriptFormat::Html);
    check_markup(&html);
    assert!(!html.contains("<script") && !html.contains('\u{1b}') && !html.contains('\u{202e}'));
    assert!(!html.contains("src=\"https:") && !html.contains("svg+xml"), "an image is loaded");
    assert!(html.contains("&lt;script&gt;alert(1)&lt;/script&gt;") && html.contains("[U+202E]txt.exe"));
    // Outside of code blocks no tag is left but those of the transcript.
    let markdown = render(&events, TranscriptFormat::Markdown);
    let mut fence: Option<String> = None;
    for line in markdown.lines() {
        let line = line.trim_start_matches("> ");
        let run: String = line.chars().take_while(|c| *c == '`').collect();
        match &fence {
            None if run.len() >= 3 => fence = Some(run),
            Some(open) if line == open => fence = None,
            None => assert!(!line.contains("<script") && !line.contains("<img"), "{line}"),
            Some(_) => {}
        }
    }
    assert_eq!(fence, None, "a code block is open at the end");
}

#[test]
fn an_entry_is_written_when_it_and_all_before_it_are_complete() {
    let mut transcript = TranscriptWriter::new(Vec::new(), TranscriptFormat::Html);
    let mut written = |data: Vec<EventData>| {
        for event in events(data) {
            transcript.write_event(&event).unwrap();
        }
        String::from_utf8(std::mem::take(transcript.get_mut())).unwrap()
    };
    let call_events = completed(call("c"));
    let message = completed(item("m", ItemKind::Message, Role::Assistant, vec![ContentPart::text("meanwhile")]));
    assert!(!written(call_events.to_vec()).contains("class=\"tool"));
    assert!(!written(message.to_vec()).contains("meanwhile"));
    let rest = written(completed(result("c", "the output")).to_vec());
    let output = rest.find("the output").expect("the call is written with its result");
    assert!(output < rest.find("meanwhile").expect("the message follows"));
}

#[test]
fn a_result_that_comes_after_its_turn_is_an_entry_of_its_own() {
    let mut data = vec![EventData::TurnStarted(TurnStarted::new("t"))];
    data.extend(completed(call("c")));
    data.push(EventData::TurnEnded(TurnEnded::new("t", TurnStatus::Completed)));
    data.extend(completed(result("c", "late output")));
    for format in [TranscriptFormat::Html, TranscriptFormat::Markdown] {
        let text = render(&events(data.clone()), format);
        assert_eq!(text.matches("late output").count(), 1);
    }
}

#[test]
fn a_message_that_the_log_cuts_off_shows_what_was_streamed() {
    let message = item("m", ItemKind::Message, Role::Assistant, vec![]);
    let delta = |text: &str| EventData::ItemDelta(ItemDelta::new("m", None, text));
    let html = render(
        &events([EventData::item_started(message), delta("half a "), delta("sentence")]),
        TranscriptFormat::Html,
    );
    assert!(html.contains("half a sentence") && html.contains("The log ends here."), "{html}");
}

#[test]
fn a_long_line_is_rendered() {
    let line = "x".repeat(1 << 20);
    let message = item("m", ItemKind::Message, Role::Assistant, vec![ContentPart::text(line.clone())]);
    assert!(render(&events(completed(message)), TranscriptFormat::Html).contains(&line));
}

#[test]
fn a_secret_answer_is_in_no_transcript() {
    let mut metadata = QuestionMetadata::default();
    metadata.secret = true;
    let mut question = Question::new("q", "API key?", Vec::<String>::new());
    question.metadata = Some(metadata.into());
    let answer = QuestionAnswer::Answered("hunter2".to_owned());
    let events =
        events([EventData::question_requested(question.clone()), EventData::question_resolved(question, answer)]);
    for format in [TranscriptFormat::Html, TranscriptFormat::Markdown] {
        let text = render(&events, format);
        assert!(text.contains("API key?") && text.contains("(secret)") && !text.contains("hunter2"), "{text}");
    }
}

#[test]
fn the_verb_of_a_tool_call_is_written_once() {
    let mut edit = call("c");
    let titled = ContentPart::ToolCall {
        name: "edit".to_owned(),
        arguments: "{}".to_owned(),
        call_id: "c".to_owned(),
        tool_kind: Some(ToolKind::FileChange),
        title: Some("Edit src/add.rs".to_owned()),
        input: None,
    };
    edit.content = vec![titled];
    let events = events(completed(edit).into_iter().chain(completed(result("c", "done"))));
    let html = render(&events, TranscriptFormat::Html);
    assert!(html.contains("<summary><span class=\"title\" dir=\"auto\">Edit src/add.rs</span>"), "{html}");
    let markdown = render(&events, TranscriptFormat::Markdown);
    assert!(markdown.contains("Edit src/add.rs") && !markdown.contains("edit: "), "{markdown}");
}
