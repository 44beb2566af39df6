use interlingua_schema::ContentPart;
use serde_json::{Value, json};

use super::{Converted, ONE_SHOT, assistant, convert, init, tool_call, tool_result};

fn run_tool(name: &str, input: Value, content: Value, is_error: bool, record: Value) -> Converted {
    convert(&ONE_SHOT, &[init(), tool_call("t", name, input), tool_result("t", content, is_error, record)])
}

fn result_line(converted: &Converted) -> String {
    converted.trace()[4].clone()
}

fn diff(converted: &Converted) -> Option<String> {
    converted.items().flat_map(|item| &item.content).find_map(|part| match part {
        ContentPart::FileRef { diff, .. } => diff.clone(),
        _ => None,
    })
}

#[test]
fn a_command_has_its_exit_code() {
    let run = |content: &str, failed, record| {
        result_line(&run_tool("Bash", json!({ "command": "x" }), json!(content), failed, record))
    };
    assert_eq!(
        run("hi", false, json!({ "stdout": "hi", "stderr": "", "interrupted": false })),
        "tool_result/tool [hi] exit 0"
    );
    assert_eq!(run("Exit code 3\noops", true, json!("Error: Exit code 3\noops")), "tool_result/tool! [oops] exit 3");
    let nothing = json!({ "stdout": "", "stderr": "", "returnCodeInterpretation": "No matches found" });
    assert_eq!(run("", false, nothing), "tool_result/tool! [] exit 1");
    let background = json!({ "stdout": "", "stderr": "", "backgroundTaskId": "b" });
    assert_eq!(run("moved", false, background), "tool_result/tool [moved]");
    assert_eq!(run("denied", true, json!("Error: denied")), "tool_result/tool! [denied]");
    // Older versions and sub-agents have no `tool_use_result`.
    assert_eq!(run("Exit code 3\noops", true, Value::Null), "tool_result/tool! [oops] exit 3");
    assert_eq!(run("(Bash completed with no output)", false, Value::Null), "tool_result/tool []");
}

#[test]
fn an_edit_has_the_agents_own_diff() {
    let hunk = json!({ "oldStart": 1, "oldLines": 2, "newStart": 1, "newLines": 2, "lines": [" a", "-b", "+c"] });
    let record = json!({ "filePath": "/w/f", "oldString": "b", "newString": "c", "originalFile": "a\nb\n", "structuredPatch": [hunk] });
    let converted = run_tool(
        "Edit",
        json!({ "file_path": "/w/f", "old_string": "b", "new_string": "c" }),
        json!("ok"),
        false,
        record,
    );
    assert_eq!(result_line(&converted), "tool_result/tool [] patch /w/f");
    assert_eq!(diff(&converted).unwrap(), "--- a/w/f\n+++ b/w/f\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n");
}

#[test]
fn an_edit_without_a_record_has_a_diff_made_from_its_arguments() {
    let converted = run_tool(
        "Edit",
        json!({ "file_path": "f", "old_string": "b\n", "new_string": "c\n" }),
        json!("ok"),
        false,
        Value::Null,
    );
    assert_eq!(diff(&converted).unwrap(), "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-b\n+c\n");
    let edits = json!({ "file_path": "f", "edits": [{ "old_string": "a\n", "new_string": "b\n" }, { "old_string": "c\n", "new_string": "d\n" }] });
    assert_eq!(
        diff(&run_tool("MultiEdit", edits, json!("ok"), false, Value::Null)).unwrap(),
        "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+b\n@@ -1 +1 @@\n-c\n+d\n"
    );
}

#[test]
fn a_new_file_and_a_rewritten_one_have_diffs() {
    let new =
        json!({ "type": "create", "filePath": "f", "content": "x\n", "structuredPatch": [], "originalFile": null });
    let converted = run_tool("Write", json!({ "file_path": "f", "content": "x\n" }), json!("ok"), false, new);
    assert_eq!(result_line(&converted), "tool_result/tool [] write f");
    assert_eq!(diff(&converted).unwrap(), "--- /dev/null\n+++ b/f\n@@ -0,0 +1 @@\n+x\n");
    let old =
        json!({ "type": "update", "filePath": "f", "content": "y\n", "structuredPatch": [], "originalFile": "x\n" });
    let converted = run_tool("Write", json!({ "file_path": "f", "content": "y\n" }), json!("ok"), false, old);
    assert_eq!(diff(&converted).unwrap(), "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-x\n+y\n");
}

