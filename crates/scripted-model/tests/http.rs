//! The responses of the model over HTTP.

use std::time::{Duration, Instant};

use interlingua_scripted_model::{Scenario, ScriptedModel, TurnEndSource};
use serde_json::{Value, json};

async fn model(scenario: &str) -> ScriptedModel {
    let scenario = Scenario::parse("test", &format!("about = \"x\"\n{scenario}")).unwrap();
    ScriptedModel::start(scenario, "/workspace".into(), 0, TurnEndSource::Model).await.unwrap()
}

/// One turn, whose message is "Hello there".
async fn replies(replies: &str) -> ScriptedModel {
    model(&format!("[[turn]]\nuser = \"Hello there\"\nmodel = [{replies}]\n")).await
}

/// A Chat Completions request with these messages and one tool.
fn request(messages: &Value) -> Value {
    let bash = json!({"type": "function", "function": {"name": "bash", "parameters": {"properties": {"command": {}}}}});
    json!({"model": "m", "stream": true, "messages": messages, "tools": [bash]})
}

fn hello() -> Value {
    request(&json!([{"role": "user", "content": "Hello there"}]))
}

async fn post(model: &ScriptedModel, path: &str, body: &Value) -> reqwest::Response {
    reqwest::Client::new().post(format!("{}{path}", model.url())).json(body).send().await.unwrap()
}

async fn chat(model: &ScriptedModel, body: &Value) -> String {
    post(model, "/v1/chat/completions", body).await.text().await.unwrap()
}

#[tokio::test]
async fn each_api_has_its_own_path() {
    let model = replies("[{ say = \"Hello back\" }]").await;
    let anthropic = json!({"model": "m", "stream": true, "messages": [{"role": "user", "content": "Hello there"}]});
    let text = post(&model, "/v1/messages?beta=true", &anthropic).await.text().await.unwrap();
    assert!(text.starts_with("event: message_start\n") && text.contains("\"text\":\"back\""), "{text}");
    let responses = json!({"model": "m", "stream": true, "input": "Hello there"});
    let text = post(&model, "/v1/responses", &responses).await.text().await.unwrap();
    assert!(text.starts_with("event: response.created\n") && text.contains("response.completed"), "{text}");
    let text = chat(&model, &hello()).await;
    assert!(text.ends_with("data: [DONE]\n\n"), "{text}");
    assert!(model.report().problems.is_empty());
}

#[tokio::test]
async fn received_texts_are_those_of_the_last_request_for_the_turn() {
    let model = replies("[{ run = \"ls\" }], [{ say = \"Seen.\" }]").await;
    chat(&model, &hello()).await;
    assert_eq!(model.received_texts(0), ["Hello there"]);
    let call = json!({"id": "call_t1_0_0", "type": "function", "function": {"name": "bash", "arguments": "{}"}});
    let conversation = json!([
        {"role": "user", "content": "Hello there"},
        {"role": "assistant", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "call_t1_0_0", "content": "a.txt"},
    ]);
    chat(&model, &request(&conversation)).await;
    assert_eq!(model.received_texts(0), ["Hello there", "a.txt"]);
    assert!(model.received_texts(1).is_empty());
}

#[tokio::test]
async fn the_api_keys_of_agents_are_collected() {
    let model = replies("[{ say = \"Hello back\" }]").await;
    chat(&model, &hello()).await;
    assert!(model.api_keys().is_empty());
    for (header, value) in [("x-api-key", "one"), ("authorization", "Bearer two")] {
        let request = reqwest::Client::new().post(format!("{}/v1/chat/completions", model.url()));
        request.header(header, value).json(&hello()).send().await.unwrap();
    }
    assert!(model.api_keys().iter().eq(["one", "two"]));
}

#[tokio::test]
async fn side_requests_of_agents_are_answered() {
    let model = replies("[{ say = \"Hello back\" }]").await;
    let tokens: Value = post(&model, "/v1/messages/count_tokens", &json!({})).await.json().await.unwrap();
    assert_eq!(tokens["input_tokens"], 100);
    let models: Value = reqwest::get(format!("{}/v1/models", model.url())).await.unwrap().json().await.unwrap();
    assert_eq!(models["data"][0]["id"], "scripted");
    let title = json!({"stream": false, "messages": [{"role": "system", "content": "Write a title."}, {"role": "user", "content": "Hello there"}]});
    let title: Value = post(&model, "/v1/chat/completions", &title).await.json().await.unwrap();
    assert_eq!(title["choices"][0]["message"]["content"], "A scripted title");
    assert_eq!(model.report().unplayed_replies, ["reply 1 of t1"]);
    let unknown = reqwest::get(format!("{}/nowhere", model.url())).await.unwrap();
    assert_eq!(unknown.status(), 404);
}

#[tokio::test]
async fn an_http_error_has_its_status_and_the_next_request_gets_the_next_reply() {
    for status in [400, 401, 429, 500, 529] {
        let model =
            replies(&format!("[{{ status = {status}, message = \"No.\", retry_after = 7 }}], [{{ say = \"Yes\" }}]"))
                .await;
        let error = post(&model, "/v1/chat/completions", &hello()).await;
        assert_eq!(error.status(), status);
        assert_eq!(error.headers()["retry-after"], "7");
        let body: Value = error.json().await.unwrap();
        assert_eq!(body["error"]["message"], "No.");
        assert!(chat(&model, &hello()).await.contains("Yes"));
    }
}

