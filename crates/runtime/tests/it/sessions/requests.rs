use interlingua_runtime::{PermissionReply, RuntimeError};
use interlingua_schema::{
    ApprovalScope, EventData, ItemKind, ItemStatus, PermissionStatus, QuestionStatus, TurnStatus, UniversalEvent,
};

use crate::stage::{Stage, decisions, is_turn_end, mock, nth, permissions, questions, status};

/// How tools ended, in order.
fn results(events: &[UniversalEvent]) -> Vec<ItemStatus> {
    events
        .iter()
        .filter_map(|event| match &event.data {
            EventData::ItemCompleted(done) if done.item.kind == ItemKind::ToolResult => Some(done.item.status.clone()),
            _ => None,
        })
        .collect()
}

#[tokio::test]
async fn a_turn_goes_on_when_both_permissions_are_answered() {
    let stage = Stage::new().created().await;
    stage.send("permission").await.unwrap();
    let asked = permissions(&stage.until(nth("permission.requested", 2)).await);
    let id = "s".into();
    stage.runtime.reply_permission(&id, &asked[1], PermissionReply::Reject).await.unwrap();
    stage.runtime.reply_permission(&id, &asked[0], PermissionReply::Once).await.unwrap();
    let events = stage.until(is_turn_end).await;
    assert_eq!(decisions(&events), [PermissionStatus::Denied, PermissionStatus::Approved]);
    assert_eq!(results(&events), [ItemStatus::Completed, ItemStatus::Failed]);
    assert_eq!(status(&events), Some(TurnStatus::Completed));
    stage.assert_rules().await;
}

#[tokio::test]
async fn what_was_allowed_always_is_not_asked_again() {
    let stage = Stage::new().created().await;
    stage.send("permission").await.unwrap();
    let asked = permissions(&stage.until(nth("permission.requested", 2)).await);
    for permission in &asked {
        stage.runtime.reply_permission(&"s".into(), permission, PermissionReply::Always).await.unwrap();
    }
    let events = stage.until(is_turn_end).await;
    let scopes: Vec<_> = events
        .iter()
        .filter_map(|event| match &event.data {
            EventData::PermissionResolved(permission) => {
                permission.metadata.as_ref().and_then(|about| about.scope.clone())
            }
            _ => None,
        })
        .collect();
    assert_eq!(scopes, [ApprovalScope::Session, ApprovalScope::Session]);
    let again = stage.turn("permission").await;
    assert_eq!(permissions(&again), [""; 0]);
    assert_eq!(results(&again), [ItemStatus::Completed, ItemStatus::Completed]);
}

#[tokio::test]
async fn permission_modes_are_honoured() {
    for (mode, asked, ended) in [
        ("bypass", 0, [ItemStatus::Completed, ItemStatus::Completed]),
        ("plan", 0, [ItemStatus::Failed, ItemStatus::Failed]),
        ("acceptEdits", 1, [ItemStatus::Completed, ItemStatus::Completed]),
    ] {
        let stage = Stage::new();
        let create = mock().permission_mode(mode.to_owned());
        stage.runtime.create("s".into(), create).await.unwrap();
        stage.send("permission").await.unwrap();
        if asked > 0 {
            for permission in permissions(&stage.until(nth("permission.requested", asked)).await) {
                stage.runtime.reply_permission(&"s".into(), &permission, PermissionReply::Once).await.unwrap();
            }
        }
        let events = stage.until(is_turn_end).await;
        assert_eq!(permissions(&events).len(), asked, "{mode}");
        assert_eq!(results(&events), ended, "{mode}");
    }
}

