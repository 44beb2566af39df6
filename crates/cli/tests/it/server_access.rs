//! The server's token is hidden from other users and from the programs of the same user.

use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use crate::server_process::ServerProcess;

const TOKEN: &str = "t0ken-for-tests";

/// Runs a server that does not start. Returns what it printed.
fn run_server(data_dir: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_interlingua"));
    command.args(["server", "--port", "0", "--data-dir"]).arg(data_dir).args(arguments).stdin(Stdio::null());
    command.env_remove("INTERLINGUA_TOKEN").output().unwrap()
}

#[test]
fn a_token_on_the_command_line_is_warned_about() {
    let folder = tempfile::tempdir().unwrap();
    // A data directory that is a file keeps the server from starting.
    let file = folder.path().join("file");
    std::fs::write(&file, "").unwrap();
    let output = run_server(&file, &["--token", TOKEN]);
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(stderr.contains("read the value of --token in the process list"), "{stderr}");
    assert!(!stderr.contains(TOKEN) && !stderr.contains("listens on"), "{stderr}");
}

#[test]
fn errors_of_the_server_are_one_line_with_one_cause_in_either_format() {
    let folder = tempfile::tempdir().unwrap();
    let token_file = folder.path().join("token");
    std::fs::write(&token_file, TOKEN).unwrap();
    std::fs::set_permissions(&token_file, std::fs::Permissions::from_mode(0o644)).unwrap();
    let token_file = token_file.to_str().unwrap();
    let empty_file = folder.path().join("empty");
    std::fs::write(&empty_file, "\n").unwrap();
    std::fs::set_permissions(&empty_file, std::fs::Permissions::from_mode(0o600)).unwrap();
    let empty_file = empty_file.to_str().unwrap();
    let cases: [(&[&str], &str); 7] = [
        (
            &["--token-file", empty_file],
            &format!("cannot use --token-file {empty_file}: the token is empty; set it to"),
        ),
        (&["--token", ""], "cannot use --token: the token is empty"),
        (&["--token-file", token_file], "chmod 600"),
        (&["--token-file", "/no/such/file"], "No such file or directory"),
        (&["--no-token", "--host", "0.0.0.0"], "without a token"),
        (&["--no-token", "--log", "a=b=c"], "--log"),
        (&[], "no token"),
    ];
    for (arguments, expected) in cases {
        let text = run_server(folder.path(), arguments);
        let stderr = String::from_utf8(text.stderr).unwrap();
        assert_eq!(text.status.code(), Some(2), "{arguments:?}: {stderr}");
        assert!(stderr.contains(expected) && !stderr.contains("listens on"), "{arguments:?}: {stderr}");
        assert!(stderr.matches("os error").count() <= 1 && !stderr.contains("Some("), "{arguments:?}: {stderr}");
        let json = run_server(folder.path(), &[arguments, &["--log-format", "json"]].concat());
        let stderr = String::from_utf8(json.stderr).unwrap();
        for line in stderr.lines() {
            let line: serde_json::Value = serde_json::from_str(line).unwrap_or_else(|_| panic!("{stderr}"));
            // The value of --token is warned about.
            assert!(line["level"] == "ERROR" || arguments.contains(&"--token"), "{stderr}");
        }
        assert!(stderr.contains(expected), "{arguments:?}: {stderr}");
    }
}

/// The user that the server runs as, if this test runs as root, which may read everything.
const UNPRIVILEGED_USER: u32 = 65_534;

#[cfg(target_os = "linux")]
#[test]
fn another_process_of_the_same_user_cannot_read_the_environment_of_the_server() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("interlingua");
    std::fs::copy(env!("CARGO_BIN_EXE_interlingua"), &program).unwrap();
    let data_dir = folder.path().join("data");
    std::fs::create_dir(&data_dir).unwrap();
    let is_root = std::os::unix::fs::MetadataExt::uid(&std::fs::metadata("/proc/self").unwrap()) == 0;
    let as_user = |command: &mut Command| {
        if is_root {
            command.uid(UNPRIVILEGED_USER).gid(UNPRIVILEGED_USER);
        }
    };
    if is_root {
        std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
        std::os::unix::fs::chown(&data_dir, Some(UNPRIVILEGED_USER), Some(UNPRIVILEGED_USER)).unwrap();
    }
    let mut command = Command::new(&program);
    command.args(["server", "--port", "0", "--data-dir"]).arg(&data_dir).current_dir("/").stdin(Stdio::null());
    as_user(command.env("INTERLINGUA_TOKEN", TOKEN));
    let server = ServerProcess::spawn(&mut command);
    for file in ["environ", "mem", "maps"] {
        let path = format!("/proc/{}/{file}", server.pid());
        let mut read = Command::new("head");
        as_user(read.args(["-c", "1", &path]));
        let output = read.output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert!(output.stdout.is_empty() && stderr.contains("Permission denied"), "{file}: {stderr}");
    }
}
