//! Creating sessions.

use interlingua_runtime::{CreateSession, Environment, McpServers, RuntimeError, check_session_id};

use crate::test_runtime::{TestRuntime, event_types, events, mock};

#[tokio::test]
async fn a_new_session_has_its_first_event_and_metadata() {
    let test = TestRuntime::new();
    let create = mock()
        .title("A title".to_owned())
        .model("mock".to_owned())
        .directory(test.folder.path().to_str().unwrap().to_owned());
    let created = test.runtime.create("s".into(), create).await.unwrap();
    assert_eq!(created.native_session_id.unwrap().as_str(), "mock-s");
    let events = test.events().await;
    assert_eq!(event_types(&events), ["session.started"]);
    let started = serde_json::to_value(&events[0]).unwrap();
    let metadata = &started["data"]["metadata"];
    assert_eq!(
        (&metadata["agent"], &metadata["model"], &metadata["native"]["title"]),
        (&"mock".into(), &"mock".into(), &"A title".into())
    );
    let session = test.session("s").await;
    assert_eq!(session.native_session_id.unwrap().as_str(), "mock-s");
    assert_eq!(session.permission_mode.as_deref(), Some("default"));
}

#[tokio::test]
async fn one_of_many_concurrent_creations_of_an_id_succeeds() {
    let test = TestRuntime::new();
    let all: Vec<_> = (0..12)
        .map(|_| {
            let runtime = test.runtime.clone();
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
    assert_eq!(event_types(&test.events().await), ["session.started"]);
}

/// Whether an error is the expected one.
type IsExpected = Box<dyn Fn(&RuntimeError) -> bool>;

#[tokio::test]
async fn unsupported_options_are_refused_and_create_no_session() {
    let test = TestRuntime::new();
    let some = |value: &str| Some(value.to_owned());
    let invalid = |field: &'static str| move |error: &RuntimeError| matches!(error, RuntimeError::InvalidRequest(invalid) if invalid.field == Some(field));
    let cases: Vec<(CreateSession, IsExpected)> = vec![
        (
            CreateSession::new("unknown"),
            Box::new(|error| matches!(error, RuntimeError::UnsupportedAgent { known, .. } if known.contains(&"mock"))),
        ),
        (
            mock().agent_mode(some("custom")),
            Box::new(|error| matches!(error, RuntimeError::ModeNotSupported { field: "agentMode", .. })),
        ),
        (
            mock().permission_mode(some("yolo")),
            Box::new(|error| matches!(error, RuntimeError::ModeNotSupported { field: "permissionMode", .. })),
        ),
        (mock().model(some("gpt")), Box::new(invalid("model"))),
        (mock().variant(some("high")), Box::new(invalid("variant"))),
        (mock().agent_version(some("9.9.9")), Box::new(invalid("agentVersion"))),
        (mock().directory(some("/nowhere/at/all")), Box::new(invalid("directory"))),
        (mock().directory(some("Cargo.toml")), Box::new(invalid("directory"))),
        (mock().mcp(serde_json::from_str::<McpServers>(r#"{"x":{"command":"y"}}"#).unwrap()), Box::new(invalid("mcp"))),
        (
            mock().env([("A=B".to_owned(), "c".to_owned())].into_iter().collect::<Environment>()),
            Box::new(invalid("env")),
        ),
    ];
    for (create, is_expected) in cases {
        let error = test.runtime.create("s".into(), create.clone()).await.unwrap_err();
        assert!(is_expected(&error), "{create:?}: {error:?}");
        assert!(test.store.session(&"s".into()).await.unwrap().is_none());
    }
}

#[test]
fn a_session_id_has_1_to_256_bytes_without_control_characters() {
    for good in ["s", "a/b c?%", "ü", &"x".repeat(256)] {
        assert_eq!(check_session_id(&good.into()), Ok(()), "{good}");
    }
    for bad in ["", "a\nb", "\u{7f}", &"x".repeat(257), &"ü".repeat(129)] {
        assert!(check_session_id(&bad.into()).is_err(), "{bad}");
    }
}

#[tokio::test]
async fn the_events_of_two_sessions_do_not_mix() {
    let test = TestRuntime::new();
    test.create("s").await.unwrap();
    test.create("t").await.unwrap();
    test.run_turn("hello").await;
    assert_eq!(event_types(&events(&test.store, "t").await), ["session.started"]);
}

#[tokio::test]
async fn the_mock_agent_has_a_status_modes_and_models() {
    let test = TestRuntime::new();
    let [mock] = test.runtime.agents().try_into().unwrap();
    assert!(mock.installed && mock.credentials_available() && mock.version.is_some());
    let modes = test.runtime.modes("mock").await.unwrap();
    assert_eq!(modes.iter().map(|mode| mode.id.as_str()).collect::<Vec<_>>(), ["build", "plan"]);
    let offered = test.runtime.models("mock").await.unwrap();
    assert_eq!(offered.default_model.as_deref(), Some("mock"));
    test.runtime.install("mock", interlingua_runtime::InstallOptions::default()).await.unwrap();
    let missing = test.runtime.models("unknown").await.unwrap_err();
    assert!(matches!(missing, RuntimeError::UnsupportedAgent { .. }), "{missing:?}");
}
