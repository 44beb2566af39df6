//! `refresh-schemas` against an npm that is a shell script: no network, no Node.
#![cfg(unix)]

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Plays npm. `FAKE_NPM` says how: `online` knows every version of opencode-ai and nothing else, `offline` knows
/// nothing, `broken` stops half way through an installation.
const NPM: &str = r#"#!/bin/sh
echo "$1" >> "$FAKE_NPM_CALLS"
case "$FAKE_NPM" in
offline)
    echo "npm error code ENOTFOUND" >&2
    echo "npm error syscall getaddrinfo" >&2
    exit 1 ;;
esac
if [ "$1" = view ]; then
    case "$3" in
    version) echo '"2.0.0"' ;;
    esac
    exit 0
fi
if [ "$FAKE_NPM" = broken ]; then
    mkdir -p node_modules/opencode-ai
    echo "npm error code EIO" >&2
    exit 1
fi
if ! grep -q opencode-ai package.json; then
    echo "npm error code E404" >&2
    exit 1
fi
version=$(sed -n 's/.*"opencode-ai": "\(.*\)".*/\1/p' package.json)
mkdir -p node_modules/opencode-ai node_modules/opencode-test-x64/bin
cat > package-lock.json <<LOCK
{"packages": {
  "node_modules/opencode-ai": {"version": "$version", "integrity": "sha512-$version", "license": "MIT"},
  "node_modules/opencode-test-x64": {"version": "$version", "integrity": "sha512-native-$version"}
}}
LOCK
cat <<'PROGRAM' | sed "s/VERSION/v$version/" > node_modules/opencode-test-x64/bin/opencode
#!/bin/sh
cat <<JSON
{"openapi": "3.1.0", "paths": {"/event": {"get": {"x-codeSamples": [], "responses": {}}}}, "components": {"schemas": {
  "Session": {"type": "object"}, "Part": {"type": "object"},
  "Event": {"type": "object", "properties": {"VERSION": {"type": "string"}, "id": {"type": "string"}}}}}}
JSON
PROGRAM
chmod +x node_modules/opencode-test-x64/bin/opencode
"#;

const MARKER: &str = "# ---- Below this line: written by hand, kept byte for byte. ----";
const HAND: &str = "\n# ours\n[types]\nroots   = ['Event']  # one\n";

/// A repository with two agents, and a machine with that npm.
struct Machine {
    folder: tempfile::TempDir,
}

impl Machine {
    fn new() -> Self {
        let machine = Self { folder: tempfile::tempdir().unwrap() };
        machine.write("repository/Cargo.toml", "");
        let source = |pins: &str| format!("{pins}\n{MARKER}\n{HAND}");
        machine.write(
            "repository/agent-schemas/opencode/source.toml",
            &source("[package.opencode-ai]\nversion = \"1.0.0\"\n"),
        );
        machine.write("repository/agent-schemas/opencode/schema.json", "{}\n");
        let mut pins = String::new();
        for name in [
            "@openai/codex",
            "@openai/codex-sdk",
            "@modelcontextprotocol/sdk",
            "ts-json-schema-generator",
            "typescript",
        ] {
            pins.push_str(&["[package.\"", name, "\"]\nversion = \"1.0.0\"\n"].concat());
        }
        machine.write("repository/agent-schemas/codex/source.toml", &source(&pins));
        machine.write("repository/agent-schemas/codex/schema.json", "{\"definitions\": {}}\n");
        machine.write("bin/npm", NPM);
        let permissions = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(machine.path("bin/npm"), permissions).unwrap();
        machine
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    fn run(&self, npm: &str, arguments: &[&str]) -> Output {
        let path = format!("{}:/usr/bin:/bin", self.path("bin").display());
        self.run_with_path(&path, npm, arguments)
    }

    fn run_with_path(&self, path: &str, npm: &str, arguments: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_xtask"))
            .current_dir(self.path("repository"))
            .env_clear()
            .env("PATH", path)
            .env("FAKE_NPM", npm)
            .env("FAKE_NPM_CALLS", self.path("calls"))
            .env("INTERLINGUA_CACHE_DIR", self.path("cache"))
            .args(arguments)
            .output()
            .unwrap()
    }

    /// Every file of the repository with its bytes.
    fn repository(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut files = BTreeMap::new();
        collect(&self.path("repository"), &mut files);
        files
    }
}

fn collect(folder: &Path, files: &mut BTreeMap<PathBuf, Vec<u8>>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, files);
        } else {
            files.insert(path.clone(), std::fs::read(&path).unwrap());
        }
    }
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn errors(output: &Output) -> Vec<String> {
    stderr(output).lines().filter(|line| line.starts_with("error")).map(str::to_owned).collect()
}

