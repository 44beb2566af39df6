//! `cargo xtask refresh-schemas` with a shell script in place of npm, without network and Node.
#![cfg(unix)]

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A replacement for npm. `FAKE_NPM` selects its behaviour: `online` has every version of opencode-ai and no other
/// package, `offline` cannot reach the registry, `broken` fails in the middle of an installation.
const FAKE_NPM: &str = r#"#!/bin/sh
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
const MANUAL_PART: &str = "\n# ours\n[types]\nroots   = ['Event']  # one\n";

/// A folder with a repository of two agents, the fake npm and a cache.
struct TestEnvironment {
    folder: tempfile::TempDir,
}

impl TestEnvironment {
    fn new() -> Self {
        let environment = Self { folder: tempfile::tempdir().unwrap() };
        environment.write("repository/Cargo.toml", "");
        let source = |pins: &str| format!("{pins}\n{MARKER}\n{MANUAL_PART}");
        environment.write(
            "repository/agent-schemas/opencode/source.toml",
            &source("[package.opencode-ai]\nversion = \"1.0.0\"\n"),
        );
        environment.write("repository/agent-schemas/opencode/schema.json", "{}\n");
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
        environment.write("repository/agent-schemas/codex/source.toml", &source(&pins));
        environment.write("repository/agent-schemas/codex/schema.json", "{\"definitions\": {}}\n");
        environment.write("bin/npm", FAKE_NPM);
        let permissions = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(environment.path("bin/npm"), permissions).unwrap();
        environment
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

    /// Every file of the repository with its content.
    fn repository_files(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut files = BTreeMap::new();
        read_files(&self.path("repository"), &mut files);
        files
    }
}

fn read_files(folder: &Path, files: &mut BTreeMap<PathBuf, Vec<u8>>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            read_files(&path, files);
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
fn without_npm_there_is_one_error_and_no_file_changes() {
    let environment = TestEnvironment::new();
    let before = environment.repository_files();
    let output = environment.run_with_path("/nonexistent", "", &["refresh-schemas", "codex", "opencode"]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(
        errors(&output),
        ["error: npm is not on the PATH: install Node.js 20 or newer, which includes npm (unchanged: codex, opencode)"]
    );
    assert_eq!(environment.repository_files(), before);
}

#[test]
fn without_a_network_there_is_one_error_and_npm_is_called_once() {
    let environment = TestEnvironment::new();
    let before = environment.repository_files();
    for flags in [&["--check"][..], &["--latest"], &[]] {
        let _ = std::fs::remove_file(environment.path("calls"));
        let arguments = [&["refresh-schemas", "codex", "opencode"], flags].concat();
        let output = environment.run("offline", &arguments);
        assert_eq!(output.status.code(), Some(1), "{flags:?}");
        assert_eq!(
            errors(&output),
            ["error: npm cannot reach its registry (ENOTFOUND): check the network and npm's proxy settings \
              (unchanged: codex, opencode)"],
            "{flags:?}"
        );
        assert_eq!(environment.read("calls").lines().count(), 1, "{flags:?}");
        assert_eq!(environment.repository_files(), before, "{flags:?}");
    }
}

#[test]
fn a_failed_agent_keeps_its_files_and_does_not_affect_the_others() {
    let environment = TestEnvironment::new();
    let before = environment.repository_files();
    let output = environment.run("online", &["refresh-schemas", "codex", "opencode"]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(errors(&output), ["error: the npm registry has no @openai/codex@1.0.0 (unchanged: codex)"]);
    let after = environment.repository_files();
    for file in ["schema.json", "source.toml"] {
        let codex = environment.path("repository/agent-schemas/codex").join(file);
        assert_eq!(after[&codex], before[&codex]);
        let opencode = environment.path("repository/agent-schemas/opencode").join(file);
        assert_ne!(after[&opencode], before[&opencode]);
    }
    assert_eq!(after.len(), before.len(), "no file was added");
}

#[test]
fn a_second_pull_changes_nothing_and_needs_no_network() {
    let environment = TestEnvironment::new();
    let first = environment.run("online", &["refresh-schemas", "opencode"]);
    assert!(first.status.success(), "{}", stderr(&first));
    let source = environment.read("repository/agent-schemas/opencode/source.toml");
    assert!(source.ends_with(&format!("{MARKER}\n{MANUAL_PART}")), "{source}");
    assert!(!environment.read("repository/agent-schemas/opencode/schema.json").contains("x-codeSamples"));

    let pulled = environment.repository_files();
    for flags in [&["--check"][..], &[]] {
        let again = environment.run("offline", &[&["refresh-schemas", "opencode"], flags].concat());
        assert!(again.status.success(), "{}", stderr(&again));
        assert_eq!(stdout(&again), "opencode 1.0.0: unchanged\n");
        assert_eq!(environment.repository_files(), pulled);
    }
}

#[test]
fn the_date_changes_only_with_a_schema_or_version() {
    let environment = TestEnvironment::new();
    environment.run("online", &["refresh-schemas", "opencode"]);
    let name = "repository/agent-schemas/opencode/source.toml";
    let source = environment.read(name);
    let date = source.lines().find(|line| line.starts_with("date = ")).unwrap().to_owned();
    environment.write(name, &source.replace(&date, "date = \"2001-02-03\""));
    environment.run("online", &["refresh-schemas", "opencode"]);
    assert!(environment.read(name).contains("date = \"2001-02-03\""));
    environment.run("online", &["refresh-schemas", "opencode", "--version", "1.1.0"]);
    assert!(environment.read(name).contains(&date));
}

#[test]
fn check_shows_a_manually_edited_schema_and_writes_nothing() {
    let environment = TestEnvironment::new();
    environment.run("online", &["refresh-schemas", "opencode"]);
    let name = "repository/agent-schemas/opencode/schema.json";
    let pulled = environment.read(name);
    environment.write(name, &pulled.replace("\"id\"", "\"edited\""));
    let before = environment.repository_files();

    let output = environment.run("online", &["refresh-schemas", "opencode", "--check"]);
    assert_eq!(output.status.code(), Some(1));
    let report = stdout(&output);
    assert!(report.contains("\n-          \"edited\": {\n"), "{report}");
    assert!(report.contains("\n+          \"id\": {\n"), "{report}");
    assert!(report.contains("  Event.edited: field probably renamed to `id` (string)\n"), "{report}");
    assert!(report.ends_with("to update it, run: cargo xtask refresh-schemas opencode\n"), "{report}");
    assert_eq!(environment.repository_files(), before);

    assert!(environment.run("online", &["refresh-schemas", "opencode"]).status.success());
    assert_eq!(environment.read(name), pulled);
}

#[test]
fn moving_a_pin_reports_the_changes_and_keeps_the_manual_part() {
    let environment = TestEnvironment::new();
    environment.run("online", &["refresh-schemas", "opencode"]);
    let output = environment.run("online", &["refresh-schemas", "opencode", "--latest"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let report = stdout(&output);
    assert!(
        report.starts_with("opencode 1.0.0 → 2.0.0\nschema changes of opencode: 1 breaking, 1 additive"),
        "{report}"
    );
    let source = environment.read("repository/agent-schemas/opencode/source.toml");
    assert!(source.contains("[package.opencode-ai]\nversion = \"2.0.0\"\nintegrity = \"sha512-2.0.0\"\n"), "{source}");
    assert!(source.ends_with(&format!("{MARKER}\n{MANUAL_PART}")), "{source}");
}

#[test]
fn an_interrupted_installation_leaves_nothing_in_the_cache() {
    let environment = TestEnvironment::new();
    let output = environment.run("broken", &["refresh-schemas", "opencode"]);
    assert_eq!(errors(&output), ["error: `npm install` failed: EIO (unchanged: opencode)"]);
    assert_eq!(std::fs::read_dir(environment.path("cache/npm")).unwrap().count(), 0);
    assert!(environment.run("online", &["refresh-schemas", "opencode"]).status.success());
}

#[test]
fn a_version_without_an_agent_and_an_unknown_agent_are_errors() {
    let environment = TestEnvironment::new();
    let output = environment.run("online", &["refresh-schemas", "--version", "1.2.3"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).starts_with("error: --version needs exactly one agent"), "{}", stderr(&output));
    let output = environment.run("online", &["refresh-schemas", "gemini"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("[possible values: claude, codex, opencode, amp, acp]"), "{}", stderr(&output));
}
