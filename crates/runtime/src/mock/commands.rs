//! The built-in commands of the mock agent: without a scenario, the first word of a message decides what it does.

use interlingua_convert::unified_diff;
use interlingua_schema::{ErrorCode, FileAction, QuestionOption, StatusLabel, ToolKind};
use serde_json::{Value, json};

use super::line::{File, Image};
use super::scenario::{Choice, MockError, Question, Status, Step, Tool};

/// A command: name, description and steps.
type Command = (&'static str, &'static str, fn() -> Vec<Step>);

/// The commands. `echo`, `say` and any other text are repeated; `flood` has a number.
const COMMANDS: [Command; 13] = [
    ("help", "lists these commands", help),
    ("markdown", "streams one message in 8 pieces", markdown),
    ("tool", "uses a tool that reads, writes and patches files", tool),
    ("status", "reports two status changes", status),
    ("image", "shows an image", image),
    ("reasoning", "streams reasoning, then answers", reasoning),
    ("unknown", "sends an item of an unknown kind", unknown),
    ("permission", "asks for two permissions", permission),
    ("question", "asks two questions", question),
    ("error", "fails the turn", error),
    ("unparsed", "prints a line that is not JSON, and continues", unparsed),
    ("example", "shows a typical turn: a plan, a command, a change, a question", example),
    ("demo", "does all of this, and ends the session", demo),
];

/// Name of the command that ends the session. It is not in the table.
const END: &str = "end";

/// The names of all commands.
pub(super) const NAMES: [&str; 17] = [
    "help",
    "echo",
    "say",
    "flood",
    "markdown",
    "tool",
    "status",
    "image",
    "reasoning",
    "unknown",
    "permission",
    "question",
    "error",
    "unparsed",
    "end",
    "example",
    "demo",
];

const EDIT: &str = "edit_files";
const SHELL: &str = "shell";
/// The names of the tools that the commands use.
pub(super) const TOOLS: [&str; 2] = [EDIT, SHELL];

/// An image of one pixel.
const PIXEL: &str = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+M8AAAMBAQDJ/pLvAAAAAElFTkSuQmCC";

/// What the mock agent does for a message.
#[derive(Debug, PartialEq)]
pub(super) struct TurnPlan {
    pub(super) steps: Vec<Step>,
    /// Whether the agent ends the session afterwards.
    pub(super) ends_session: bool,
}

/// Whether there is a command with this name.
pub(super) fn is_command(name: &str) -> bool {
    NAMES.contains(&name)
}

/// Decides what to do for a message.
pub(super) fn plan_turn(message: &str) -> TurnPlan {
    let message = message.trim();
    let (word, rest) = message.split_once(char::is_whitespace).unwrap_or((message, ""));
    let ends_session = word == END || word == "demo";
    let steps = match word {
        "echo" | "say" if !rest.trim().is_empty() => vec![Step::Say(rest.trim().to_owned())],
        "flood" => vec![Step::Flood(rest.trim().parse().unwrap_or(1))],
        END => vec![Step::Say("Goodbye.".to_owned())],
        _ => match COMMANDS.iter().find(|(name, _, _)| *name == word) {
            Some((_, _, steps)) => steps(),
            None if message.is_empty() => vec![Step::Say("You said nothing.".to_owned())],
            None => vec![Step::Say(message.to_owned())],
        },
    };
    TurnPlan { steps, ends_session }
}

fn help() -> Vec<Step> {
    let mut text = "I am the mock agent. The first word of a message tells me what to do:\n\n".to_owned();
    text.push_str("- `echo X`, `say X`: repeats X\n- `flood N`: streams N megabytes of text\n");
    for (name, description, _) in COMMANDS {
        text.extend(["- `", name, "`: ", description, "\n"]);
    }
    text.push_str("- `end`: ends the session\n\nI repeat anything else.");
    vec![Step::Say(text)]
}

fn markdown() -> Vec<Step> {
    let pieces = [
        "# A heading\n\n",
        "Some **bold** and some *slanted* words, ",
        "and `code` among them.\n\n",
        "1. one\n2. two\n",
        "   - and a half\n\n",
        "```rust\nfn main() {}\n```\n\n",
        "> A quotation.\n\n",
        "| a | b |\n|---|---|\n| 1 | 2 |\n",
    ];
    vec![Step::Stream(pieces.map(str::to_owned).to_vec())]
}