#[test]
fn a_notebook_is_patched() {
    let record =
        json!({ "notebook_path": "n.ipynb", "new_source": "2", "original_file": "1\n", "updated_file": "2\n" });
    let converted =
        run_tool("NotebookEdit", json!({ "notebook_path": "n.ipynb", "new_source": "2" }), json!("ok"), false, record);
    assert_eq!(result_line(&converted), "tool_result/tool [] patch n.ipynb");
    assert_eq!(diff(&converted).unwrap(), "--- a/n.ipynb\n+++ b/n.ipynb\n@@ -1 +1 @@\n-1\n+2\n");
}

#[test]
fn a_read_names_its_file_unless_it_failed() {
    let record = json!({ "type": "text", "file": { "filePath": "/w/f", "content": "x" } });
    let input = json!({ "file_path": "/w/f" });
    assert_eq!(
        result_line(&run_tool("Read", input.clone(), json!("1\tx"), false, record)),
        "tool_result/tool [x] read /w/f"
    );
    assert_eq!(
        result_line(&run_tool("Read", input.clone(), json!("gone"), true, json!("Error: gone"))),
        "tool_result/tool! [gone]"
    );
    let image = json!([{ "type": "image", "source": { "type": "base64", "media_type": "image/png", "data": "AA==" } }]);
    let record = json!({ "type": "image", "file": { "base64": "AA==", "type": "image/png" } });
    assert_eq!(
        result_line(&run_tool("Read", input, image, false, record)),
        "tool_result/tool [] image image/png read /w/f"
    );
}

#[test]
fn todos_and_tasks_are_a_plan() {
    let todos = json!([{ "content": "Fix", "status": "pending", "activeForm": "Fixing" }]);
    let converted = run_tool(
        "TodoWrite",
        json!({ "todos": todos }),
        json!("ok"),
        false,
        json!({ "oldTodos": [], "newTodos": todos }),
    );
    assert_eq!(converted.trace()[5], "status plan: 0 of 1 done {}");
    let failed = run_tool("TodoWrite", json!({ "todos": todos }), json!("no such tool"), true, json!("Error"));
    assert_eq!(failed.trace().len(), 5);

    let converted = convert(
        &ONE_SHOT,
        &[
            init(),
            tool_call("a", "TaskCreate", json!({ "subject": "Fix" })),
            tool_result("a", json!("ok"), false, json!({ "task": { "id": "1", "subject": "Fix" } })),
            tool_call("b", "TaskUpdate", json!({ "taskId": "1", "status": "completed" })),
            tool_result("b", json!("ok"), false, json!({ "success": true, "taskId": "1" })),
            tool_call("c", "TaskList", json!({})),
            tool_result(
                "c",
                json!("ok"),
                false,
                json!({ "tasks": [{ "id": "1", "subject": "Fix", "status": "completed" }] }),
            ),
        ],
    );
    let plans: Vec<&Value> = converted
        .items()
        .flat_map(|item| &item.content)
        .filter_map(|part| match part {
            ContentPart::Json { json } => Some(json),
            _ => None,
        })
        .collect();
    let step = |status: &str| json!({ "steps": [{ "content": "Fix", "status": status }] });
    assert_eq!(plans, [&step("pending"), &step("completed")]);
}

#[test]
fn server_tools_have_calls_and_results() {
    let converted = convert(
        &ONE_SHOT,
        &[
            init(),
            assistant(
                "m",
                json!({ "type": "server_tool_use", "id": "w", "name": "web_search", "input": { "query": "q" } }),
            ),
            assistant(
                "m",
                json!({ "type": "web_search_tool_result", "tool_use_id": "w", "content": [{ "type": "web_search_result", "title": "T", "url": "http://x" }] }),
            ),
            assistant("m", json!({ "type": "server_tool_use", "id": "b", "name": "bash_code_execution", "input": {} })),
            assistant(
                "m",
                json!({ "type": "bash_code_execution_tool_result", "tool_use_id": "b", "content": { "type": "bash_code_execution_result", "stdout": "o", "stderr": "e", "return_code": 2 } }),
            ),
            assistant(
                "m",
                json!({ "type": "mcp_tool_use", "id": "c", "name": "add", "server_name": "tiny", "input": {} }),
            ),
            assistant(
                "m",
                json!({ "type": "mcp_tool_result", "tool_use_id": "c", "is_error": true, "content": [{ "type": "text", "text": "no" }] }),
            ),
        ],
    );
    let expected = [
        "tool_call/assistant web_search {\"query\":\"q\"}",
        "tool_result/tool [T\nhttp://x]",
        "tool_call/assistant bash_code_execution {}",
        "tool_result/tool! [o\ne] exit 2",
        "tool_call/assistant add {}",
        "tool_result/tool! [no]",
    ];
    assert_eq!(converted.trace()[3..], expected);
}

