//! Skills of a session.

use std::fs;
use std::path::Path;

use interlingua_runtime::mock::MockDriver;
use interlingua_runtime::{LaunchConfig, RuntimeOptions, Supervisor, drivers};
use interlingua_server::{Access, ServerConfig};
use interlingua_store::StoreOptions;
use serde_json::{Value, json};

use crate::test_server::{TestServer, expect_problem, start, start_server};

fn write_skill(folder: &Path) {
    fs::create_dir_all(folder).unwrap();
    fs::write(folder.join("SKILL.md"), "# A skill").unwrap();
}

fn create(directory: &Path, sources: &Value) -> Value {
    json!({ "agent": "mock", "directory": directory, "skills": { "sources": sources } })
}

#[tokio::test]
async fn skills_are_linked_until_the_last_session_that_needs_them_ends() {
    let server = start_server().await;
    let folder = tempfile::tempdir().unwrap();
    let (source, work) = (folder.path().join("source"), folder.path().join("work"));
    write_skill(&source.join("skills/review"));
    write_skill(&source.join("skills/deploy"));
    fs::create_dir(&work).unwrap();
    let sources = json!([{ "type": "local", "source": source, "skills": ["review"] }]);
    for id in ["a", "b"] {
        let created = server.post(&format!("/v1/sessions/{id}"), create(&work, &sources)).await;
        assert_eq!(created.status(), 200, "{}", created.text().await.unwrap());
    }
    let link = work.join(".agents/skills/review");
    assert_eq!(fs::read_to_string(link.join("SKILL.md")).unwrap(), "# A skill");
    assert!(!work.join(".agents/skills/deploy").exists(), "only the chosen one");
    server.client.terminate("a").await.unwrap();
    tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    assert!(link.exists(), "the other session needs it");
    server.client.delete_session("b").await.unwrap();
    while link.is_symlink() {
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    assert!(source.join("skills/review/SKILL.md").exists());
    // The id that is taken leaves no link behind.
    server.create("taken").await;
    expect_problem(server.post("/v1/sessions/taken", create(&work, &sources)).await, 409, "session_already_exists")
        .await;
    assert!(!link.is_symlink());
}

#[tokio::test]
async fn skills_that_cannot_be_linked_are_refused_by_name() {
    let server = start_server().await;
    let folder = tempfile::tempdir().unwrap();
    let (source, work) = (folder.path().join("source"), folder.path().join("work"));
    write_skill(&source.join("one"));
    write_skill(&work.join(".agents/skills/one"));
    for (sources, status, expected) in [
        (json!([{ "type": "local", "source": source }]), 400, "`one`"),
        (json!([{ "type": "local", "source": "relative" }]), 400, "skills.sources[0]"),
        (json!([{ "type": "local", "source": source, "skills": ["two"] }]), 400, "no skill `two`"),
        (json!([{ "type": "local", "source": source, "subpath": "../.." }]), 400, "subpath"),
        (json!([{ "type": "local", "source": source, "ref": "main" }]), 400, "ref"),
        (json!([{ "type": "local", "source": work }]), 400, "SKILL.md"),
        (json!([{ "type": "github", "source": "not a name" }]), 400, "OWNER/REPOSITORY"),
        (json!([{ "type": "git", "source": "file:///none" }]), 400, "local folders only"),
        (json!([{ "type": "svn", "source": "x" }]), 422, "svn"),
        (json!([{ "source": "x" }]), 422, "type"),
        (json!([{ "type": "local", "source": "x", "unknown": 1 }]), 422, "unknown"),
    ] {
        let refused = server.post("/v1/sessions/s", create(&work, &sources)).await;
        let problem = expect_problem(refused, status, "invalid_request").await;
        let detail = problem["detail"].as_str().unwrap();
        assert!(detail.contains(expected), "{sources}: {problem}");
        assert!(problem["details"]["field"].as_str().unwrap().starts_with("skills"), "{problem}");
    }
    assert!(work.join(".agents/skills/one/SKILL.md").exists(), "the folder of the user is kept");
}

/// A server on which every agent seems to be installed.
async fn start_with_programs() -> (TestServer, tempfile::TempDir) {
    let programs = tempfile::tempdir().unwrap();
    for name in ["claude", "codex", "opencode", "amp", "gemini"] {
        let path = programs.path().join(name);
        fs::write(&path, "#!/bin/sh\nexit 1\n").unwrap();
        fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    }
    let data_dir = tempfile::tempdir().unwrap();
    let launch = LaunchConfig::new(Supervisor::new("false", [""; 0]), data_dir.path()).path(programs.path());
    let options = RuntimeOptions::default().skills_folder(Some(data_dir.path().join("skills")));
    let config = ServerConfig::new(Access::Loopback);
    let drivers = drivers(&launch, MockDriver::new());
    (start(data_dir, config, StoreOptions::default(), drivers, options).await, programs)
}

#[tokio::test]
async fn each_agent_has_its_own_folder_for_skills() {
    let (server, _programs) = start_with_programs().await;
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("review");
    write_skill(&source);
    let sources = json!([{ "type": "local", "source": source }]);
    for (agent, link) in [
        ("claude", ".claude/skills/review"),
        ("codex", ".agents/skills/review"),
        ("opencode", ".opencode/skill/review"),
        ("amp", ".agents/skills/review"),
    ] {
        let work = folder.path().join(agent);
        fs::create_dir(&work).unwrap();
        let mut body = create(&work, &sources);
        body["agent"] = agent.into();
        let created = server.post(&format!("/v1/sessions/{agent}"), body).await;
        assert_eq!(created.status(), 200, "{agent}: {}", created.text().await.unwrap());
        assert!(work.join(link).join("SKILL.md").exists(), "{agent}");
    }
    let mut body = create(folder.path(), &sources);
    body["agent"] = "gemini".into();
    let problem = expect_problem(server.post("/v1/sessions/g", body).await, 400, "invalid_request").await;
    assert_eq!(problem["details"]["field"], "skills");
    assert!(problem["detail"].as_str().unwrap().contains("gemini"), "{problem}");
}

#[tokio::test]
async fn options_of_mcp_servers_are_accepted_or_refused_by_name() {
    let (server, _programs) = start_with_programs().await;
    let local = json!({ "command": "tool", "cwd": "/", "enabled": true });
    let remote = json!({
        "type": "remote", "url": "http://x", "transport": "http", "envHeaders": { "X-Key": "KEY" },
        "bearerTokenEnvVar": "KEY", "oauth": false, "enabled": false,
    });
    let timeout = json!({ "command": "tool", "timeoutMs": 5000 });
    let oauth = json!({ "url": "http://x", "oauth": { "clientId": "c", "scope": "s" } });
    for (agent, supports_timeout, supports_oauth) in [
        ("claude", true, false),
        ("codex", true, false),
        ("opencode", true, true),
        ("amp", false, false),
        ("gemini", false, false),
    ] {
        for (name, mcp, is_supported, option) in [
            ("local", &local, true, ""),
            ("remote", &remote, true, ""),
            ("timeout", &timeout, supports_timeout, "timeoutMs"),
            ("oauth", &oauth, supports_oauth, "oauth"),
        ] {
            let body = json!({ "agent": agent, "env": { "KEY": "k" }, "mcp": { "x": mcp } });
            let answer = server.post(&format!("/v1/sessions/{agent}-{name}"), body).await;
            if is_supported {
                assert_eq!(answer.status(), 200, "{agent} {name}: {}", answer.text().await.unwrap());
            } else {
                let problem = expect_problem(answer, 400, "invalid_request").await;
                assert_eq!(problem["details"]["field"], "mcp");
                assert!(problem["detail"].as_str().unwrap().contains(&format!("`{option}` of `x`")), "{problem}");
            }
        }
    }
    for (mcp, status, expected) in [
        (json!({ "url": "http://x", "bearerTokenEnvVar": "NONE" }), 400, "`bearerTokenEnvVar` of the MCP server `x`"),
        (json!({ "url": "http://x", "oauth": { "clientSecret": "s3cret" } }), 422, "oauth.clientSecret"),
        (json!({ "command": "tool", "headers": { "A": "s3cret" } }), 422, "`headers`"),
        (json!({ "command": "tool", "restart": "s3cret" }), 422, "restart"),
        (json!({ "command": "tool", "env": "s3cret" }), 422, "expected shape"),
    ] {
        let body = json!({ "agent": "claude", "mcp": { "x": mcp } });
        let problem = expect_problem(server.post("/v1/sessions/refused", body).await, status, "invalid_request").await;
        assert!(problem["detail"].as_str().unwrap().contains(expected), "{problem}");
        assert!(!problem.to_string().contains("s3cret"), "{problem}");
    }
}
