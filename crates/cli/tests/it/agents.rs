//! `interlingua agents` and `doctor`, with an npm that copies a folder.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

use crate::server_process::ServerProcess;

/// An npm that has one version of Codex. Like the real one, it takes the folder of `--prefix` from its own directory.
const NPM: &str = r#"#!/bin/sh
case "$1" in
--version) echo 11.0.0 ;;
view) echo '"9.9.9"' ;;
install) cp -R "$(dirname "$0")/node_modules" "$3/" ;;
esac
"#;
/// Codex. A login is noted beside the program.
const CODEX: &str = r#"#!/bin/sh
[ "$1" = --version ] && echo "codex-cli 9.9.9" && exit
echo "$*" >"$HOME/login"
"#;

/// A machine with npm and nothing else.
struct Machine {
    folder: TempDir,
}

impl Machine {
    fn new() -> Self {
        let machine = Self { folder: tempfile::tempdir().unwrap() };
        machine.write_program("bin/npm", NPM);
        machine.write_program("bin/node_modules/.bin/codex", CODEX);
        let manifest = r#"{"name": "@openai/codex", "version": "9.9.9"}"#;
        fs::create_dir_all(machine.path("bin/node_modules/@openai/codex")).unwrap();
        fs::write(machine.path("bin/node_modules/@openai/codex/package.json"), manifest).unwrap();
        fs::create_dir(machine.path("home")).unwrap();
        machine
    }

    fn path(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    fn write_program(&self, path: &str, text: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_interlingua"));
        command.args(arguments).current_dir(self.folder.path()).stdin(Stdio::null());
        command.env("PATH", format!("{}:/usr/bin:/bin", self.path("bin").display())).env("HOME", self.path("home"));
        for variable in ["XDG_DATA_HOME", "OPENAI_API_KEY", "CODEX_API_KEY", "CODEX_HOME", "INTERLINGUA_REPLAY"] {
            command.env_remove(variable);
        }
        command
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    /// Path of Codex according to `agents list`.
    fn codex(&self, arguments: &[&str]) -> Option<PathBuf> {
        let output = self.run(&[&["agents", "list", "--json"], arguments].concat());
        assert!(output.status.success(), "{output:?}");
        let list: Value = serde_json::from_slice(&output.stdout).unwrap();
        let codex = list["agents"].as_array().unwrap().iter().find(|agent| agent["id"] == "codex").unwrap();
        codex["path"].as_str().map(Into::into)
    }
}

fn assert_success(output: &Output) {
    assert!(output.status.success(), "{output:?}");
}

#[test]
fn an_agent_is_installed_into_a_relative_data_directory() {
    let machine = Machine::new();
    assert_success(&machine.run(&["agents", "install", "codex@9.9.9", "--data-dir", "data"]));
    let installed = machine.codex(&["--data-dir", "data"]).unwrap();
    assert!(installed.starts_with(machine.path("data/agents/codex/9.9.9")), "{}", installed.display());
}

/// As in the Docker image, whose data directory is a volume.
#[tokio::test]
async fn a_server_with_its_own_data_directory_finds_the_agents_in_the_default_one() {
    let machine = Machine::new();
    assert_success(&machine.run(&["agents", "install", "codex@9.9.9"]));
    let data = machine.path("data");
    let arguments = ["server", "--no-token", "--port", "0", "--data-dir", data.to_str().unwrap()];
    let server = ServerProcess::spawn(&mut machine.command(&arguments));
    let agents = server.client.agents().await.unwrap();
    let codex = agents.iter().find(|agent| agent.id == "codex").unwrap();
    assert!(codex.installed && codex.version.as_deref() == Some("9.9.9"), "{codex:?}");
    // An agent in the data directory itself is preferred.
    assert!(machine.codex(&["--data-dir", "data"]).unwrap().starts_with(machine.path("home")));
    assert_success(&machine.run(&["agents", "install", "codex@9.9.9", "--data-dir", "data"]));
    assert!(machine.codex(&["--data-dir", "data"]).unwrap().starts_with(&data));
}

#[test]
fn the_login_of_an_installed_agent_is_started() {
    let machine = Machine::new();
    let missing = machine.run(&["agents", "login", "codex"]);
    let stderr = String::from_utf8_lossy(&missing.stderr);
    assert_eq!(missing.status.code(), Some(2), "{missing:?}");
    assert!(stderr.contains("run `interlingua agents install codex`"), "{stderr}");
    assert_success(&machine.run(&["agents", "install", "codex@9.9.9"]));
    assert_success(&machine.run(&["agents", "login", "codex", "--", "--with-api-key"]));
    assert_eq!(fs::read_to_string(machine.path("home/login")).unwrap(), "login --with-api-key\n");
}

#[test]
fn the_doctor_says_what_is_missing_and_what_to_do() {
    let machine = Machine::new();
    let before = machine.run(&["doctor", "--port", "0"]);
    let text = String::from_utf8_lossy(&before.stdout).into_owned();
    assert_eq!(before.status.code(), Some(0), "{before:?}");
    assert!(text.contains("note     agents: none is installed") && text.contains("agents install codex"), "{text}");
    assert!(text.contains("ok       npm: 11.0.0"), "{text}");

    assert_success(&machine.run(&["agents", "install", "codex@9.9.9"]));
    let output = machine.run(&["doctor", "--port", "0", "--json"]);
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let check = |subject: &str| {
        let checks = report["checks"].as_array().unwrap();
        checks.iter().find(|check| check["subject"] == subject).unwrap_or_else(|| panic!("{subject}: {report}")).clone()
    };
    assert_eq!(check("codex")["state"], "note", "9.9.9 is newer than the supported version");
    assert_eq!(check("codex credentials")["remedy"], "run `interlingua agents login codex` or set OPENAI_API_KEY");

    // A program that does not start is a problem.
    let program = machine.codex(&[]).unwrap();
    fs::write(&program, "#!/bin/sh\nexit 1\n").unwrap();
    let broken = machine.run(&["doctor", "--port", "0"]);
    assert_eq!(broken.status.code(), Some(1), "{broken:?}");
    assert!(String::from_utf8_lossy(&broken.stdout).contains("codex --reinstall"), "{broken:?}");
}

#[test]
fn the_version_has_the_target_and_the_versions_of_the_agents() {
    let machine = Machine::new();
    let text = String::from_utf8(machine.run(&["--version"]).stdout).unwrap();
    let codex = interlingua_agent_schemas::find("codex").unwrap().agent_version;
    assert!(text.starts_with(concat!("interlingua ", env!("CARGO_PKG_VERSION"))), "{text}");
    assert!(text.contains("\ntarget ") && text.contains(&format!("\ncodex     {codex}\n")), "{text}");
    let short = String::from_utf8(machine.run(&["-V"]).stdout).unwrap();
    assert_eq!(short, concat!("interlingua ", env!("CARGO_PKG_VERSION"), "\n"));
}

#[test]
fn completions_and_manual_pages_have_all_commands() {
    let machine = Machine::new();
    for shell in ["bash", "zsh", "fish"] {
        let script = String::from_utf8(machine.run(&["completions", shell]).stdout).unwrap();
        assert!(script.contains("doctor") && script.contains("data-dir"), "{shell}");
    }
    assert_success(&machine.run(&["man", "man1"]));
    let page = |name: &str| fs::read_to_string(Path::new(&machine.path("man1")).join(name)).unwrap();
    assert!(page("interlingua.1").contains("interlingua\\-run(1)"));
    assert!(page("interlingua-agents-install.1").contains("reinstall"));
}
