//! What the server asks in a session, and what the user's answers look like to it.

use std::collections::HashMap;
use std::time::SystemTime;

use serde_json::{Map, Value, json};

use super::line::id_text;
use super::router::unsupported;
use crate::driver::PermissionReply;
use interlingua_protocol::form;

/// The server's requests that wait for an answer, by their ids.
#[derive(Debug, Default)]
pub(super) struct Requests(HashMap<String, Waiting>);

#[derive(Debug)]
struct Waiting {
    /// As it came, to be given back.
    id: String,
    what: What,
}

#[derive(Debug)]
enum What {
    /// A command or a change of files.
    Approval,
    /// The same, as it was asked before there were threads.
    OldApproval,
    /// Wider permissions: these.
    Permissions(Value),
    /// Questions, by their ids.
    Questions(Vec<String>),
    /// A form of an MCP server's, or a page to visit.
    Form { schema: Option<Value> },
    /// A permission that is asked as if an MCP server did.
    FormApproval,
}

impl Requests {
    /// Takes note of a request. What nobody needs to be asked is answered by the line to send.
    pub(super) fn asked(&mut self, method: &str, id: &str, line: &str) -> Option<String> {
        let mut line: Value = serde_json::from_str(line).unwrap_or_default();
        let params = line["params"].take();
        let what = match method {
            "item/commandExecution/requestApproval" | "item/fileChange/requestApproval" => What::Approval,
            "execCommandApproval" | "applyPatchApproval" => What::OldApproval,
            "item/permissions/requestApproval" => What::Permissions(granted(&params["permissions"])),
            "item/tool/requestUserInput" => {
                let questions = params["questions"].as_array().into_iter().flatten();
                What::Questions(questions.map(|question| text(&question["id"])).collect())
            }
            "mcpServer/elicitation/request" if !params["_meta"]["codex_approval_kind"].is_null() => What::FormApproval,
            "mcpServer/elicitation/request" => {
                What::Form { schema: params.get("requestedSchema").cloned().filter(|schema| !schema.is_null()) }
            }
            "currentTime/read" => return Some(answer(id, &json!({"currentTimeAt": now()}))),
            _ => return Some(unsupported(id, method)),
        };
        self.0.insert(id_text(id), Waiting { id: id.to_owned(), what });
        None
    }

    /// The server no longer waits for an answer.
    pub(super) fn resolved(&mut self, line: &str) {
        let line: Value = serde_json::from_str(line).unwrap_or_default();
        self.0.remove(&id_text(&line["params"]["requestId"].to_string()));
    }

    /// The answer to a permission request; `None` if nobody asked.
    pub(super) fn permission(&mut self, id: &str, reply: PermissionReply) -> Option<String> {
        let Waiting { id, what } = self.0.remove(id)?;
        let decision = |once: &str, always: &str, never: &str| match reply {
            PermissionReply::Once => json!({"decision": once}),
            PermissionReply::Always => json!({"decision": always}),
            PermissionReply::Reject => json!({"decision": never}),
        };
        let result = match (what, reply) {
            (What::Approval, _) => decision("accept", "acceptForSession", "decline"),
            (What::OldApproval, _) => decision("approved", "approved_for_session", "denied"),
            (What::Permissions(asked), PermissionReply::Once) => json!({"permissions": asked, "scope": "turn"}),
            (What::Permissions(asked), PermissionReply::Always) => json!({"permissions": asked, "scope": "session"}),
            (What::FormApproval, PermissionReply::Once) => form_answer("accept", &json!({}), &Value::Null),
            (What::FormApproval, PermissionReply::Always) => {
                form_answer("accept", &json!({}), &json!({"persist": "session"}))
            }
            (what, _) => declined(&what),
        };
        Some(answer(&id, &result))
    }

    /// The answer to the questions of a request; `None` if nobody asked.
    pub(super) fn answer(&mut self, id: &str, answers: &[Vec<String>]) -> Option<String> {
        let Waiting { id, what } = self.0.remove(id)?;
        let result = match &what {
            What::Questions(ids) => {
                let chosen = |words: &Vec<String>| json!({"answers": words});
                let answers: Map<String, Value> = ids.iter().cloned().zip(answers.iter().map(chosen)).collect();
                json!({"answers": answers})
            }
            What::Form { schema } => match form::filled_in(schema.as_ref(), answers.first().map_or(&[], Vec::as_slice))
            {
                Some(content) => form_answer("accept", &content, &Value::Null),
                None => declined(&what),
            },
            _ => declined(&what),
        };
        Some(answer(&id, &result))
    }

    /// The refusal to answer the questions of a request; `None` if nobody asked.
    pub(super) fn reject(&mut self, id: &str) -> Option<String> {
        self.0.remove(id).map(|waiting| answer(&waiting.id, &declined(&waiting.what)))
    }
}