#[tokio::test]
async fn a_disconnect_comes_after_the_text_before_it() {
    let model = replies("[{ say = \"Half\" }, { stall = 20 }, { cut = true }], [{ say = \"Whole\" }]").await;
    let mut response = post(&model, "/v1/chat/completions", &hello()).await;
    let mut received = String::new();
    let end = loop {
        match response.chunk().await {
            Ok(Some(bytes)) => received += std::str::from_utf8(&bytes).unwrap(),
            other => break other,
        }
    };
    assert!(end.is_err(), "expected a broken connection, found a complete stream: {received}");
    assert!(received.contains("Half") && !received.contains("[DONE]"), "{received}");
    assert!(chat(&model, &hello()).await.contains("Whole"));
}

#[tokio::test]
async fn a_stream_error_ends_the_stream() {
    let model = replies("[{ say = \"Half\" }, { fail = \"Too much\" }]").await;
    let text = chat(&model, &hello()).await;
    assert!(text.contains("Half") && text.contains("Too much") && !text.contains("[DONE]"), "{text}");
}

#[tokio::test]
async fn a_stall_has_a_duration_or_never_ends() {
    let model = replies("[{ say = \"A\" }, { stall = 120 }, { say = \"B\" }]").await;
    let start = Instant::now();
    chat(&model, &hello()).await;
    assert!(start.elapsed() >= Duration::from_millis(120));
    let model = replies("[{ say = \"A\" }, { stall = true }]").await;
    let mut response = post(&model, "/v1/chat/completions", &hello()).await;
    let mut received = String::new();
    while !received.contains("\"A\"") {
        received += std::str::from_utf8(&response.chunk().await.unwrap().unwrap()).unwrap();
    }
    let more = tokio::time::timeout(Duration::from_millis(100), response.chunk()).await;
    assert!(more.is_err(), "expected nothing during the stall, found {more:?}");
}

#[tokio::test]
async fn chunks_are_sent_at_their_interval() {
    let model = replies("[{ say = \"one two three\", drip_ms = 40 }]").await;
    let start = Instant::now();
    let text = chat(&model, &hello()).await;
    assert!(start.elapsed() >= Duration::from_millis(80));
    assert!(text.contains("\"one \"") && text.contains("\"three\""), "{text}");
}

#[tokio::test]
async fn the_conversation_determines_the_next_reply() {
    let model = replies("[{ run = \"ls\" }], [{ say = \"Done\" }]").await;
    assert!(chat(&model, &hello()).await.contains("call_t1_0_0"));
    let after = request(&json!([
        {"role": "user", "content": "Hello there"},
        {"role": "assistant", "tool_calls": [{"id": "call_t1_0_0", "function": {"name": "bash", "arguments": "{}"}}]},
        {"role": "tool", "tool_call_id": "call_t1_0_0", "content": "a"},
    ]));
    assert!(chat(&model, &after).await.contains("Done"));
    // Another session that is still at its start gets its first reply.
    assert!(chat(&model, &hello()).await.contains("call_t1_0_0"));
}

#[tokio::test]
async fn sub_agents_and_sessions_are_distinguished_in_any_order() {
    let model = model(
        r#"
        [[turn]]
        user = "Hello there"
        model = [[{ say = "Main begins. " }, { until = "other" }, { say = "Main ends." }]]
        [[turn]]
        user = "Other thing"
        session = "other"
        model = [[{ say = "Other." }]]
        [subagent.helper]
        task = "Look around"
        model = [[{ say = "Looked." }]]
        "#,
    )
    .await;
    let body = hello();
    let main = chat(&model, &body);
    let others = async {
        let sub_agent = chat(&model, &request(&json!([{"role": "user", "content": "Look around"}]))).await;
        let other = chat(&model, &request(&json!([{"role": "user", "content": "Other thing"}]))).await;
        (sub_agent, other)
    };
    let (main, (sub_agent, other)) = tokio::join!(main, others);
    assert!(
        sub_agent.contains("Looked.") && other.contains("Other.") && main.contains("ends."),
        "{main}{sub_agent}{other}"
    );
}

#[tokio::test]
async fn a_request_that_does_not_match_the_scenario_is_a_problem_with_its_location() {
    let model = replies("[{ todo = [{ task = \"a\", state = \"pending\" }] }]").await;
    let error = post(&model, "/v1/chat/completions", &hello()).await;
    assert_eq!(error.status(), 400);
    chat(&model, &request(&json!([{"role": "user", "content": "Good bye"}]))).await;
    let problems = model.report().problems;
    assert_eq!(problems[0], "reply 1 of t1: the agent offers no tool to write a to-do list; it offers bash");
    assert!(problems[1].contains("has no message like \"Good bye\""), "{problems:?}");
    let empty = replies("").await;
    chat(&empty, &hello()).await;
    assert_eq!(empty.report().problems, ["t1 got more requests than its 0 replies"]);
}
