//! `interlingua acp`, driven by a scripted client.

use std::collections::VecDeque;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use interlingua_native::Native as _;
use interlingua_native::acp::{AgentNotificationEnvelope, AgentRequestEnvelope};
use serde_json::{Value, json};
use tempfile::TempDir;

/// No answer takes this long unless it never comes.
const TIMEOUT: Duration = Duration::from_secs(60);

/// An editor with its `interlingua acp`.
struct Editor {
    child: Child,
    stdin: ChildStdin,
    lines: Receiver<String>,
    /// Notifications and requests of the agent that were not looked at yet.
    pending: VecDeque<Value>,
    requests: u64,
}

impl Editor {
    /// Starts with the mock agent on a data directory.
    fn start(data_dir: &Path, arguments: &[&str]) -> Self {
        Self::start_with("mock", data_dir, arguments)
    }

    fn start_with(agent: &str, data_dir: &Path, arguments: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_interlingua"));
        command.args(["acp", "--agent", agent, "--data-dir"]).arg(data_dir).args(arguments);
        command.env_remove("INTERLINGUA_TOKEN").env_remove("INTERLINGUA_ENDPOINT");
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in stdout.lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        let stdin = child.stdin.take().unwrap();
        Self { child, stdin, lines, pending: VecDeque::new(), requests: 0 }
    }

    /// As [`start`](Self::start), and initialized with these capabilities.
    fn connect(data_dir: &Path, capabilities: &Value) -> Self {
        let mut editor = Self::start(data_dir, &[]);
        let answer = editor.call("initialize", &json!({ "protocolVersion": 1, "clientCapabilities": capabilities }));
        assert_eq!(answer["result"]["protocolVersion"], 1, "{answer}");
        editor
    }

    fn send(&mut self, line: &Value) {
        writeln!(self.stdin, "{line}").unwrap();
    }

    /// Sends a request. Returns its id.
    fn request(&mut self, method: &str, params: &Value) -> u64 {
        self.requests += 1;
        let id = self.requests;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        id
    }

    fn read(&mut self) -> Value {
        let line = self.lines.recv_timeout(TIMEOUT).expect("the agent is silent");
        let value: Value = serde_json::from_str(&line).unwrap();
        // Every line fits the schema.
        if value.get("method").is_some() && value.get("id").is_some() {
            let decoded = AgentRequestEnvelope::decode(&line).unwrap();
            assert!(decoded.losses.is_empty(), "{line}: {:?}", decoded.losses);
        } else if value.get("method").is_some() {
            let decoded = AgentNotificationEnvelope::decode(&line).unwrap();
            assert!(decoded.losses.is_empty(), "{line}: {:?}", decoded.losses);
        }
        value
    }

    /// Waits for the answer to a request. Everything else is kept.
    fn answer(&mut self, id: u64) -> Value {
        loop {
            let line = self.read();
            if line.get("method").is_none() && line["id"] == id {
                return line;
            }
            self.pending.push_back(line);
        }
    }

    fn call(&mut self, method: &str, params: &Value) -> Value {
        let id = self.request(method, params);
        self.answer(id)
    }

    /// Waits for a notification or request of the agent. Those before it are dropped.
    fn wait_for(&mut self, is_wanted: impl Fn(&Value) -> bool) -> Value {
        loop {
            let line = match self.pending.pop_front() {
                Some(line) => line,
                None => self.read(),
            };
            if is_wanted(&line) {
                return line;
            }
        }
    }

    fn wait_for_method(&mut self, method: &str) -> Value {
        self.wait_for(|line| line["method"] == method)
    }