fn answer(id: &str, result: &Value) -> String {
    format!(r#"{{"id":{id},"result":{result}}}"#)
}

fn form_answer(action: &str, content: &Value, meta: &Value) -> Value {
    json!({"action": action, "content": content, "_meta": meta})
}

fn declined(what: &What) -> Value {
    match what {
        What::Approval => json!({"decision": "decline"}),
        What::OldApproval => json!({"decision": "denied"}),
        What::Permissions(_) => json!({"permissions": {}, "scope": "turn"}),
        What::Questions(_) => json!({"answers": {}}),
        What::Form { .. } | What::FormApproval => form_answer("decline", &Value::Null, &Value::Null),
    }
}

/// What is granted: what is asked for, without what is not.
fn granted(asked: &Value) -> Value {
    let asked = asked.as_object().into_iter().flatten().filter(|(_, value)| !value.is_null());
    Value::Object(asked.map(|(key, value)| (key.clone(), value.clone())).collect())
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// Seconds since the epoch.
fn now() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(method: &str, params: &Value) -> Requests {
        let mut requests = Requests::default();
        let line = json!({"method": method, "id": 0, "params": params}).to_string();
        assert_eq!(requests.asked(method, "0", &line), None);
        requests
    }

    fn result(line: Option<String>) -> Value {
        let mut line: Value = serde_json::from_str(&line.expect("an answer")).unwrap();
        assert_eq!(line["id"], 0);
        line["result"].take()
    }

    #[test]
    fn permissions_are_answered_in_the_words_of_their_kind() {
        use PermissionReply::{Always, Once, Reject};
        let all = |method: &str, params: Value| {
            [Once, Always, Reject].map(|reply| result(asked(method, &params).permission("0", reply)))
        };
        let decisions = |once: &str, always: &str, never: &str| {
            [json!({"decision": once}), json!({"decision": always}), json!({"decision": never})]
        };
        let command = all("item/commandExecution/requestApproval", json!({}));
        assert_eq!(command, decisions("accept", "acceptForSession", "decline"));
        assert_eq!(all("applyPatchApproval", json!({})), decisions("approved", "approved_for_session", "denied"));
        let asks = json!({"permissions": {"network": {"enabled": true}, "fileSystem": null}});
        let [once, always, never] = all("item/permissions/requestApproval", asks);
        assert_eq!(once, json!({"permissions": {"network": {"enabled": true}}, "scope": "turn"}));
        assert_eq!(always["scope"], "session");
        assert_eq!(never["permissions"], json!({}));
        let tool = json!({"_meta": {"codex_approval_kind": "mcp_tool_call"}, "requestedSchema": {}});
        let [once, always, never] = all("mcpServer/elicitation/request", tool);
        assert_eq!((&once["action"], &once["_meta"]), (&json!("accept"), &Value::Null));
        assert_eq!(always["_meta"]["persist"], "session");
        assert_eq!(never["action"], "decline");
    }

    #[test]
    fn questions_are_answered_by_their_ids_or_not_at_all() {
        let params = json!({"questions": [{"id": "db"}, {"id": "lang"}]});
        let answers = [vec!["SQLite".to_owned()], vec!["Rust".to_owned(), "Go".to_owned()]];
        let answer = result(asked("item/tool/requestUserInput", &params).answer("0", &answers));
        assert_eq!(answer, json!({"answers": {"db": {"answers": ["SQLite"]}, "lang": {"answers": ["Rust", "Go"]}}}));
        let refused = result(asked("item/tool/requestUserInput", &params).reject("0"));
        assert_eq!(refused, json!({"answers": {}}));
    }

    #[test]
    fn a_form_is_filled_in_or_declined() {
        let params = json!({"requestedSchema": {"properties": {"colour": {"type": "string"}}}});
        let form = || asked("mcpServer/elicitation/request", &params);
        let filled = result(form().answer("0", &[vec!["red".to_owned()]]));
        assert_eq!((&filled["action"], &filled["content"]), (&json!("accept"), &json!({"colour": "red"})));
        assert_eq!(result(form().reject("0"))["action"], "decline");
    }

    #[test]
    fn what_nobody_can_answer_is_refused_and_the_time_is_told() {
        let mut requests = Requests::default();
        let tool = requests.asked("item/tool/call", r#""x""#, "{}").unwrap();
        assert!(tool.contains(r#""id":"x""#) && tool.contains("-32601"), "{tool}");
        assert!(requests.asked("some/new/request", "1", "{}").unwrap().contains("error"));
        assert!(requests.asked("currentTime/read", "2", "{}").unwrap().contains("currentTimeAt"));
    }

    #[test]
    fn what_was_withdrawn_has_no_answer() {
        let mut requests = asked("item/commandExecution/requestApproval", &json!({}));
        requests.resolved(r#"{"method":"serverRequest/resolved","params":{"threadId":"t","requestId":0}}"#);
        assert_eq!(requests.permission("0", PermissionReply::Once), None);
    }
}