fn tool() -> Vec<Step> {
    let notes = unified_diff("notes.txt", None, Some("Buy milk.\n"));
    let before = "fn add(a: i32, b: i32) -> i32 {\n    a - b\n}\n";
    let after = "fn add(a: i32, b: i32) -> i32 {\n    a + b\n}\n";
    let add = unified_diff("src/add.rs", Some(before), Some(after));
    let arguments = json!({ "changes": [
        { "path": "notes.txt", "change": "create", "diff": notes },
        { "path": "src/add.rs", "change": "update", "diff": add },
    ] });
    let mut edit = new_tool(EDIT, ToolKind::FileChange, arguments);
    edit.files = vec![
        file("README.md", FileAction::Read, None),
        file("notes.txt", FileAction::Write, notes),
        file("src/add.rs", FileAction::Patch, add),
    ];
    vec![Step::Say("I fix the function.".to_owned()), Step::Tool(edit), Step::Say("Done.".to_owned())]
}

fn new_tool(name: &str, kind: ToolKind, arguments: Value) -> Tool {
    Tool {
        name: name.to_owned(),
        kind,
        arguments,
        permission: None,
        reason: None,
        background_ms: None,
        output: String::new(),
        exit_code: None,
        failed: false,
        files: Vec::new(),
    }
}

fn file(path: &str, action: FileAction, diff: Option<String>) -> File {
    File { path: path.to_owned(), action, diff }
}

fn status() -> Vec<Step> {
    let steps = json!([{ "content": "look", "status": "completed" }, { "content": "leap", "status": "in_progress" }]);
    let plan = Status { label: StatusLabel::Plan, detail: None, json: Some(json!({ "steps": steps })) };
    let notice = Status { label: StatusLabel::Notice, detail: Some("All is well.".to_owned()), json: None };
    vec![Step::Status(plan), Step::Status(notice), Step::Say("That is how things are.".to_owned())]
}

fn image() -> Vec<Step> {
    vec![Step::Image(Image { path: PIXEL.to_owned(), mime: Some("image/png".to_owned()) })]
}

fn reasoning() -> Vec<Step> {
    vec![
        Step::Think("The user wants to see me think. I think, therefore I stream.".to_owned()),
        Step::Say("I have thought about it.".to_owned()),
    ]
}

fn unknown() -> Vec<Step> {
    vec![Step::Unknown(json!({ "weather": "fine" })), Step::Say("Make of that what you like.".to_owned())]
}

fn permission() -> Vec<Step> {
    let mut command = new_tool(SHELL, ToolKind::Command, json!({ "command": "make test" }));
    command.permission = Some("make test".to_owned());
    command.reason = Some("The mock agent asks before it runs a command.".to_owned());
    command.output.push_str("12 passed\n");
    command.exit_code = Some(0);
    let diff = unified_diff("version.txt", Some("1\n"), Some("2\n"));
    let arguments = json!({ "changes": [{ "path": "version.txt", "change": "update", "diff": diff }] });
    let mut edit = new_tool(EDIT, ToolKind::FileChange, arguments);
    edit.permission = Some("edit version.txt".to_owned());
    edit.files = vec![file("version.txt", FileAction::Patch, diff)];
    vec![
        Step::Say("I need your permission for two things.".to_owned()),
        Step::Tools(vec![command, edit]),
        Step::Say("That was all I wanted to do.".to_owned()),
    ]
}

fn question() -> Vec<Step> {
    let databases = [("SQLite", "One file, no server"), ("Postgres", "A server of its own")];
    let features = [("Login", "Who is it?"), ("Logs", "What happened?"), ("Search", "Where is it?")];
    vec![
        Step::Ask(vec![
            vec![choices("Database", "Which database?", &databases, false)],
            vec![choices("Features", "Which features?", &features, true)],
        ]),
        Step::Say("Thank you, that is all I wanted to know.".to_owned()),
    ]
}

