use interlingua_schema::{
    CommandInput, ContentPart, EventData, FileAction, FileChange, FileChangeInput, ItemKind, ItemStatus,
    SessionMetadata, ToolInput, TurnMetadata, TurnStatus,
};

use super::play::Play;
use crate::{MessageDraft, MessageEnd, ToolCall, ToolResult, TurnEnd};

fn ls() -> ToolCall {
    ToolCall::new("c", "ls").arguments("{\"a\":1}")
}

#[test]
fn a_call_and_its_result_are_items_below_the_message() {
    let mut play = Play::begun();
    play.agent(|s| s.message_finished("m", MessageDraft::assistant().in_message("msg"), MessageEnd::text("Hi")));
    play.agent(|s| s.message_finished("n", MessageDraft::assistant(), MessageEnd::text("Ho"))).skip();
    play.agent(|s| s.tool_called("c", ls().in_message("msg"))).agent(|s| s.tool_finished("c", ToolResult::ok("x")));
    play.shows(&[
        "*+3<1 toolcall/assistant ls{\"a\":1}",
        "=3<1 toolcall/assistant ls{\"a\":1}",
        "*+4<1 toolresult/tool []",
        "=4<1 toolresult/tool [x]",
    ]);
    play.agent(|s| s.tool_called("d", ls().in_message("never heard of")));
    play.shows(&["*+5<2 toolcall/assistant ls{\"a\":1}", "=5<2 toolcall/assistant ls{\"a\":1}"]);
}

#[test]
fn arguments_and_output_stream() {
    let mut play = Play::begun();
    play.agent(|s| s.tool_started("c", ToolCall::new("c", "ls")))
        .agent(|s| s.tool_arguments("c", "{\"a\":"))
        .agent(|s| s.tool_arguments("c", "1}"))
        .agent(|s| s.tool_output("c", "one"))
        .agent(|s| s.tool_finished("c", ToolResult::as_streamed()));
    play.shows(&[
        "+1 toolcall/assistant ls{}",
        "~1 {\"a\":",
        "~1 1}",
        "*=1 toolcall/assistant ls{\"a\":1}",
        "*+2 toolresult/tool []",
        "~2 one",
        "=2 toolresult/tool [one]",
    ]);
}

#[test]
fn what_is_called_may_be_told_after_its_first_output() {
    let mut play = Play::begun();
    play.agent(|s| s.tool_output("c", "one")).agent(|s| s.tool_output("c", "two"));
    play.agent(|s| s.tool_called("c", ls())).agent(|s| s.tool_finished("c", ToolResult::as_streamed()));
    play.shows(&[
        "*+1 toolcall/assistant unknown{}",
        "*+2 toolresult/tool []",
        "~2 one",
        "~2 two",
        "=1 toolcall/assistant ls{\"a\":1}",
        "=2 toolresult/tool [onetwo]",
    ]);
    play.agent(|s| s.tool_output("d", "one")).agent(|s| s.tool_finished("d", ToolResult::as_streamed()));
    play.shows(&[
        "*+3 toolcall/assistant unknown{}",
        "*+4 toolresult/tool []",
        "~4 one",
        "*=3 toolcall/assistant unknown{}",
        "=4 toolresult/tool [one]",
    ]);
}

#[test]
fn a_command_that_exits_non_zero_failed() {
    let mut play = Play::begun();
    play.agent(|s| s.tool_called("c", ls())).skip();
    play.agent(|s| s.tool_finished("c", ToolResult::ok("no").exit_code(Some(3))));
    play.shows(&["*+2 toolresult/tool []", "=2 toolresult/tool! [no] exit 3"]);
}

#[test]
fn a_result_nobody_called_for_brings_its_call() {
    Play::begun().agent(|s| s.tool_finished("c", ToolResult::failed("no"))).shows(&[
        "*+1 toolcall/assistant unknown{}",
        "*=1 toolcall/assistant unknown{}",
        "*+2 toolresult/tool []",
        "=2 toolresult/tool! [no]",
    ]);
    let told = ToolResult::ok("yes").with_call(ls());
    Play::begun().agent(|s| s.tool_finished("c", told)).shows(&[
        "*+1 toolcall/assistant ls{\"a\":1}",
        "*=1 toolcall/assistant ls{\"a\":1}",
        "*+2 toolresult/tool []",
        "=2 toolresult/tool [yes]",
    ]);
}

#[test]
fn a_call_has_one_result() {
    let mut play = Play::begun();
    play.agent(|s| s.tool_finished("c", ToolResult::ok("x"))).skip();
    play.agent(|s| s.tool_finished("c", ToolResult::ok("y"))).agent(|s| s.tool_output("c", "z")).shows(&[]);
    play.agent(|s| s.tool_called("c", ls())).shows(&[]);
}

#[test]
fn a_result_after_its_turn_is_a_late_result() {
    let mut play = Play::begun();
    play.agent(|s| s.turn_started(None, TurnMetadata::default())).agent(|s| s.tool_called("c", ls()));
    play.agent(|s| s.tool_output("c", "one")).skip();
    play.agent(|s| s.turn_ended(TurnEnd::new())).shows(&["*=2 toolresult/tool! [one]", "turn.ended Completed"]);
    let file = ContentPart::FileRef { path: "f".into(), action: FileAction::Write, diff: None };
    play.agent(|s| s.tool_finished("c", ToolResult::ok("one two").with_part(file)));
    play.shows(&["*+3<1 status", "=3<1 status LateResult one two <f>"]);
    play.agent(|s| s.tool_finished("c", ToolResult::ok("again"))).shows(&[]);
}