    /// Creates a session.
    fn open(&mut self, directory: &Path) -> String {
        let answer = self.call("session/new", &json!({ "cwd": directory, "mcpServers": [] }));
        answer["result"]["sessionId"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
    }

    fn prompt(&mut self, session: &str, text: &str) -> u64 {
        self.request("session/prompt", &json!({ "sessionId": session, "prompt": [{ "type": "text", "text": text }] }))
    }

    /// Chooses an option of a permission request.
    fn choose(&mut self, request: &Value, option: &str) {
        let outcome = json!({ "outcome": { "outcome": "selected", "optionId": option } });
        self.send(&json!({ "jsonrpc": "2.0", "id": request["id"], "result": outcome }));
    }

    /// The joined texts of the pending chunks of one kind.
    fn texts(&mut self, kind: &str) -> String {
        let updates = self.pending.drain(..).map(|line| line["params"]["update"].clone());
        let chunks = updates.filter(|update| update["sessionUpdate"] == kind);
        chunks.filter_map(|chunk| chunk["content"]["text"].as_str().map(str::to_owned)).collect()
    }

    fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Editor {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn folder() -> TempDir {
    TempDir::new().unwrap()
}

#[test]
fn a_prompt_streams_its_answer_and_ends() {
    let folder = folder();
    let mut editor = Editor::connect(folder.path(), &json!({}));
    let answer = editor.call("session/new", &json!({ "cwd": folder.path(), "mcpServers": [] }));
    let session = answer["result"]["sessionId"].as_str().unwrap().to_owned();
    assert_eq!(answer["result"]["modes"]["currentModeId"], "default");
    let id = editor.prompt(&session, "echo kiwi");
    assert_eq!(editor.answer(id)["result"]["stopReason"], "end_turn");
    assert_eq!(editor.texts("agent_message_chunk"), "kiwi");
    // The editor has the prompt already.
    let id = editor.prompt(&session, "echo plum");
    editor.answer(id);
    assert_eq!(editor.texts("user_message_chunk"), "");
}

#[test]
fn permissions_are_asked_and_the_answers_count() {
    let folder = folder();
    let mut editor = Editor::connect(folder.path(), &json!({}));
    let session = editor.open(folder.path());
    let id = editor.prompt(&session, "permission");
    for option in ["allow_once", "reject_once"] {
        let request = editor.wait_for_method("session/request_permission");
        assert_eq!(request["params"]["sessionId"], session.as_str());
        editor.choose(&request, option);
    }
    assert_eq!(editor.answer(id)["result"]["stopReason"], "end_turn");
}

#[test]
fn in_the_mode_bypass_nothing_is_asked() {
    let folder = folder();
    let mut editor = Editor::connect(folder.path(), &json!({}));
    let session = editor.open(folder.path());
    let answer = editor.call("session/set_mode", &json!({ "sessionId": session, "modeId": "bypass" }));
    assert_eq!(answer["result"], json!({}));
    let id = editor.prompt(&session, "permission");
    assert_eq!(editor.answer(id)["result"]["stopReason"], "end_turn");
    assert!(!editor.pending.iter().any(|line| line["method"] == "session/request_permission"));
    let wrong = editor.call("session/set_mode", &json!({ "sessionId": session, "modeId": "nonsense" }));
    assert_eq!(wrong["error"]["code"], -32602, "{wrong}");
}

#[test]
fn a_question_is_a_form_or_a_choice() {
    let folder = folder();
    let mut editor = Editor::connect(folder.path(), &json!({ "elicitation": { "form": {} } }));
    let session = editor.open(folder.path());
    let id = editor.prompt(&session, "question");
    for _ in 0..2 {
        let request = editor.wait_for_method("elicitation/create");
        let field = &request["params"]["requestedSchema"]["properties"]["answer"];
        let value = match field["type"].as_str() {
            Some("array") => json!([field["items"]["enum"][0]]),
            _ => field["enum"].get(0).cloned().unwrap_or_else(|| json!("kiwi")),
        };
        let result = json!({ "action": "accept", "content": { "answer": value } });
        editor.send(&json!({ "jsonrpc": "2.0", "id": request["id"], "result": result }));
    }
    assert_eq!(editor.answer(id)["result"]["stopReason"], "end_turn");
    drop(editor);

    let mut editor = Editor::connect(folder.path(), &json!({}));
    let session = editor.open(folder.path());
    let id = editor.prompt(&session, "question");
    for _ in 0..2 {
        let request = editor.wait_for_method("session/request_permission");
        editor.choose(&request, "0");
    }
    assert_eq!(editor.answer(id)["result"]["stopReason"], "end_turn");
}

#[test]
fn a_cancelled_prompt_ends_and_the_session_continues() {
    let folder = folder();
    let mut editor = Editor::start(folder.path(), &["--mock-pace", "100"]);
    editor.call("initialize", &json!({ "protocolVersion": 1 }));
    let session = editor.open(folder.path());
    let id = editor.prompt(&session, "markdown");
    let waiting = editor.prompt(&session, "echo later");
    editor.wait_for(|line| line["params"]["update"]["sessionUpdate"] == "agent_message_chunk");
    editor.send(&json!({ "jsonrpc": "2.0", "method": "session/cancel", "params": { "sessionId": session } }));
    let (mut reasons, mut open) = (Vec::new(), vec![id, waiting]);
    while !open.is_empty() {
        let line = editor.read();
        if line.get("method").is_none()
            && let Some(at) = open.iter().position(|id| line["id"] == *id)
        {
            open.remove(at);
            reasons.push(line["result"]["stopReason"].clone());
        }
    }
    assert_eq!(reasons, ["cancelled", "cancelled"]);
    let id = editor.prompt(&session, "echo on");
    assert_eq!(editor.answer(id)["result"]["stopReason"], "end_turn");
}

#[test]
fn a_failed_turn_is_an_error_of_its_prompt() {
    let folder = folder();
    let mut editor = Editor::connect(folder.path(), &json!({}));
    let session = editor.open(folder.path());
    let id = editor.prompt(&session, "error");
    let answer = editor.answer(id);
    assert_eq!(answer["error"]["code"], -32603, "{answer}");
    let id = editor.prompt(&session, "echo on");
    assert_eq!(editor.answer(id)["result"]["stopReason"], "end_turn");
}

#[test]
fn a_session_is_listed_and_loaded_after_the_process_was_killed() {
    let folder = folder();
    let mut editor = Editor::connect(folder.path(), &json!({}));
    let session = editor.open(folder.path());
    for text in ["echo kiwi", "tool"] {
        let id = editor.prompt(&session, text);
        editor.answer(id);
    }
    editor.kill();

    let mut editor = Editor::connect(folder.path(), &json!({}));
    let listed = editor.call("session/list", &json!({ "cwd": folder.path() }));
    assert_eq!(listed["result"]["sessions"][0]["sessionId"], session.as_str(), "{listed}");
    let loaded = editor.call("session/load", &json!({ "sessionId": session, "cwd": folder.path(), "mcpServers": [] }));
    assert!(loaded["result"]["modes"].is_object(), "{loaded}");
    let updates: Vec<Value> = editor.pending.iter().map(|line| line["params"]["update"].clone()).collect();
    let has = |key: &str, value: &str| updates.iter().any(|update| update[key] == value);
    assert!(has("sessionUpdate", "tool_call") && has("status", "completed"), "{updates:#?}");
    let texts: String = updates.iter().filter_map(|update| update["content"]["text"].as_str()).collect();
    assert!(texts.contains("echo kiwikiwi"), "{texts}");
    editor.pending.clear();
    let id = editor.prompt(&session, "echo on");
    assert_eq!(editor.answer(id)["result"]["stopReason"], "end_turn");
    assert_eq!(editor.texts("agent_message_chunk"), "on");

    let deleted = editor.call("session/delete", &json!({ "sessionId": session }));
    assert_eq!(deleted["result"], json!({}));
    let gone = editor.call("session/load", &json!({ "sessionId": session, "cwd": folder.path(), "mcpServers": [] }));
    assert_eq!(gone["error"]["code"], -32002, "{gone}");
}

#[test]
fn the_first_answer_of_two_clients_counts_and_the_other_is_told() {
    let folder = folder();
    let mut first = Editor::connect(folder.path(), &json!({}));
    let session = first.open(folder.path());
    let mut second = Editor::connect(folder.path(), &json!({}));
    let resumed = second.call("session/resume", &json!({ "sessionId": session, "cwd": folder.path() }));
    assert!(resumed["result"].is_object(), "{resumed}");
    let id = first.prompt(&session, "permission");
    // The other client sees the prompt, too.
    second.wait_for(|line| line["params"]["update"]["sessionUpdate"] == "user_message_chunk");
    let mut asked: Vec<Value> =
        (0..2).map(|_| first.wait_for_method("session/request_permission")["id"].clone()).collect();
    for _ in 0..2 {
        let request = second.wait_for_method("session/request_permission");
        second.choose(&request, "allow_once");
    }
    for _ in 0..2 {
        let withdrawn = first.wait_for_method("$/cancel_request")["params"]["requestId"].clone();
        asked.retain(|id| *id != withdrawn);
    }
    assert_eq!(asked, [Value::Null; 0]);
    assert_eq!(first.answer(id)["result"]["stopReason"], "end_turn");
}

#[test]
fn what_is_not_understood_is_refused() {
    let folder = folder();
    let mut editor = Editor::connect(folder.path(), &json!({}));
    assert_eq!(editor.call("no/such/method", &json!({}))["error"]["code"], -32601);
    let prompt = json!({ "sessionId": "nope", "prompt": [] });
    assert_eq!(editor.call("session/prompt", &prompt)["error"]["code"], -32002);
    let wrong = editor.call("session/new", &json!({ "cwd": "/no/such/folder", "mcpServers": [] }));
    assert_eq!(wrong["error"]["code"], -32602, "{wrong}");
    writeln!(editor.stdin, "{{broken").unwrap();
    assert_eq!(editor.wait_for(|line| line["error"].is_object())["error"]["code"], -32700);
    // The connection goes on.
    let session = editor.open(folder.path());
    let closed = editor.call("session/close", &json!({ "sessionId": session }));
    assert_eq!(closed["result"], json!({}));
    assert_eq!(editor.call("session/close", &json!({ "sessionId": session }))["error"]["code"], -32002);
}

#[test]
fn options_are_offered_and_changed() {
    let folder = folder();
    let mut editor = Editor::connect(folder.path(), &json!({}));
    let session = editor.open(folder.path());
    let set = |config: &str, value: &str| json!({ "sessionId": session, "configId": config, "value": value });
    let answer = editor.call("session/set_config_option", &set("mode", "plan"));
    let options = answer["result"]["configOptions"].as_array().unwrap_or_else(|| panic!("{answer}")).clone();
    assert!(options.iter().any(|option| option["id"] == "mode" && option["currentValue"] == "plan"), "{answer}");
    assert!(options.iter().any(|option| option["id"] == "agent" && option["currentValue"] == "mock"), "{answer}");
    let wrong = editor.call("session/set_config_option", &set("colour", "blue"));
    assert_eq!(wrong["error"]["code"], -32602, "{wrong}");
}

/// Parameters of `session/load` and `session/resume`.
fn opening(session: &str, directory: &Path) -> Value {
    json!({ "sessionId": session, "cwd": directory, "mcpServers": [] })
}

#[test]
fn a_client_that_opens_a_session_is_asked_what_waits_for_an_answer() {
    let folder = folder();
    let mut first = Editor::connect(folder.path(), &json!({}));
    let session = first.open(folder.path());
    let id = first.prompt(&session, "permission");
    first.wait_for_method("session/request_permission");
    for method in ["session/load", "session/resume"] {
        let mut other = Editor::connect(folder.path(), &json!({}));
        let opened = other.call(method, &opening(&session, folder.path()));
        assert!(opened["result"].is_object(), "{opened}");
        let request = other.wait_for_method("session/request_permission");
        other.choose(&request, "allow_once");
        // The first client sees the answer, and gets the next question.
        first.wait_for_method("$/cancel_request");
    }
    assert_eq!(first.answer(id)["result"]["stopReason"], "end_turn");
}

#[test]
fn a_question_is_asked_again_after_its_client_was_killed() {
    let folder = folder();
    let _server = Editor::connect(folder.path(), &json!({}));
    let mut first = Editor::connect(folder.path(), &json!({}));
    let session = first.open(folder.path());
    first.prompt(&session, "question");
    let asked = first.wait_for_method("session/request_permission");
    first.kill();
    let mut second = Editor::connect(folder.path(), &json!({}));
    second.call("session/load", &opening(&session, folder.path()));
    let again = second.wait_for_method("session/request_permission");
    assert_eq!(again["params"]["toolCall"]["title"], asked["params"]["toolCall"]["title"]);
}

#[test]
fn a_client_that_resumes_sees_the_rest_of_a_message() {
    let folder = folder();
    let mut first = Editor::start(folder.path(), &["--mock-pace", "50"]);
    first.call("initialize", &json!({ "protocolVersion": 1 }));
    let session = first.open(folder.path());
    let id = first.prompt(&session, "markdown");
    first.wait_for(|line| line["params"]["update"]["sessionUpdate"] == "agent_message_chunk");
    let mut second = Editor::connect(folder.path(), &json!({}));
    second.call("session/resume", &opening(&session, folder.path()));
    second.wait_for(|line| line["params"]["update"]["sessionUpdate"] == "agent_message_chunk");
    first.answer(id);
    assert!(first.texts("agent_message_chunk").ends_with(&second.texts("agent_message_chunk")));
}

/// An ACP agent that answers each prompt at once.
const TOY_AGENT: &str = r#"
while read -r line; do
    id=$(printf '%s' "$line" | sed 's/.*"id":\([0-9]*\).*/\1/')
    case "$line" in
        *'"initialize"'*) result='{"protocolVersion":1,"agentCapabilities":{"loadSession":true}}' ;;
        *'"session/new"'*) result='{"sessionId":"s"}' ;;
        *'"session/prompt"'*) result='{"stopReason":"end_turn"}' ;;
        *) result='{}' ;;
    esac
    echo '{"jsonrpc":"2.0","id":'"$id"',"result":'"$result"'}'