#[tokio::test]
async fn a_reply_to_nothing_or_to_what_is_resolved_is_refused() {
    let stage = Stage::new().created().await;
    let id = "s".into();
    let reply = |permission: String| {
        let runtime = stage.runtime.clone();
        async move { runtime.reply_permission(&"s".into(), &permission, PermissionReply::Once).await }
    };
    stage.send("permission").await.unwrap();
    let asked = permissions(&stage.until(nth("permission.requested", 2)).await);
    let unknown = reply("nobody".to_owned()).await.unwrap_err();
    assert!(matches!(unknown, RuntimeError::PermissionNotFound { .. }), "{unknown:?}");
    let not_a_question = stage.runtime.reject_question(&id, &asked[0]).await.unwrap_err();
    assert!(matches!(not_a_question, RuntimeError::QuestionNotFound { .. }), "{not_a_question:?}");
    reply(asked[0].clone()).await.unwrap();
    let twice = reply(asked[0].clone()).await.unwrap_err();
    assert!(matches!(twice, RuntimeError::AlreadyResolved { .. }), "{twice:?}");
    reply(asked[1].clone()).await.unwrap();
    stage.until(is_turn_end).await;
    let after_the_turn = reply(asked[1].clone()).await.unwrap_err();
    assert!(matches!(after_the_turn, RuntimeError::AlreadyResolved { .. }), "{after_the_turn:?}");
    let still_unknown = reply("nobody".to_owned()).await.unwrap_err();
    assert!(matches!(still_unknown, RuntimeError::PermissionNotFound { .. }), "{still_unknown:?}");
    stage.runtime.terminate(&id).await.unwrap();
    let ended = reply(asked[0].clone()).await.unwrap_err();
    assert!(matches!(ended, RuntimeError::SessionEnded(_)), "{ended:?}");
    let missing = stage.runtime.reply_permission(&"nobody".into(), "p", PermissionReply::Once).await.unwrap_err();
    assert!(matches!(missing, RuntimeError::SessionNotFound(_)), "{missing:?}");
}

#[tokio::test]
async fn questions_are_answered_or_refused_one_by_one() {
    let stage = Stage::new().created().await;
    stage.send("question").await.unwrap();
    let asked = questions(&stage.until(nth("question.requested", 2)).await);
    let id = "s".into();
    stage.runtime.reply_question(&id, &asked[1], vec!["Login".to_owned(), "Logs".to_owned()]).await.unwrap();
    stage.runtime.reject_question(&id, &asked[0]).await.unwrap();
    let events = stage.until(is_turn_end).await;
    let resolved: Vec<_> = events
        .iter()
        .filter_map(|event| match &event.data {
            EventData::QuestionResolved(question) => Some((question.status.clone(), question.response.as_deref())),
            _ => None,
        })
        .collect();
    assert_eq!(resolved, [(QuestionStatus::Answered, Some("Login, Logs")), (QuestionStatus::Rejected, None)]);
    stage.assert_rules().await;
}

#[tokio::test]
async fn questions_of_one_request_go_back_together() {
    let stage = Stage::playing(
        r#"
        [[turn]]
        step = [{ ask = [[{ prompt = "Colour?" }, { prompt = "Size?", options = ["S", "L"] }]] }]
        "#,
    )
    .created()
    .await;
    stage.send("go").await.unwrap();
    let asked = questions(&stage.until(nth("question.requested", 2)).await);
    assert!(asked[0].ends_with(":0") && asked[1].ends_with(":1"), "{asked:?}");
    let id = "s".into();
    stage.runtime.reply_question(&id, &asked[1], vec!["L".to_owned()]).await.unwrap();
    let twice = stage.runtime.reply_question(&id, &asked[1], vec!["S".to_owned()]).await.unwrap_err();
    assert!(matches!(twice, RuntimeError::AlreadyResolved { .. }), "{twice:?}");
    stage.runtime.reply_question(&id, &asked[0], vec!["red".to_owned()]).await.unwrap();
    let events = stage.until(is_turn_end).await;
    let responses: Vec<_> = events
        .iter()
        .filter_map(|event| match &event.data {
            EventData::QuestionResolved(question) => question.response.as_deref(),
            _ => None,
        })
        .collect();
    assert_eq!(responses, ["red", "L"]);
    stage.assert_rules().await;
}

#[tokio::test]
async fn one_refusal_is_for_all_questions_of_a_request() {
    let stage = Stage::playing(
        r#"
        [[turn]]
        step = [{ ask = [[{ prompt = "Colour?" }, { prompt = "Size?" }]] }]
        "#,
    )
    .created()
    .await;
    stage.send("go").await.unwrap();
    let asked = questions(&stage.until(nth("question.requested", 2)).await);
    let id = "s".into();
    stage.runtime.reply_question(&id, &asked[0], vec!["red".to_owned()]).await.unwrap();
    stage.runtime.reject_question(&id, &asked[1]).await.unwrap();
    let events = stage.until(is_turn_end).await;
    let statuses: Vec<_> = events
        .iter()
        .filter_map(|event| match &event.data {
            EventData::QuestionResolved(question) => Some(question.status.clone()),
            _ => None,
        })
        .collect();
    assert_eq!(statuses, [QuestionStatus::Rejected, QuestionStatus::Rejected]);
}
