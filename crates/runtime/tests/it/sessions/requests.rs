//! Permission requests and questions.

use interlingua_runtime::{PermissionReply, RuntimeError};
use interlingua_schema::{
    ApprovalScope, EventData, ItemKind, ItemStatus, PermissionStatus, QuestionStatus, TurnStatus, UniversalEvent,
};

use crate::test_runtime::{
    TestRuntime, is_nth, is_turn_end, mock, permission_ids, permission_statuses, question_ids, turn_status,
};

/// The statuses of the tool results, in order.
fn result_statuses(events: &[UniversalEvent]) -> Vec<ItemStatus> {
    events
        .iter()
        .filter_map(|event| match &event.data {
            EventData::ItemCompleted(done) if done.item.kind == ItemKind::ToolResult => Some(done.item.status.clone()),
            _ => None,
        })
        .collect()
}

#[tokio::test]
async fn a_turn_continues_when_both_permissions_are_answered() {
    let test = TestRuntime::new().with_session().await;
    test.send("permission").await.unwrap();
    let requested = permission_ids(&test.wait_for(is_nth("permission.requested", 2)).await);
    let id = "s".into();
    test.runtime.reply_permission(&id, &requested[1], PermissionReply::Reject).await.unwrap();
    test.runtime.reply_permission(&id, &requested[0], PermissionReply::Once).await.unwrap();
    let events = test.wait_for(is_turn_end).await;
    assert_eq!(permission_statuses(&events), [PermissionStatus::Denied, PermissionStatus::Approved]);
    assert_eq!(result_statuses(&events), [ItemStatus::Completed, ItemStatus::Failed]);
    assert_eq!(turn_status(&events), Some(TurnStatus::Completed));
    test.assert_no_violations().await;
}

#[tokio::test]
async fn an_action_allowed_for_the_session_is_not_asked_again() {
    let test = TestRuntime::new().with_session().await;
    test.send("permission").await.unwrap();
    let requested = permission_ids(&test.wait_for(is_nth("permission.requested", 2)).await);
    for permission in &requested {
        test.runtime.reply_permission(&"s".into(), permission, PermissionReply::Always).await.unwrap();
    }
    let events = test.wait_for(is_turn_end).await;
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
    let again = test.run_turn("permission").await;
    assert_eq!(permission_ids(&again), [""; 0]);
    assert_eq!(result_statuses(&again), [ItemStatus::Completed, ItemStatus::Completed]);
}

#[tokio::test]
async fn permission_modes_are_honoured() {
    for (mode, requested, ended) in [
        ("bypass", 0, [ItemStatus::Completed, ItemStatus::Completed]),
        ("plan", 0, [ItemStatus::Failed, ItemStatus::Failed]),
        ("acceptEdits", 1, [ItemStatus::Completed, ItemStatus::Completed]),
    ] {
        let test = TestRuntime::new();
        let create = mock().permission_mode(mode.to_owned());
        test.runtime.create("s".into(), create).await.unwrap();
        test.send("permission").await.unwrap();
        if requested > 0 {
            for permission in permission_ids(&test.wait_for(is_nth("permission.requested", requested)).await) {
                test.runtime.reply_permission(&"s".into(), &permission, PermissionReply::Once).await.unwrap();
            }
        }
        let events = test.wait_for(is_turn_end).await;
        assert_eq!(permission_ids(&events).len(), requested, "{mode}");
        assert_eq!(result_statuses(&events), ended, "{mode}");
    }
}

#[tokio::test]
async fn a_reply_to_an_unknown_or_resolved_request_is_refused() {
    let test = TestRuntime::new().with_session().await;
    let id = "s".into();
    let reply = |permission: String| {
        let runtime = test.runtime.clone();
        async move { runtime.reply_permission(&"s".into(), &permission, PermissionReply::Once).await }
    };
    test.send("permission").await.unwrap();
    let requested = permission_ids(&test.wait_for(is_nth("permission.requested", 2)).await);
    let unknown = reply("unknown".to_owned()).await.unwrap_err();
    assert!(matches!(unknown, RuntimeError::PermissionNotFound { .. }), "{unknown:?}");
    let not_a_question = test.runtime.reject_question(&id, &requested[0]).await.unwrap_err();
    assert!(matches!(not_a_question, RuntimeError::QuestionNotFound { .. }), "{not_a_question:?}");
    reply(requested[0].clone()).await.unwrap();
    let twice = reply(requested[0].clone()).await.unwrap_err();
    assert!(matches!(twice, RuntimeError::AlreadyResolved { .. }), "{twice:?}");
    reply(requested[1].clone()).await.unwrap();
    test.wait_for(is_turn_end).await;
    let after_the_turn = reply(requested[1].clone()).await.unwrap_err();
    assert!(matches!(after_the_turn, RuntimeError::AlreadyResolved { .. }), "{after_the_turn:?}");
    let still_unknown = reply("unknown".to_owned()).await.unwrap_err();
    assert!(matches!(still_unknown, RuntimeError::PermissionNotFound { .. }), "{still_unknown:?}");
    test.runtime.terminate(&id).await.unwrap();
    let ended = reply(requested[0].clone()).await.unwrap_err();
    assert!(matches!(ended, RuntimeError::SessionEnded(_)), "{ended:?}");
    let missing = test.runtime.reply_permission(&"unknown".into(), "p", PermissionReply::Once).await.unwrap_err();
    assert!(matches!(missing, RuntimeError::SessionNotFound(_)), "{missing:?}");
}