#[test]
fn a_tool_in_the_background_may_end_after_a_turn_that_went_well() {
    let mut play = Play::begun();
    play.agent(|s| s.turn_started(None, TurnMetadata::default())).agent(|s| s.tool_called("c", ls()));
    play.agent(|s| s.turn_ended(TurnEnd::new())).skip();
    play.agent(|s| s.tool_finished("c", ToolResult::ok("x")));
    play.shows(&["*+2 toolresult/tool []", "=2 toolresult/tool [x]"]);
}

#[test]
fn an_interrupt_cuts_tools_off() {
    let mut play = Play::begun();
    play.agent(|s| s.turn_started(None, TurnMetadata::default())).agent(|s| s.tool_called("c", ls()));
    play.agent(|s| s.tool_started("d", ls())).skip();
    play.agent(|s| s.turn_ended(TurnEnd::with_status(TurnStatus::Interrupted)));
    play.shows(&[
        "*+3 toolresult/tool []",
        "*=3 toolresult/tool! []",
        "*=2 toolcall/assistant! ls{\"a\":1}",
        "*+4 toolresult/tool []",
        "*=4 toolresult/tool! []",
        "turn.ended Interrupted",
    ]);
}

#[test]
fn arguments_cut_off_in_the_middle_are_a_json_string() {
    let mut play = Play::begun();
    play.agent(|s| s.tool_started("c", ToolCall::new("c", "ls"))).agent(|s| s.tool_arguments("c", "{\"a")).skip();
    play.agent(|s| s.tool_abandoned("c"));
    play.shows(&[r#"*=1 toolcall/assistant! ls"{\"a""#, "*+2 toolresult/tool []", "*=2 toolresult/tool! []"]);
}

fn command(text: &str) -> ToolCall {
    ToolCall::new("c", "bash").input(Some(ToolInput::Command(CommandInput::new(text))))
}

#[test]
fn a_command_that_runs_on_when_its_turn_ends_completes_later_whether_it_printed_or_not() {
    for output in [None, Some("on port 80")] {
        let mut play = Play::begun();
        play.agent(|s| s.turn_started(None, TurnMetadata::default())).agent(|s| s.tool_called("c", command("serve")));
        if let Some(output) = output {
            play.agent(|s| s.tool_output("c", output));
        }
        play.agent(|s| s.turn_ended(TurnEnd::new())).skip();
        // A later turn that is cut off does not end it.
        play.agent(|s| s.turn_started(None, TurnMetadata::default())).interrupt();
        play.agent(|s| s.turn_ended(TurnEnd::new()));
        play.shows(&["turn.started", "turn.ended Interrupted"]);
        play.agent(|s| s.tool_finished("c", ToolResult::ok("done").exit_code(Some(0))));
        let EventData::ItemCompleted(done) = &play.events.last().unwrap().data else { panic!("{:?}", play.events) };
        assert_eq!((done.item.kind.clone(), done.item.status.clone()), (ItemKind::ToolResult, ItemStatus::Completed));
        play.skip().shows(&[]);
    }
}

#[test]
fn a_command_is_cut_off_when_its_turn_is_or_its_process_ends() {
    for end in ["turn", "process"] {
        let mut play = Play::begun();
        play.agent(|s| s.turn_started(None, TurnMetadata::default())).agent(|s| s.tool_called("c", command("serve")));
        play.agent(|s| s.tool_output("c", "x"));
        match end {
            "turn" => play.interrupt().agent(|s| s.turn_ended(TurnEnd::new())),
            _ => play.agent(|s| s.turn_ended(TurnEnd::new())).exit(0),
        };
        let closed = play.events.iter().any(|event| {
            matches!(&event.data, EventData::ItemCompleted(done)
                if done.item.kind == ItemKind::ToolResult && done.item.status == ItemStatus::Failed)
        });
        assert!(closed, "{end}: {:?}", play.events);
        play.skip().shows(&[]);
    }
}

#[test]
fn paths_and_diffs_are_those_of_the_sessions_directory() {
    let mut play = Play::new();
    let mut metadata = SessionMetadata::default();
    metadata.cwd = Some("/w".to_owned());
    play.agent(|s| s.started(metadata));
    let mut change = FileChange::new("src/a.rs");
    change.diff = Some("@@ -1 +1 @@\n-a\n+b\n".to_owned());
    let input = ToolInput::FileChange(FileChangeInput::new(vec![change]));
    play.agent(|s| s.tool_called("e", ToolCall::new("e", "edit").input(Some(input))));
    let file =
        ContentPart::FileRef { path: "src/a.rs".into(), action: FileAction::Patch, diff: Some("@@ @@\n".into()) };
    play.agent(|s| s.tool_finished("e", ToolResult::ok("").with_part(file)));
    let parts: Vec<_> = play
        .events
        .iter()
        .filter_map(|event| match &event.data {
            EventData::ItemCompleted(done) => Some(done.item.content.clone()),
            _ => None,
        })
        .collect();
    let ContentPart::ToolCall { title, input: Some(input), .. } = &parts[0][0] else { panic!() };
    let ToolInput::FileChange(input) = &**input else { panic!("{input:?}") };
    assert_eq!(title.as_deref(), Some("Edit src/a.rs"));
    assert_eq!(input.changes[0].path, "/w/src/a.rs");
    assert_eq!(input.changes[0].diff.as_deref(), Some("--- a/src/a.rs\n+++ b/src/a.rs\n@@ -1 +1 @@\n-a\n+b\n"));
    let ContentPart::FileRef { path, diff, .. } = &parts[1][1] else { panic!() };
    assert_eq!((path.as_str(), diff.as_deref()), ("/w/src/a.rs", Some("--- a/src/a.rs\n+++ b/src/a.rs\n@@ @@\n")));
}
