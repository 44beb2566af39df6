use interlingua_runtime::{CreateSession, Environment, McpServers, RuntimeError, check_session_id};

use crate::stage::{Stage, events, kinds, mock};

#[tokio::test]
async fn a_new_session_has_started_and_knows_its_agent() {
    let stage = Stage::new();
    let create = mock()
        .title("A title".to_owned())
        .model("mock".to_owned())
        .directory(stage.folder.path().to_str().unwrap().to_owned());
    let created = stage.runtime.create("s".into(), create).await.unwrap();
    assert_eq!(created.native_session_id.unwrap().as_str(), "mock-s");
    let events = stage.events().await;
    assert_eq!(kinds(&events), ["session.started"]);
    let started = serde_json::to_value(&events[0]).unwrap();
    let metadata = &started["data"]["metadata"];
    assert_eq!(
        (&metadata["agent"], &metadata["model"], &metadata["native"]["title"]),
        (&"mock".into(), &"mock".into(), &"A title".into())
    );
    let session = stage.session("s").await;
    assert_eq!(session.native_session_id.unwrap().as_str(), "mock-s");
    assert_eq!(session.permission_mode.as_deref(), Some("default"));
}

#[tokio::test]
async fn of_many_that_create_one_id_one_succeeds() {
    let stage = Stage::new();
    let all: Vec<_> = (0..12)
        .map(|_| {
            let runtime = stage.runtime.clone();
            tokio::spawn(async move { runtime.create("s".into(), mock()).await })
        })
        .collect();
    let mut created = 0;
    for one in all {
        match one.await.unwrap() {
            Ok(_) => created += 1,
            Err(error) => assert_eq!(error, RuntimeError::SessionAlreadyExists("s".into())),
        }
    }
    assert_eq!(created, 1);
    assert_eq!(kinds(&stage.events().await), ["session.started"]);
}

/// Whether an error is the one that was expected.
type Judge = Box<dyn Fn(&RuntimeError) -> bool>;

#[tokio::test]
async fn what_cannot_be_honoured_is_refused_and_changes_nothing() {
    let stage = Stage::new();
    let text = |text: &str| Some(text.to_owned());
    let invalid = |field: &'static str| move |error: &RuntimeError| matches!(error, RuntimeError::InvalidRequest(invalid) if invalid.field == Some(field));
    let cases: Vec<(CreateSession, Judge)> = vec![
        (
            CreateSession::new("nobody"),
            Box::new(|error| matches!(error, RuntimeError::UnsupportedAgent { known, .. } if known.contains(&"mock"))),
        ),
        (
            mock().agent_mode(text("custom")),
            Box::new(|error| matches!(error, RuntimeError::ModeNotSupported { field: "agentMode", .. })),
        ),
        (
            mock().permission_mode(text("yolo")),
            Box::new(|error| matches!(error, RuntimeError::ModeNotSupported { field: "permissionMode", .. })),
        ),
        (mock().model(text("gpt")), Box::new(invalid("model"))),
        (mock().variant(text("high")), Box::new(invalid("variant"))),
        (mock().agent_version(text("9.9.9")), Box::new(invalid("agentVersion"))),
        (mock().directory(text("/nowhere/at/all")), Box::new(invalid("directory"))),
        (mock().directory(text("Cargo.toml")), Box::new(invalid("directory"))),
        (mock().mcp(serde_json::from_str::<McpServers>(r#"{"x":{"command":"y"}}"#).unwrap()), Box::new(invalid("mcp"))),
        (
            mock().env([("A=B".to_owned(), "c".to_owned())].into_iter().collect::<Environment>()),
            Box::new(invalid("env")),
        ),
    ];
    for (create, is_right) in cases {
        let error = stage.runtime.create("s".into(), create.clone()).await.unwrap_err();
        assert!(is_right(&error), "{create:?}: {error:?}");
        assert!(stage.store.session(&"s".into()).await.unwrap().is_none());
    }
}

#[test]
fn a_session_id_is_a_key_of_1_to_256_bytes_without_control_characters() {
    for good in ["s", "a/b c?%", "ü", &"x".repeat(256)] {
        assert_eq!(check_session_id(&good.into()), Ok(()), "{good}");
    }
    for bad in ["", "a\nb", "\u{7f}", &"x".repeat(257), &"ü".repeat(129)] {
        assert!(check_session_id(&bad.into()).is_err(), "{bad}");
    }
}

#[tokio::test]
async fn two_sessions_do_not_mix() {
    let stage = Stage::new();
    stage.create("s").await.unwrap();
    stage.create("t").await.unwrap();
    stage.turn("hello").await;
    assert_eq!(kinds(&events(&stage.store, "t").await), ["session.started"]);
}

#[tokio::test]
async fn the_mock_agent_tells_about_itself() {
    let stage = Stage::new();
    let [mock] = stage.runtime.agents().try_into().unwrap();
    assert!(mock.installed && mock.credentials_available() && mock.version.is_some());
    let modes = stage.runtime.modes("mock").await.unwrap();
    assert_eq!(modes.iter().map(|mode| mode.id.as_str()).collect::<Vec<_>>(), ["build", "plan"]);
    let offered = stage.runtime.models("mock").await.unwrap();
    assert_eq!(offered.default_model.as_deref(), Some("mock"));
    stage.runtime.install("mock", interlingua_runtime::InstallOptions::default()).await.unwrap();
    let missing = stage.runtime.models("nobody").await.unwrap_err();
    assert!(matches!(missing, RuntimeError::UnsupportedAgent { .. }), "{missing:?}");
}