done
"#;

/// An editor with the toy agent.
fn connect_to_toy(data_dir: &Path) -> Editor {
    let program = data_dir.join("toy.sh");
    std::fs::write(&program, TOY_AGENT).unwrap();
    let command = format!("toy=sh {}", program.display());
    let mut editor = Editor::start_with("toy", data_dir, &["--acp-agent", &command]);
    editor.call("initialize", &json!({ "protocolVersion": 1 }));
    editor
}

#[test]
fn values_of_mcp_servers_are_passed_on_again_after_a_restart() {
    let folder = folder();
    let environment = json!([{ "name": "TOKEN", "value": "s3cret" }]);
    let servers = json!([{ "name": "tiny", "command": "/bin/true", "args": [], "env": environment }]);
    let mut editor = connect_to_toy(folder.path());
    let created = editor.call("session/new", &json!({ "cwd": folder.path(), "mcpServers": servers }));
    let session = created["result"]["sessionId"].as_str().unwrap_or_else(|| panic!("{created}")).to_owned();
    let id = editor.prompt(&session, "echo one");
    assert_eq!(editor.answer(id)["result"]["stopReason"], "end_turn");
    editor.kill();

    let mut editor = connect_to_toy(folder.path());
    // Without the values, a prompt fails at once instead of waiting for them.
    editor.call("session/load", &opening(&session, folder.path()));
    let id = editor.prompt(&session, "echo two");
    let refused = editor.answer(id);
    assert_eq!(refused["error"]["code"], -32602, "{refused}");
    assert!(refused["error"]["message"].as_str().unwrap().contains("mcp.tiny.env.TOKEN"), "{refused}");
    let loaded =
        editor.call("session/load", &json!({ "sessionId": session, "cwd": folder.path(), "mcpServers": servers }));
    assert!(loaded["result"].is_object(), "{loaded}");
    let id = editor.prompt(&session, "echo three");
    assert_eq!(editor.answer(id)["result"]["stopReason"], "end_turn");
}