#[tokio::test]
async fn questions_of_different_requests_are_answered_or_rejected_one_by_one() {
    let test = TestRuntime::new().with_session().await;
    test.send("question").await.unwrap();
    let requested = question_ids(&test.wait_for(is_nth("question.requested", 2)).await);
    let id = "s".into();
    test.runtime.reply_question(&id, &requested[1], vec!["Login".to_owned(), "Logs".to_owned()]).await.unwrap();
    test.runtime.reject_question(&id, &requested[0]).await.unwrap();
    let events = test.wait_for(is_turn_end).await;
    let resolved: Vec<_> = events
        .iter()
        .filter_map(|event| match &event.data {
            EventData::QuestionResolved(question) => Some((question.status.clone(), question.response.as_deref())),
            _ => None,
        })
        .collect();
    assert_eq!(resolved, [(QuestionStatus::Answered, Some("Login, Logs")), (QuestionStatus::Rejected, None)]);
    test.assert_no_violations().await;
}

#[tokio::test]
async fn answers_to_one_request_are_sent_together() {
    let test = TestRuntime::with_scenario(
        r#"
        [[turn]]
        step = [{ ask = [[{ prompt = "Colour?" }, { prompt = "Size?", options = ["S", "L"] }]] }]
        "#,
    )
    .with_session()
    .await;
    test.send("go").await.unwrap();
    let requested = question_ids(&test.wait_for(is_nth("question.requested", 2)).await);
    assert!(requested[0].ends_with(":0") && requested[1].ends_with(":1"), "{requested:?}");
    let id = "s".into();
    test.runtime.reply_question(&id, &requested[1], vec!["L".to_owned()]).await.unwrap();
    let twice = test.runtime.reply_question(&id, &requested[1], vec!["S".to_owned()]).await.unwrap_err();
    assert!(matches!(twice, RuntimeError::AlreadyResolved { .. }), "{twice:?}");
    test.runtime.reply_question(&id, &requested[0], vec!["red".to_owned()]).await.unwrap();
    let events = test.wait_for(is_turn_end).await;
    let responses: Vec<_> = events
        .iter()
        .filter_map(|event| match &event.data {
            EventData::QuestionResolved(question) => question.response.as_deref(),
            _ => None,
        })
        .collect();
    assert_eq!(responses, ["red", "L"]);
    test.assert_no_violations().await;
}

#[tokio::test]
async fn one_rejection_rejects_all_questions_of_a_request() {
    let test = TestRuntime::with_scenario(
        r#"
        [[turn]]
        step = [{ ask = [[{ prompt = "Colour?" }, { prompt = "Size?" }]] }]
        "#,
    )
    .with_session()
    .await;
    test.send("go").await.unwrap();
    let requested = question_ids(&test.wait_for(is_nth("question.requested", 2)).await);
    let id = "s".into();
    test.runtime.reply_question(&id, &requested[0], vec!["red".to_owned()]).await.unwrap();
    test.runtime.reject_question(&id, &requested[1]).await.unwrap();
    let events = test.wait_for(is_turn_end).await;
    let statuses: Vec<_> = events
        .iter()
        .filter_map(|event| match &event.data {
            EventData::QuestionResolved(question) => Some(question.status.clone()),
            _ => None,
        })
        .collect();
    assert_eq!(statuses, [QuestionStatus::Rejected, QuestionStatus::Rejected]);
}

#[tokio::test]
async fn requests_without_an_answer_in_time_are_denied() {
    for message in ["permission", "question"] {
        let test = TestRuntime::new();
        test.runtime.create("s".into(), mock().request_timeout_ms(Some(50))).await.unwrap();
        test.send(message).await.unwrap();
        let events = test.wait_for(is_turn_end).await;
        let mut resolved = 0;
        for event in &events {
            match &event.data {
                EventData::PermissionResolved(permission) => {
                    assert_eq!(permission.status, PermissionStatus::Denied);
                    assert_eq!(permission.metadata.as_ref().unwrap().expired, Some(true));
                    resolved += 1;
                }
                EventData::QuestionResolved(question) => {
                    assert_eq!(question.status, QuestionStatus::Rejected);
                    assert_eq!(question.metadata.as_ref().unwrap().expired, Some(true));
                    resolved += 1;
                }
                _ => {}
            }
        }
        assert_eq!(resolved, 2, "{message}");
        test.assert_no_violations().await;
    }
}

#[tokio::test]
async fn a_request_timeout_of_zero_is_refused() {
    let test = TestRuntime::new();
    let refused = test.runtime.create("s".into(), mock().request_timeout_ms(Some(0))).await.unwrap_err();
    assert!(refused.to_string().contains("requestTimeoutMs"), "{refused}");
}