/// A question with these options and their descriptions.
fn choices(header: &str, prompt: &str, options: &[(&str, &str)], multiple: bool) -> Question {
    Question {
        prompt: prompt.to_owned(),
        options: options.iter().map(|(label, description)| choice(label, description)).collect(),
        header: Some(header.to_owned()),
        multiple,
        free_text: None,
        secret: false,
    }
}

fn choice(label: &str, description: &str) -> Choice {
    let mut option = QuestionOption::new(label);
    option.description = Some(description.to_owned());
    Choice::Described(option)
}

fn error() -> Vec<Step> {
    vec![Step::Error(mock_error(false))]
}

fn mock_error(aside: bool) -> MockError {
    MockError {
        message: "The mock agent fails, as it was told to.".to_owned(),
        code: ErrorCode::AgentError,
        aside,
        status: None,
        kind: Some("MockFailure".to_owned()),
        retryable: Some(false),
    }
}

fn unparsed() -> Vec<Step> {
    vec![Step::Unparsed("this is not JSON {".to_owned()), Step::Say("Never mind.".to_owned())]
}

fn example() -> Vec<Step> {
    let steps = ["Run the tests", "Fix the function", "Ask what is next"];
    let plan = |done: usize| {
        let state = |index| match index {
            _ if index < done => "completed",
            _ if index == done => "in_progress",
            _ => "pending",
        };
        let steps: Vec<Value> =
            (0..).zip(steps).map(|(index, step)| json!({ "content": step, "status": state(index) })).collect();
        Step::Status(Status { label: StatusLabel::Plan, detail: None, json: Some(json!({ "steps": steps })) })
    };
    let mut tests = new_tool(SHELL, ToolKind::Command, json!({ "command": "cargo test" }));
    tests.output.push_str("test adds_two_numbers ... FAILED\n  left: -1, right: 3\n");
    tests.exit_code = Some(101);
    let before = "fn add(a: i32, b: i32) -> i32 {\n    a - b\n}\n";
    let add = unified_diff("src/add.rs", Some(before), Some(&before.replace("a - b", "a + b")));
    let change = json!({ "path": "src/add.rs", "change": "update", "diff": add });
    let mut edit = new_tool(EDIT, ToolKind::FileChange, json!({ "changes": [change] }));
    edit.files = vec![file("src/add.rs", FileAction::Patch, add)];
    let next = [("Commit", "Save the change in git"), ("Stop", "Leave it as it is")];
    vec![
        Step::Think("A test fails. I look at the function that it calls.".to_owned()),
        plan(0),
        Step::Tool(tests),
        plan(1),
        Step::Say("`add` subtracts. I fix it.".to_owned()),
        Step::Tool(edit),
        plan(2),
        Step::Ask(vec![vec![choices("Next", "The function is fixed. What shall I do now?", &next, false)]]),
        plan(3),
        Step::Say(
            "Every agent shows its work in this form: text, plans, tools, changes, requests and usage.".to_owned(),
        ),
    ]
}

fn demo() -> Vec<Step> {
    let parts = [markdown(), reasoning(), tool(), status(), image(), unknown(), permission(), question(), unparsed()];
    let mut steps = vec![Step::Say("I'll run through everything I can do.".to_owned())];
    steps.extend(parts.into_iter().flatten());
    steps.push(Step::Error(mock_error(true)));
    steps.push(Step::Say("That was all.".to_owned()));
    steps
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_word_is_the_command_and_other_text_is_repeated() {
        for (message, reply) in [
            ("hello there", "hello there"),
            ("echo  hello ", "hello"),
            ("say a\nb", "a\nb"),
            ("echo", "echo"),
            ("helpful", "helpful"),
            ("end now", "Goodbye."),
        ] {
            assert_eq!(plan_turn(message).steps, [Step::Say(reply.to_owned())], "{message}");
        }
    }

    #[test]
    fn the_list_of_names_has_every_command() {
        for (name, _, _) in COMMANDS {
            assert!(is_command(name), "{name}");
        }
        assert_eq!(NAMES.len(), COMMANDS.len() + 4);
    }
}