#[test]
fn a_prompt_fails_when_the_server_ends_and_goes_on_with_the_next_server() {
    let folder = folder();
    let mut first = Editor::start(folder.path(), &["--mock-pace", "200"]);
    first.call("initialize", &json!({ "protocolVersion": 1 }));
    let mut second = Editor::connect(folder.path(), &json!({}));
    let session = second.open(folder.path());
    let id = second.prompt(&session, "markdown");
    second.wait_for(|line| line["params"]["update"]["sessionUpdate"] == "agent_message_chunk");
    first.kill();
    let answer = second.answer(id);
    assert!(
        answer["error"]["message"].as_str().is_some_and(|reason| reason.contains("the server is gone")),
        "{answer}"
    );
    // The next one that starts is the server.
    let mut third = Editor::connect(folder.path(), &json!({}));
    third.call("session/list", &json!({}));
    let id = second.prompt(&session, "echo on");
    assert_eq!(second.answer(id)["result"]["stopReason"], "end_turn");
}

#[test]
fn a_prompt_of_a_session_that_is_closed_or_deleted_is_cancelled() {
    let folder = folder();
    let mut editor = Editor::start(folder.path(), &["--mock-pace", "200"]);
    editor.call("initialize", &json!({ "protocolVersion": 1 }));
    for method in ["session/close", "session/delete"] {
        let session = editor.open(folder.path());
        let id = editor.prompt(&session, "markdown");
        editor.wait_for(|line| line["params"]["update"]["sessionUpdate"] == "agent_message_chunk");
        editor.request(method, &json!({ "sessionId": session }));
        assert_eq!(editor.answer(id)["result"]["stopReason"], "cancelled", "{method}");
    }
}