#[test]
fn the_output_of_a_tool_has_no_notes_for_the_model() {
    let reminder = "\n\n<system-reminder>\nDo not tell.\n</system-reminder>";
    let cases: [(&str, Value, String, bool, Value, &str); 11] = [
        (
            "Bash",
            json!({ "command": "x" }),
            format!("hi{reminder}"),
            false,
            json!({ "stdout": "hi", "stderr": "no\nShell cwd was reset to /w" }),
            "tool_result/tool [hi\nno] exit 0",
        ),
        ("Read", json!({ "file_path": "/f" }), format!("     1→a\n     2→b\n{reminder}"), false, Value::Null, "tool_result/tool [a\nb] read /f"),
        ("Grep", json!({ "pattern": "x" }), "No matches found".into(), false, Value::Null, "tool_result/tool []"),
        ("WebFetch", json!({ "url": "http://x" }), format!("A page.{reminder}"), false, json!({ "code": 200, "durationMs": 3 }), "tool_result/tool [A page.]"),
        ("TodoWrite", json!({ "todos": 1 }), "Todos have been modified successfully. Ensure that".into(), false, Value::Null, "tool_result/tool []"),
        ("levitate", json!({}), "<tool_use_error>Error: No such tool available: levitate</tool_use_error>".into(), true, json!("Error"), "tool_result/tool! [Error: No such tool available: levitate]"),
        (
            "Write",
            json!({ "file_path": "/f" }),
            "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. x). To tell you how to proceed, the user said:\nNot now.".into(),
            true,
            json!("User rejected tool use"),
            "tool_result/tool! [Not now.]",
        ),
        ("Bash", json!({ "command": "x", "run_in_background": true }), "Command running in background with ID: b1. Output is being written to: /x".into(), false, json!({ "stdout": "", "stderr": "", "backgroundTaskId": "b1" }), "tool_result/tool [Command running in background with ID: b1.]"),
        ("BashOutput", json!({ "bash_id": "b1" }), "<status>completed</status>\n\n<exit_code>3</exit_code>\n\n<stdout>\nhi\n</stdout>".into(), false, json!({ "stdout": "hi", "stderr": "", "exitCode": 3 }), "tool_result/tool [hi]"),
        (
            "Agent",
            json!({ "description": "no prompt" }),
            "[Subagent hand-back] x. The report follows:\n  Two lines.\nagentId: a".into(),
            false,
            json!({ "status": "completed", "harnessNoteCount": 1, "content": [{ "type": "text", "text": "note" }, { "type": "text", "text": "Two lines." }] }),
            "tool_result/tool [Two lines.]",
        ),
        ("Task", json!({ "description": "no prompt" }), "Done.\nagentId: a (for resuming)".into(), false, Value::Null, "tool_result/tool [Done.]"),
    ];
    for (name, input, content, is_error, record, expected) in cases {
        assert_eq!(result_line(&run_tool(name, input, json!(content), is_error, record)), expected, "{name}");
    }
}

#[test]
fn a_server_tool_with_an_unknown_outcome_is_failed() {
    let unknown = [
        json!({ "type": "web_search_tool_result", "tool_use_id": "w", "content": { "type": "brand_new" } }),
        json!({ "type": "web_fetch_tool_result", "tool_use_id": "w", "content": { "type": "brand_new" } }),
        json!({ "type": "mcp_tool_result", "tool_use_id": "w", "content": [] }),
        json!({ "type": "bash_code_execution_tool_result", "tool_use_id": "w", "content": { "type": "bash_code_execution_result", "stdout": "o" } }),
    ];
    for block in unknown {
        let call = json!({ "type": "server_tool_use", "id": "w", "name": "web_search", "input": { "query": "q" } });
        let converted = convert(&ONE_SHOT, &[init(), assistant("m", call), assistant("m", block.clone())]);
        assert!(result_line(&converted).starts_with("tool_result/tool!"), "{block}");
    }
}
