//! Installing agents with an npm that does not run install scripts.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use interlingua_runtime::mock::MockDriver;
use interlingua_runtime::{AgentStatus, InstallOptions, LaunchConfig, RuntimeError, drivers, install};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::stand_in::supervisor;

/// A registry with one version, and an npm that copies the packages and runs none of their scripts.
struct Registry {
    folder: TempDir,
}

const NPM: &str = r#"#!/bin/sh
here=$(dirname "$0")
echo "$*" >>"$here/calls"
case "$1" in
view) cat "$here/$(echo "$2" | tr / _)" 2>/dev/null || { echo "npm error code E404" >&2; exit 1; } ;;
install) cp -R "$here/node_modules" "$3/" ;;
esac
"#;

impl Registry {
    /// `tags` are specs such as `@scope/name@latest` with the version that each stands for.
    fn new(tags: &[(&str, &str)]) -> Self {
        let registry = Self { folder: tempfile::tempdir().unwrap() };
        registry.write_program("npm", NPM);
        for (spec, version) in tags {
            fs::write(registry.folder.path().join(spec.replace('/', "_")), format!("\"{version}\"\n")).unwrap();
        }
        registry
    }

    fn write_program(&self, path: &str, text: &str) {
        let path = self.folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn write_package(&self, name: &str, manifest: &Value) {
        let folder = self.folder.path().join("node_modules").join(name);
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("package.json"), manifest.to_string()).unwrap();
    }

    /// Adds the stub that an install script would replace.
    fn write_stub(&self, program: &str) {
        self.write_program(&format!("node_modules/.bin/{program}"), "#!/bin/sh\necho not installed >&2\nexit 1\n");
    }

    async fn install(&self, agent: &str, version: Option<&str>, data: &Path) -> Result<AgentStatus, RuntimeError> {
        let path = format!("{}:/usr/bin:/bin", self.folder.path().display());
        let config = LaunchConfig::new(supervisor(), data).path(path);
        install(&config, agent, InstallOptions::new(version.map(str::to_owned), false), |_| ()).await
    }

    fn calls(&self) -> String {
        fs::read_to_string(self.folder.path().join("calls")).unwrap()
    }
}

const WORKING_PROGRAM: &str = "#!/bin/sh\necho 9.9.9\n";

#[tokio::test]
async fn the_platform_program_is_started_where_install_scripts_do_not_run() {
    let registry = Registry::new(&[("@anthropic-ai/claude-code@latest", "9.9.9")]);
    let platform = "@anthropic-ai/claude-code-test-x64";
    let manifest =
        json!({ "version": "9.9.9", "engines": { "node": ">=99" }, "optionalDependencies": { platform: "9.9.9" } });
    registry.write_package("@anthropic-ai/claude-code", &manifest);
    registry.write_package(platform, &json!({ "version": "9.9.9", "os": ["linux"] }));
    registry.write_stub("claude");
    registry.write_program(&format!("node_modules/{platform}/claude"), WORKING_PROGRAM);
    let data = tempfile::tempdir().unwrap();
    let status = registry.install("claude", Some("latest"), data.path()).await.unwrap();
    assert_eq!(status.version.as_deref(), Some("9.9.9"));
    assert!(status.path.unwrap().ends_with(format!("{platform}/claude")));
    // The version that the tag stands for is installed, not one that npm prefers.
    assert!(registry.calls().contains("--ignore-scripts"), "{}", registry.calls());
    assert!(registry.calls().contains("@anthropic-ai/claude-code@9.9.9"), "{}", registry.calls());
}

#[tokio::test]
async fn an_agent_is_found_under_its_other_package_name() {
    let registry = Registry::new(&[("@ampcode/cli@9.9.9", "9.9.9")]);
    let platform = "@ampcode/cli-test-x64";
    registry
        .write_package("@ampcode/cli", &json!({ "version": "9.9.9", "optionalDependencies": { platform: "9.9.9" } }));
    registry.write_package(platform, &json!({ "os": ["linux"] }));
    registry.write_program(&format!("node_modules/{platform}/amp"), WORKING_PROGRAM);
    let data = tempfile::tempdir().unwrap();
    let status = registry.install("amp", Some("9.9.9"), data.path()).await.unwrap();
    assert_eq!(status.version.as_deref(), Some("9.9.9"));
    let error = registry.install("amp", Some("1.0.0"), data.path()).await.unwrap_err().to_string();
    assert!(error.contains("no @sourcegraph/amp@1.0.0 and no @ampcode/cli@1.0.0"), "{error}");
}