#[test]
fn without_npm_there_is_one_clear_line_and_nothing_is_touched() {
    let machine = Machine::new();
    let before = machine.repository();
    let output = machine.run_with_path("/nonexistent", "", &["refresh-schemas", "codex", "opencode"]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(
        errors(&output),
        [
            "error: npm is not on the PATH: install Node.js 20 or newer, which brings it (codex, opencode left as before)"
        ]
    );
    assert_eq!(machine.repository(), before);
}

#[test]
fn without_a_network_there_is_one_clear_line_and_npm_is_asked_once() {
    let machine = Machine::new();
    let before = machine.repository();
    for flags in [&["--check"][..], &["--latest"], &[]] {
        let _ = std::fs::remove_file(machine.path("calls"));
        let arguments = [&["refresh-schemas", "codex", "opencode"], flags].concat();
        let output = machine.run("offline", &arguments);
        assert_eq!(output.status.code(), Some(1), "{flags:?}");
        assert_eq!(
            errors(&output),
            ["error: npm cannot reach its registry (ENOTFOUND): check the network and npm's proxy settings \
              (codex, opencode left as before)"],
            "{flags:?}"
        );
        assert_eq!(machine.read("calls").lines().count(), 1, "{flags:?}");
        assert_eq!(machine.repository(), before, "{flags:?}");
    }
}

#[test]
fn an_agent_that_fails_leaves_its_files_and_the_others_alone() {
    let machine = Machine::new();
    let before = machine.repository();
    let output = machine.run("online", &["refresh-schemas", "codex", "opencode"]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(errors(&output), ["error: the registry has no @openai/codex@1.0.0 (codex left as before)"]);
    let after = machine.repository();
    for file in ["schema.json", "source.toml"] {
        let codex = machine.path("repository/agent-schemas/codex").join(file);
        assert_eq!(after[&codex], before[&codex]);
        let opencode = machine.path("repository/agent-schemas/opencode").join(file);
        assert_ne!(after[&opencode], before[&opencode]);
    }
    assert_eq!(after.len(), before.len(), "no other file appeared");
}

#[test]
fn a_second_pull_changes_nothing_and_needs_no_network() {
    let machine = Machine::new();
    let first = machine.run("online", &["refresh-schemas", "opencode"]);
    assert!(first.status.success(), "{}", stderr(&first));
    let source = machine.read("repository/agent-schemas/opencode/source.toml");
    assert!(source.ends_with(&format!("{MARKER}\n{HAND}")), "{source}");
    assert!(!machine.read("repository/agent-schemas/opencode/schema.json").contains("x-codeSamples"));

    let pulled = machine.repository();
    for flags in [&["--check"][..], &[]] {
        let again = machine.run("offline", &[&["refresh-schemas", "opencode"], flags].concat());
        assert!(again.status.success(), "{}", stderr(&again));
        assert_eq!(stdout(&again), "opencode 1.0.0: unchanged\n");
        assert_eq!(machine.repository(), pulled);
    }
}

#[test]
fn the_date_stays_until_something_is_new() {
    let machine = Machine::new();
    machine.run("online", &["refresh-schemas", "opencode"]);
    let name = "repository/agent-schemas/opencode/source.toml";
    let source = machine.read(name);
    let date = source.lines().find(|line| line.starts_with("date = ")).unwrap().to_owned();
    machine.write(name, &source.replace(&date, "date = \"2001-02-03\""));
    machine.run("online", &["refresh-schemas", "opencode"]);
    assert!(machine.read(name).contains("date = \"2001-02-03\""));
    machine.run("online", &["refresh-schemas", "opencode", "--version", "1.1.0"]);
    assert!(machine.read(name).contains(&date));
}

#[test]
fn a_schema_edited_by_hand_fails_the_check_which_shows_it_and_writes_nothing() {
    let machine = Machine::new();
    machine.run("online", &["refresh-schemas", "opencode"]);
    let name = "repository/agent-schemas/opencode/schema.json";
    let pulled = machine.read(name);
    machine.write(name, &pulled.replace("\"id\"", "\"edited\""));
    let before = machine.repository();

    let output = machine.run("online", &["refresh-schemas", "opencode", "--check"]);
    assert_eq!(output.status.code(), Some(1));
    let told = stdout(&output);
    assert!(told.contains("\n-          \"edited\": {\n"), "{told}");
    assert!(told.contains("\n+          \"id\": {\n"), "{told}");
    assert!(told.contains("  Event.edited: field probably renamed to `id` (string)\n"), "{told}");
    assert!(told.ends_with("to make it so: cargo xtask refresh-schemas opencode\n"), "{told}");
    assert_eq!(machine.repository(), before);

    assert!(machine.run("online", &["refresh-schemas", "opencode"]).status.success());
    assert_eq!(machine.read(name), pulled);
}

#[test]
fn moving_a_pin_reports_the_drift_and_keeps_what_is_written_by_hand() {
    let machine = Machine::new();
    machine.run("online", &["refresh-schemas", "opencode"]);
    let output = machine.run("online", &["refresh-schemas", "opencode", "--latest"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let told = stdout(&output);
    assert!(told.starts_with("opencode 1.0.0 → 2.0.0\ndrift of opencode: 1 breaking, 1 additive"), "{told}");
    let source = machine.read("repository/agent-schemas/opencode/source.toml");
    assert!(source.contains("[package.opencode-ai]\nversion = \"2.0.0\"\nintegrity = \"sha512-2.0.0\"\n"), "{source}");
    assert!(source.ends_with(&format!("{MARKER}\n{HAND}")), "{source}");
}

#[test]
fn an_installation_that_stops_half_way_leaves_nothing_in_the_cache() {
    let machine = Machine::new();
    let output = machine.run("broken", &["refresh-schemas", "opencode"]);
    assert_eq!(errors(&output), ["error: `npm install` failed: EIO (opencode left as before)"]);
    assert_eq!(std::fs::read_dir(machine.path("cache/npm")).unwrap().count(), 0);
    assert!(machine.run("online", &["refresh-schemas", "opencode"]).status.success());
}

#[test]
fn a_version_without_an_agent_and_an_unknown_agent_are_refused() {
    let machine = Machine::new();
    let output = machine.run("online", &["refresh-schemas", "--version", "1.2.3"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).starts_with("error: --version moves one agent: name it"), "{}", stderr(&output));
    let output = machine.run("online", &["refresh-schemas", "gemini"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("[possible values: claude, codex, opencode, amp]"), "{}", stderr(&output));
}
