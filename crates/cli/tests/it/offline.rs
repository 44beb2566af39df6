//! The commands that need no server: `convert`, `check`, `show`, `schema` and `audit`.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use tempfile::TempDir;

const INIT: &str = r#"{"type":"system","subtype":"init","cwd":"/w","session_id":"T-1","tools":[],"mcp_servers":[]}"#;
const USER: &str = r#"{"type":"user","message":{"role":"user","content":[{"type":"text","text":"hi"}]},"parent_tool_use_id":null,"session_id":"T-1"}"#;
const ANSWER: &str = r#"{"type":"assistant","message":{"role":"assistant","content":[{"type":"text","text":"Hello."}],"usage":{"input_tokens":1,"output_tokens":2}},"session_id":"T-1"}"#;
const RESULT: &str = r#"{"type":"result","subtype":"success","is_error":false,"result":"Hello.","duration_ms":1,"num_turns":1,"session_id":"T-1"}"#;

/// Result of a run of the binary.
#[derive(Debug)]
struct Run {
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

fn run(arguments: &[&str]) -> Run {
    run_with(arguments, b"")
}

fn run_with(arguments: &[&str], input: &[u8]) -> Run {
    let mut child = Command::new(env!("CARGO_BIN_EXE_interlingua"))
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_vec();
    // The write fails if the program exits without reading its input.
    let writer = std::thread::spawn(move || drop(stdin.write_all(&input)));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    Run { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
}

fn write_file(dir: &TempDir, name: &str, content: impl AsRef<[u8]>) -> String {
    let path = dir.path().join(name);
    fs::write(&path, content).unwrap();
    path.to_str().unwrap().to_owned()
}

fn log() -> String {
    [INIT, USER, ANSWER, RESULT].join("\n") + "\n"
}

fn assert_one_line(run: &Run, code: i32, part: &str) {
    assert_eq!(run.code, Some(code), "{run:?}");
    assert_eq!(run.stderr.trim_end().lines().count(), 1, "{run:?}");
    assert!(run.stderr.contains(part), "{run:?}");
}

#[test]
fn converted_events_pass_the_check() {
    let converted = run_with(&["convert", "-"], log().as_bytes());
    assert_eq!(converted.code, Some(0), "{converted:?}");
    assert!(converted.stdout.lines().next().unwrap().contains(r#""type":"session.started""#));
    assert!(converted.stdout.lines().all(|line| line.ends_with(r#""raw":null}"#)));
    let checked = run_with(&["check", "-"], converted.stdout.as_bytes());
    assert_eq!((checked.code, checked.stdout.as_str()), (Some(0), ""), "{checked:?}");
}

#[test]
fn raw_keeps_the_bytes_and_pretty_indents() {
    let odd =
        r#"{"type" : "assistant","message":{"content":[{"text":"\u0041","type":"text"}]},"n":1.0, "session_id":"T-1"}"#;
    let raw = run_with(&["convert", "--raw", "-"], format!("{INIT}\n{odd}\n").as_bytes());
    assert!(raw.stdout.lines().last().unwrap().contains(odd), "{raw:?}");
    let pretty = run_with(&["convert", "--pretty", "-"], log().as_bytes());
    assert!(pretty.stdout.starts_with("{\n  \"event_id\""), "{pretty:?}");
}

#[test]
fn unparsed_payloads_are_events_and_strict_reports_them() {
    let broken = format!("{INIT}\nplain text\n{{\"type\":\"novelty\"}}\n{}", &ANSWER[..40]);
    let run = run_with(&["convert", "-"], broken.as_bytes());
    assert_eq!(run.code, Some(0), "{run:?}");
    assert_eq!(run.stdout.matches(r#""type":"agent.unparsed""#).count(), 3);
    let strict = run_with(&["convert", "--strict", "-"], broken.as_bytes());
    assert_eq!(strict.stdout, run.stdout);
    assert_eq!(strict.code, Some(1), "{strict:?}");
    assert!(strict.stderr.starts_with("-: 3 of 4 payloads could not be parsed completely\n"), "{strict:?}");
    assert!(strict.stderr.contains("\n  1x novelty: unknown type\n"), "{strict:?}");
    let damaged = ANSWER.replace(r#""content":["#, r#""content":[5,"#);
    let strict = run_with(&["convert", "--strict", "-"], format!("{INIT}\n{damaged}\n").as_bytes());
    assert_eq!(strict.code, Some(1), "{strict:?}");
    assert!(
        strict.stderr.contains("1x assistant: at message.content.0: expected an object, found a number"),
        "{strict:?}"
    );
}

/// Logs of sessions of their own. The events of the first and the fourth are larger than what may be queued for a log.
fn write_logs(dir: &TempDir) -> Vec<String> {
    let long_answer = ANSWER.replace("Hello.", &"x".repeat(50_000)) + "\n";
    let write = |index: usize| {
        let log = log() + &long_answer.repeat(if index.is_multiple_of(3) { 40 } else { 0 });
        write_file(dir, &format!("{index}.jsonl"), log.replace("T-1", &format!("T-{index}")))
    };
    (0..6).map(write).collect()
}

#[test]
fn several_logs_are_converted_in_the_order_of_the_arguments() {
    let dir = TempDir::new().unwrap();
    let logs = write_logs(&dir);
    for flag in [None, Some("--envelope")] {
        let convert = |logs: &[String]| {
            let logs = logs.iter().map(String::as_str);
            run(&["convert"].into_iter().chain(flag).chain(logs).collect::<Vec<_>>())
        };
        let together = convert(&logs);
        assert_eq!((together.code, together.stderr.as_str()), (Some(0), ""));
        let each: Vec<String> = logs.chunks(1).map(|log| convert(log).stdout).collect();
        assert!(flag.is_some() || each[0].len() > 3 << 19, "{}", each[0].len());
        assert_eq!(together.stdout, each.concat());
    }
}

#[test]
fn a_log_that_cannot_be_converted_does_not_stop_the_others() {
    let dir = TempDir::new().unwrap();
    let fine = write_file(&dir, "fine.jsonl", log());
    let broken = write_file(&dir, "broken.jsonl", format!("{INIT}\nplain text\n"));
    let missing = dir.path().join("missing.jsonl").to_str().unwrap().to_owned();
    let converted = run(&["convert", "--strict", &fine, &missing, &broken, &missing, "-"]);
    assert_eq!(converted.code, Some(2), "{converted:?}");
    assert_eq!(converted.stdout, run(&["convert", &fine]).stdout + &run(&["convert", &broken]).stdout);
    assert_eq!(converted.stderr.matches("error: cannot read ").count(), 2, "{converted:?}");
    assert!(
        converted.stderr.contains(&format!("{broken}: 1 of 2 payloads could not be parsed completely")),
        "{converted:?}"
    );
    assert!(converted.stderr.contains("error: cannot detect the agent of -"), "{converted:?}");
    let issues = run(&["convert", "--strict", &broken, &fine]);
    assert_eq!(issues.code, Some(1), "{issues:?}");
}

#[test]
fn several_logs_end_when_the_output_is_closed() {
    let dir = TempDir::new().unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_interlingua"))
        .arg("convert")
        .args(write_logs(&dir))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), String::from_utf8(output.stderr).unwrap().as_str()), (Some(0), ""));
}

#[test]
fn several_logs_are_audited_in_the_order_of_the_arguments() {
    let dir = TempDir::new().unwrap();
    let logs = write_logs(&dir);
    let arguments: Vec<&str> = std::iter::once("audit").chain(logs.iter().map(String::as_str)).collect();
    let each: Vec<String> = logs.iter().map(|log| run(&["audit", log]).stdout).collect();
    assert_eq!(run(&arguments).stdout, each.concat());
}

#[test]
fn a_violation_is_one_line_and_exit_code_1() {
    let events = run_with(&["convert", "-"], log().as_bytes()).stdout;
    let without_start: Vec<&str> = events.lines().skip(1).collect();
    let checked = run_with(&["check", "-"], without_start.join("\n").as_bytes());
    assert_eq!(checked.code, Some(1));
    assert!(checked.stdout.starts_with("L1 seq 2: "), "{checked:?}");
    let nonsense = run_with(&["check", "-"], b"{}\nnonsense\n\xff\n");
    assert_eq!((nonsense.code, nonsense.stdout.lines().count()), (Some(1), 3), "{nonsense:?}");
    assert!(nonsense.stdout.starts_with("line 1: expected a universal event"), "{nonsense:?}");
}

#[test]
fn check_of_an_agent_log_names_the_right_command() {
    let dir = TempDir::new().unwrap();
    let log = write_file(&dir, "log.jsonl", log());
    assert_one_line(&run(&["check", &log]), 2, "interlingua convert");
}

#[test]
fn an_error_is_one_line_and_exit_code_2() {
    let dir = TempDir::new().unwrap();
    let log = write_file(&dir, "log.jsonl", log());
    let ambiguous = write_file(&dir, "ambiguous.jsonl", "{\"type\":\"x\"}\n{\"type\":\"y\"}\n");
    let empty = write_file(&dir, "empty.jsonl", "");
    let binary = write_file(&dir, "binary", [0, 159, 146, 150, b'\n', 0xff, 0xfe]);
    let unknown = write_file(&dir, "unknown.jsonl", "{\"wirelog\":1,\"agent\":\"other\"}\n");
    let missing = dir.path().join("missing.jsonl");
    let missing = missing.to_str().unwrap();
    for command in ["convert", "show", "audit"] {
        assert_one_line(&run(&[command, "--agent", "other", &log]), 2, "unknown agent `other`");
        assert_one_line(&run(&[command, missing]), 2, "cannot read");
        assert_one_line(&run(&[command, dir.path().to_str().unwrap()]), 2, "it is a directory");
        assert_one_line(&run(&[command, &ambiguous]), 2, "--agent claude|codex|opencode|amp");
        assert_one_line(&run(&[command, &empty]), 2, "--agent");
        assert_one_line(&run(&[command, &binary]), 2, "--agent");
        assert_one_line(&run(&[command, &unknown]), 2, "unknown agent `other`");
    }
    assert_one_line(&run(&["check", missing]), 2, "cannot read");
}

#[test]
fn the_session_file_of_an_agent_is_refused() {
    let claude =
        r#"{"type":"queue-operation","operation":"enqueue","timestamp":"2026-01-01T00:00:00Z","sessionId":"0a1b"}"#;
    let resumed = r#"{"type":"summary","summary":"A title","leafUuid":"0a1b"}"#;
    let codex = r#"{"timestamp":"2026-01-01T00:00:00Z","type":"session_meta","payload":{"id":"0a1b"}}"#;
    for (line, agent, name) in
        [(claude, "claude", "Claude Code"), (resumed, "claude", "Claude Code"), (codex, "codex", "Codex")]
    {
        for command in ["convert", "show", "audit"] {
            let expected = format!("is a session file that {name} keeps on disk");
            assert_one_line(&run_with(&[command, "-"], line.as_bytes()), 2, &expected);
            assert_one_line(&run_with(&[command, "--agent", agent, "-"], line.as_bytes()), 2, &expected);
        }
    }
}

#[test]
fn an_empty_log_is_no_error_if_the_agent_is_given() {
    let run = run_with(&["convert", "--agent", "codex", "-"], b"");
    assert_eq!((run.code, run.stdout.as_str()), (Some(0), ""), "{run:?}");
    let audit = run_with(&["audit", "--agent", "codex", "-"], b"");
    assert_eq!(audit.code, Some(0), "{audit:?}");
    assert!(audit.stdout.contains("no payloads of the agent"), "{audit:?}");
}

#[test]
fn the_schema_is_json_and_contains_the_event_types() {
    let run = run(&["schema"]);
    let schema: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    assert!(schema["$schema"].is_string());
    assert!(run.stdout.contains("permission.resolved"));
}

#[test]
fn show_writes_an_html_or_markdown_file() {
    let dir = tempfile::tempdir().unwrap();
    let input = write_file(&dir, "hello.jsonl", log());
    let html = dir.path().join("hello.html");
    let html = html.to_str().unwrap();
    let written = run(&["show", &input, "--html", html]);
    assert_one_line(&written, 0, "wrote ");
    let page = fs::read_to_string(html).unwrap();
    assert!(page.starts_with("<!doctype html>") && page.ends_with("</html>\n"), "{page}");
    assert!(page.contains("<title>hello.jsonl</title>") && page.contains("<p>Hello.</p>"), "{page}");
    // The other ways to say it give the same page.
    assert_eq!(run(&["show", "--html", &input]).stdout, page);
    assert_eq!(run(&["show", &input, "--html"]).stdout, page);
    let markdown = run(&["show", &input, "--markdown"]);
    assert!(markdown.stdout.contains("## You\n\nhi\n"), "{markdown:?}");

    assert_one_line(&run(&["show", &input, "--html", &input]), 2, "is the log to read");
    assert_eq!(fs::read_to_string(&input).unwrap(), log());
    assert_one_line(&run(&["show", &input, "--html", "/no/such/folder/x.html"]), 2, "cannot write");
    assert_eq!(run(&["show", "--html"]).code, Some(2));
}

#[test]
fn show_prints_the_same_for_a_log_and_its_events() {
    let shown = run_with(&["show", "-"], log().as_bytes());
    assert_eq!(shown.code, Some(0), "{shown:?}");
    let expected = "── session ses_T-1 ──\nyou:\n  hi\nagent:\n  Hello.\n── 0.0 s, 1 tokens in, 2 out ──\n── 1 turn: 1 tokens in, 2 out ──\n";
    assert_eq!(shown.stdout, expected);
    let events = run_with(&["convert", "-"], log().as_bytes()).stdout;
    assert_eq!(run_with(&["show", "-"], events.as_bytes()).stdout, expected);
    let refused = run_with(&["convert", "-"], events.as_bytes());
    assert_one_line(&refused, 2, "already a universal event stream");
}

#[test]
fn audit_reports_what_does_not_match() {
    let fits = run_with(&["audit", "-"], log().as_bytes());
    assert_eq!(fits.code, Some(0), "{fits:?}");
    let new_field = log().replace("\"cwd\"", "\"brand_new\":[1],\"cwd\"");
    let lenient = run_with(&["audit", "-"], new_field.as_bytes());
    assert_eq!(lenient.code, Some(0));
    assert!(lenient.stdout.contains("+ brand_new = [1]"), "{lenient:?}");
    assert_eq!(run_with(&["audit", "--strict", "-"], new_field.as_bytes()).code, Some(1));
    for broken in ["{\"type\":\"novelty\",\"session_id\":\"T-1\"}\n", "{\"type\":\"assistant\",\"mess", "\u{1}\n[1]\n"]
    {
        let run = run_with(&["audit", "-"], format!("{INIT}\n{broken}").as_bytes());
        assert_eq!(run.code, Some(1), "{run:?}");
    }
    let text = run_with(&["audit", "-"], format!("{INIT}\nplain text\n").as_bytes());
    assert_eq!(text.code, Some(0));
    assert!(text.stdout.contains("1 not JSON"), "{text:?}");
}

#[test]
fn audit_with_json_prints_one_object_per_file() {
    let dir = TempDir::new().unwrap();
    let (one, two) =
        (write_file(&dir, "one", log()), write_file(&dir, "two", format!("{INIT}\n{{\"type\":\"novelty\"}}\n")));
    let run = run(&["audit", "--json", &one, &two, "missing"]);
    assert_eq!(run.code, Some(2));
    let files: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(files[0]["file"], one.as_str());
    assert_eq!(files[0]["agent"], "amp");
    let rows = files[1]["types"].as_array().unwrap();
    let row = rows.iter().find(|row| row["type"] == "novelty").unwrap();
    assert_eq!((&row["lines"], &row["decoded"], &row["unknown_tag"]), (&1.into(), &0.into(), &1.into()));
    assert!(row["unknown_fields"].is_object());
}

#[test]
fn lines_that_are_not_utf8_are_reported() {
    let mut log = log().into_bytes();
    log.extend_from_slice(b"\xff\xfe\n");
    let audit = run_with(&["audit", "-"], &log);
    assert_eq!(audit.code, Some(1), "{audit:?}");
    assert!(audit.stdout.contains("line 5: expected UTF-8"), "{audit:?}");
    let convert = run_with(&["convert", "-"], &log);
    assert_eq!(convert.code, Some(0));
    assert!(convert.stdout.contains("agent.unparsed"), "{convert:?}");
}

#[test]
fn a_line_of_50_mib_is_audited_and_one_of_70_mib_is_too_long() {
    let long = ANSWER.replace("Hello.", &"x".repeat(50 << 20));
    let audit = run_with(&["audit", "-"], format!("{INIT}\n{long}\n").as_bytes());
    assert_eq!(audit.code, Some(0), "{}", audit.stderr);
    assert!(audit.stdout.contains("assistant       1        1"), "{}", audit.stdout);
    let longer = "x".repeat(70 << 20);
    let audit = run_with(&["audit", "-"], format!("{INIT}\n{longer}\n").as_bytes());
    assert_eq!(audit.code, Some(1), "{}", audit.stderr);
    assert!(audit.stdout.contains("expected a line of at most"), "{}", audit.stdout);
}

#[test]
fn a_closed_output_is_no_error() {
    let long_log = log() + &format!("{ANSWER}\n").repeat(20_000);
    let mut child = Command::new(env!("CARGO_BIN_EXE_interlingua"))
        .args(["convert", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let mut stdin = child.stdin.take().unwrap();
    let writer = std::thread::spawn(move || drop(stdin.write_all(long_log.as_bytes())));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    assert_eq!((output.status.code(), output.stderr.as_slice()), (Some(0), &b""[..]));
}

#[test]
#[cfg(target_os = "linux")]
fn memory_does_not_grow_with_the_log() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_interlingua"))
        .args(["convert", "--agent", "amp", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let turn = log();
    let tool = r#"{"type":"assistant","message":{"content":[{"type":"tool_use","id":"TU-N","name":"Read","input":{"path":"/x"}}]},"session_id":"T-1"}"#;
    let result = r#"{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"TU-N","content":"ok"}]},"session_id":"T-1"}"#;
    let mut peak = 0;
    for number in 0..20_000 {
        stdin.write_all(turn.as_bytes()).unwrap();
        let id = format!("TU-{number}");
        stdin.write_all(format!("{tool}\n{result}\n").replace("TU-N", &id).as_bytes()).unwrap();
        if number % 5_000 == 4_999 {
            peak = resident_kib(child.id()).max(peak);
        }
    }
    drop(stdin);
    assert!(child.wait().unwrap().success());
    assert!(peak < 64 * 1024, "{peak} KiB");
}

#[cfg(target_os = "linux")]
fn resident_kib(process: u32) -> u64 {
    let status = fs::read_to_string(Path::new("/proc").join(process.to_string()).join("status")).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[test]
fn help_has_examples() {
    for command in ["convert", "check", "show", "schema", "audit"] {
        let help = run(&[command, "--help"]);
        assert!(help.stdout.contains("Example"), "{help:?}");
        assert!(help.stdout.contains(&format!("interlingua {command}")), "{help:?}");
    }
    assert!(run(&["--help"]).stdout.contains("Exit codes"));
}

#[test]
fn the_envelope_ends_with_the_completion_of_the_session() {
    let tool = r#"{"type":"assistant","message":{"content":[{"type":"tool_use","id":"TU-1","name":"Read","input":{"path":"/SECRET"}}]},"session_id":"T-1"}"#;
    let done = r#"{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"TU-1","content":"SECRET","is_error":false}]},"session_id":"T-1"}"#;
    let log = [INIT, USER, tool, done, ANSWER, RESULT].join("\n");
    let converted = run_with(&["convert", "--envelope", "-"], log.as_bytes());
    assert_eq!(converted.code, Some(0), "{converted:?}");
    assert!(!converted.stdout.contains("SECRET"), "{converted:?}");
    let lines: Vec<serde_json::Value> =
        converted.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let (completion, events) = lines.split_last().unwrap();
    assert!(events.iter().all(|event| event["agent_kind"] == "amp" && event["kind"].is_string()), "{converted:?}");
    let texts: Vec<_> = events.iter().filter(|event| event["kind"] == "TextOutput").collect();
    assert_eq!(texts.iter().map(|event| &event["channel"]).collect::<Vec<_>>(), ["user", "assistant"]);
    assert_eq!(texts[1]["text"], "Hello.");
    assert_eq!(events.iter().filter(|event| event["data"]["tool"]["tool_name"] == "Read").count(), 4);
    assert_eq!(completion["completion"]["status"], "completed");
    assert_eq!(completion["completion"]["final_text"], "Hello.");
    assert_eq!(completion["completion"]["data"]["thread_id"], "T-1");
    let pretty = run_with(&["convert", "--envelope", "--pretty", "-"], log.as_bytes());
    assert!(pretty.stdout.starts_with("{\n  \"agent_kind\": \"amp\""), "{pretty:?}");
}

#[test]
fn envelope_and_raw_exclude_each_other() {
    let refused = run_with(&["convert", "--envelope", "--raw", "-"], log().as_bytes());
    assert_one_line(&refused, 2, "leave out --raw or --envelope");
    assert_eq!(refused.stdout, "");
}

#[test]
fn the_envelope_has_its_own_schema() {
    let schema: serde_json::Value = serde_json::from_str(&run(&["schema", "--envelope"]).stdout).unwrap();
    assert_eq!(schema["title"], "EnvelopeLine");
    assert!(schema["$defs"]["AgentWrapperEvent"].is_object());
}