#[tokio::test]
async fn a_release_without_a_program_for_this_machine_says_so_and_is_not_kept() {
    let registry = Registry::new(&[("opencode-ai@9.9.9", "9.9.9")]);
    registry.write_package("opencode-ai", &json!({ "version": "9.9.9" }));
    registry.write_stub("opencode");
    let data = tempfile::tempdir().unwrap();
    let error = registry.install("opencode", Some("9.9.9"), data.path()).await.unwrap_err().to_string();
    assert!(error.contains("no program that runs on this machine"), "{error}");
    assert_eq!(fs::read_dir(data.path().join("agents/opencode")).unwrap().count(), 0);
}

#[tokio::test]
async fn an_agent_of_scripts_that_needs_a_newer_node_is_refused_with_both_versions() {
    let registry = Registry::new(&[("@openai/codex@9.9.9", "9.9.9")]);
    registry.write_package("@openai/codex", &json!({ "version": "9.9.9", "engines": { "node": ">=99" } }));
    registry.write_program("node_modules/.bin/codex", WORKING_PROGRAM);
    registry.write_program("node", "#!/bin/sh\necho v20.1.0\n");
    let data = tempfile::tempdir().unwrap();
    let error = registry.install("codex", Some("9.9.9"), data.path()).await.unwrap_err().to_string();
    assert!(error.contains("needs Node.js >=99, but node on the PATH has version 20.1.0"), "{error}");
    // If the registry says so, nothing is downloaded.
    let described = json!({ "version": "9.9.8", "engines": { "node": ">=99" }, "bin": { "codex": "bin/codex.js" } });
    fs::write(registry.folder.path().join("@openai_codex@9.9.8"), described.to_string()).unwrap();
    let error = registry.install("codex", Some("9.9.8"), data.path()).await.unwrap_err().to_string();
    assert!(error.contains("@openai/codex@9.9.8 needs Node.js >=99"), "{error}");
    let installs = registry.calls().lines().filter(|call| call.starts_with("install")).count();
    assert_eq!(installs, 1, "{}", registry.calls());
}

#[tokio::test]
async fn an_agent_in_the_fallback_folder_is_found_and_another_version_is_preferred() {
    let registry = Registry::new(&[("@openai/codex@9.9.9", "9.9.9"), ("@openai/codex@9.9.8", "9.9.8")]);
    registry.write_package("@openai/codex", &json!({ "version": "9.9.9" }));
    registry.write_program("node_modules/.bin/codex", WORKING_PROGRAM);
    let (own, fallback) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    registry.install("codex", Some("9.9.9"), fallback.path()).await.unwrap();
    let path = format!("{}:/usr/bin:/bin", registry.folder.path().display());
    let config = LaunchConfig::new(supervisor(), own.path()).path(path).fallback_data_folder(fallback.path());
    let program = |version: &str| {
        let codex = drivers(&config, MockDriver::new()).into_iter().find(|driver| driver.id() == "codex").unwrap();
        let status = codex.status();
        assert_eq!(status.version.as_deref(), Some(version));
        status.path.unwrap()
    };
    assert!(program("9.9.9").starts_with(fallback.path()));
    let options = InstallOptions::new(Some("9.9.8".to_owned()), false);
    install(&config, "codex", options, |_| ()).await.unwrap();
    assert!(program("9.9.8").starts_with(own.path()));
    // A version is installed into the own folder, even if the fallback has it.
    let options = InstallOptions::new(Some("9.9.9".to_owned()), false);
    install(&config, "codex", options, |_| ()).await.unwrap();
    assert!(program("9.9.9").starts_with(own.path()));
}

#[tokio::test]
async fn the_default_version_of_an_adapter_can_be_installed() {
    let pinned = interlingua_agent_schemas::find("opencode").unwrap().agent_version;
    let registry = Registry::new(&[(&format!("opencode-ai@{pinned}"), pinned)]);
    registry.write_package("opencode-ai", &json!({ "version": pinned }));
    registry.write_program("node_modules/.bin/opencode", WORKING_PROGRAM);
    let data = tempfile::tempdir().unwrap();
    let status = registry.install("opencode-acp", None, data.path()).await.unwrap();
    assert_eq!(status.version.as_deref(), Some(pinned));
    assert_eq!(status.pinned_version.as_deref(), Some(pinned));
}