#[test]
fn a_mode_that_another_client_chooses_is_shown() {
    let folder = folder();
    let mut first = Editor::connect(folder.path(), &json!({}));
    let session = first.open(folder.path());
    let mut second = Editor::connect(folder.path(), &json!({}));
    second.call("session/resume", &opening(&session, folder.path()));
    first.call("session/set_mode", &json!({ "sessionId": session, "modeId": "plan" }));
    let own = first.wait_for(|line| line["params"]["update"]["sessionUpdate"] == "config_option_update");
    assert_eq!(own["params"]["update"]["configOptions"][0]["currentValue"], "plan");
    let id = first.prompt(&session, "echo kiwi");
    first.answer(id);
    let shown = second.wait_for(|line| line["params"]["update"]["sessionUpdate"] == "current_mode_update");
    assert_eq!(shown["params"]["update"]["currentModeId"], "plan");
    second.wait_for(|line| line["params"]["update"]["sessionUpdate"] == "config_option_update");
}

#[test]
fn malformed_requests_are_refused_and_the_connection_goes_on() {
    let folder = folder();
    let mut editor = Editor::connect(folder.path(), &json!({}));
    editor.stdin.write_all(b"{\"id\": \"\xff\xfe\"}\n").unwrap();
    assert_eq!(editor.wait_for(|line| line["error"].is_object())["error"]["code"], -32700);
    writeln!(editor.stdin, "[{}]", json!({ "jsonrpc": "2.0", "id": 1, "method": "session/list" })).unwrap();
    assert_eq!(editor.wait_for(|line| line["error"].is_object())["error"]["code"], -32600);
    for (method, params) in [
        ("session/new", json!({ "mcpServers": [] })),
        ("session/new", json!({ "cwd": "relative", "mcpServers": [] })),
        ("session/new", json!({ "cwd": folder.path(), "mcpServers": "x" })),
        ("session/prompt", json!({ "prompt": [{ "type": "text", "text": "echo" }] })),
    ] {
        let answer = editor.call(method, &params);
        assert_eq!(answer["error"]["code"], -32602, "{method} {params}: {answer}");
    }
    editor.open(folder.path());
}
