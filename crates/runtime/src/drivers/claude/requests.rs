//! What the agent asks, and what the user's answers look like to it.

use std::collections::HashMap;

use interlingua_protocol::form;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use crate::driver::PermissionReply;
use crate::drivers::REFUSED;
use crate::drivers::scanner::Scanner;

/// What the agent is told when the user does not answer its questions.
const NO_ANSWER: &str = "The user does not want to answer.";

/// The agent's requests that wait for an answer.
pub(super) struct Requests {
    waiting: HashMap<String, Request>,
    /// The permission mode that an approved plan leads to, if it is not the default.
    plan_leads_to: Option<&'static str>,
}

#[derive(Deserialize)]
#[serde(tag = "subtype", rename_all = "snake_case")]
enum Request {
    CanUseTool(ToolUse),
    Elicitation(Elicitation),
    #[serde(rename = "request_user_dialog")]
    Dialog {},
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
struct ToolUse {
    #[serde(default)]
    tool_name: String,
    /// Goes back as it came.
    input: Option<Value>,
    #[serde(default)]
    permission_suggestions: Vec<Value>,
}

#[derive(Deserialize)]
struct Elicitation {
    requested_schema: Option<Value>,
}

#[derive(Deserialize)]
struct Line {
    r#type: String,
    request_id: Option<String>,
    request: Option<Box<RawValue>>,
}

impl Requests {
    pub(super) fn new(plan_leads_to: Option<&'static str>) -> Self {
        Self { waiting: HashMap::new(), plan_leads_to }
    }

    /// Takes note of a line. What cannot be answered is refused: that is the line to send.
    pub(super) fn heard(&mut self, line: &str) -> Option<String> {
        // Most lines are not about requests; they are not worth reading twice.
        if !line.contains(r#""control_"#) {
            return None;
        }
        let line: Line = serde_json::from_str(line).ok()?;
        let id = line.request_id?;
        match line.r#type.as_str() {
            "control_request" => match serde_json::from_str(line.request?.get()).unwrap_or(Request::Other) {
                Request::Other => Some(refused(&id, "this host cannot do that")),
                request => {
                    self.waiting.insert(id, request);
                    None
                }
            },
            "control_cancel_request" => {
                self.waiting.remove(&id);
                None
            }
            _ => None,
        }
    }

    /// The answer to a permission request; `None` if nobody asked.
    pub(super) fn permission(&mut self, id: &str, reply: PermissionReply) -> Option<String> {
        let request = self.waiting.remove(id)?;
        let Request::CanUseTool(tool) = request else { return Some(answered(id, &declined(&request))) };
        Some(match reply {
            PermissionReply::Reject => answered(id, &json!({"behavior": "deny", "message": REFUSED})),
            PermissionReply::Once => allowed(id, &tool, None),
            PermissionReply::Always => allowed(id, &tool, Some(from_now_on(&tool))),
        })
    }

    /// The answer to the questions of a request; `None` if nobody asked.
    pub(super) fn answer(&mut self, id: &str, answers: &[Vec<String>]) -> Option<String> {
        let request = self.waiting.remove(id)?;
        let words = answers.first().map(Vec::as_slice).unwrap_or_default();
        let first = words.join(", ");
        Some(match &request {
            Request::CanUseTool(tool) if tool.tool_name == "ExitPlanMode" => self.plan(id, tool, &first),
            Request::CanUseTool(tool) => answered(id, &chosen(tool, answers)),
            Request::Elicitation(form) => answered(id, &filled_in(form, words)),
            Request::Dialog {} => answered(id, &json!({"behavior": "completed", "result": first})),
            Request::Other => refused(id, "this host cannot do that"),
        })
    }

    /// The refusal to answer the questions of a request; `None` if nobody asked.
    pub(super) fn reject(&mut self, id: &str) -> Option<String> {
        self.waiting.remove(id).map(|request| answered(id, &declined(&request)))
    }

    /// A plan is approved, or comes back with what the user says to it.
    fn plan(&self, id: &str, tool: &ToolUse, says: &str) -> String {
        match says.trim().to_ascii_lowercase().as_str() {
            "approve" => {
                let mode = |mode| json!([{"type": "setMode", "mode": mode, "destination": "session"}]);
                allowed(id, tool, self.plan_leads_to.map(mode))
            }
            "reject" => answered(id, &json!({"behavior": "deny", "message": REFUSED})),
            _ => answered(id, &json!({"behavior": "deny", "message": says})),
        }
    }
}

/// The line that refuses a request which cannot be read, for example because it is too long; `None` if it is none. The
/// agent would wait for an answer for ever.
pub(super) fn refuse_unreadable(bytes: &[u8], error: &str) -> Option<String> {
    let beginning = String::from_utf8_lossy(bytes);
    let mut json = Scanner::new(&beginning);
    let (mut kind, mut id) = (None, None);
    if json.enter_object() {
        while let Some(key) = json.next_key() {
            match key {
                "type" => kind = json.text(),
                "request_id" => id = json.text(),
                _ => {}
            }
        }
    }
    id.filter(|_| kind.as_deref() == Some("control_request"))
        .map(|id| refused(&id, &format!("the request cannot be read: {error}")))
}

fn answered(id: &str, response: &Value) -> String {
    let response = json!({"subtype": "success", "request_id": id, "response": response});
    json!({"type": "control_response", "response": response}).to_string()
}

fn refused(id: &str, why: &str) -> String {
    json!({"type": "control_response", "response": {"subtype": "error", "request_id": id, "error": why}}).to_string()
}

/// A yes, with the tool's input as it came.
fn allowed(id: &str, tool: &ToolUse, permissions: Option<Value>) -> String {
    let mut answer = json!({"behavior": "allow", "updatedInput": input(tool)});
    if let Some(permissions) = permissions {
        answer["updatedPermissions"] = permissions;
    }
    answered(id, &answer)
}

fn input(tool: &ToolUse) -> Value {
    tool.input.clone().unwrap_or_else(|| json!({}))
}

/// What is allowed from now on: the rules that the agent suggests. That it may do more than was asked for (another
/// mode) is taken up only where it suggests nothing narrower.
fn from_now_on(tool: &ToolUse) -> Value {
    let all = &tool.permission_suggestions;
    let narrow: Vec<&Value> = all.iter().filter(|suggestion| suggestion["type"] != "setMode").collect();
    if !narrow.is_empty() {
        return json!(narrow);
    }
    if !all.is_empty() {
        return json!(all);
    }
    let rules = json!([{"toolName": tool.tool_name}]);
    json!([{"type": "addRules", "rules": rules, "behavior": "allow", "destination": "session"}])
}

/// The user's choices, by the text of the questions.
fn chosen(tool: &ToolUse, answers: &[Vec<String>]) -> Value {
    let mut input = input(tool);
    let questions = input["questions"].as_array().into_iter().flatten();
    let texts = questions.filter_map(|question| question["question"].as_str());
    let answers: Map<String, Value> =
        texts.zip(answers).map(|(text, words)| (text.to_owned(), words.join(", ").into())).collect();
    input["answers"] = answers.into();
    json!({"behavior": "allow", "updatedInput": input})
}

/// What does not fit the form is declined.
fn filled_in(form: &Elicitation, words: &[String]) -> Value {
    match form::filled_in(form.requested_schema.as_ref(), words) {
        Some(content) => json!({"action": "accept", "content": content}),
        None => json!({"action": "decline"}),
    }
}

fn declined(request: &Request) -> Value {
    match request {
        Request::CanUseTool(_) => json!({"behavior": "deny", "message": NO_ANSWER}),
        Request::Elicitation(_) => json!({"action": "decline"}),
        Request::Dialog {} | Request::Other => json!({"behavior": "cancelled"}),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(request: &Value) -> Requests {
        let mut requests = Requests::new(None);
        let line = json!({"type": "control_request", "request_id": "r", "request": request});
        assert_eq!(requests.heard(&line.to_string()), None);
        requests
    }

    fn response(line: Option<String>) -> Value {
        let line: Value = serde_json::from_str(&line.expect("an answer")).unwrap();
        assert_eq!((&line["type"], &line["response"]["request_id"]), (&json!("control_response"), &json!("r")));
        line["response"]["response"].clone()
    }

    fn bash() -> Value {
        let rules = json!({"type": "addRules", "rules": [{"toolName": "Bash", "ruleContent": "ls"}]});
        json!({"subtype": "can_use_tool", "tool_name": "Bash", "input": {"command": "ls"},
               "permission_suggestions": [rules, {"type": "setMode", "mode": "acceptEdits"}]})
    }

    #[test]
    fn a_yes_gives_the_input_back_and_a_no_says_so() {
        let once = response(asked(&bash()).permission("r", PermissionReply::Once));
        assert_eq!(once, json!({"behavior": "allow", "updatedInput": {"command": "ls"}}));
        let never = response(asked(&bash()).permission("r", PermissionReply::Reject));
        assert_eq!(never["behavior"], "deny");
    }

    #[test]
    fn always_is_no_more_than_was_asked_for() {
        let always = response(asked(&bash()).permission("r", PermissionReply::Always));
        let rules = json!([{"type": "addRules", "rules": [{"toolName": "Bash", "ruleContent": "ls"}]}]);
        assert_eq!(always["updatedPermissions"], rules);
        let bare = json!({"subtype": "can_use_tool", "tool_name": "Bash", "input": {}});
        let always = response(asked(&bare).permission("r", PermissionReply::Always));
        assert_eq!(always["updatedPermissions"][0]["rules"], json!([{"toolName": "Bash"}]));
    }

    #[test]
    fn answers_go_by_the_text_of_the_questions() {
        let questions = json!([{"question": "Which?"}, {"question": "What else?"}]);
        let request =
            json!({"subtype": "can_use_tool", "tool_name": "AskUserQuestion", "input": {"questions": questions}});
        let answers = [vec!["One".to_owned()], vec!["Two".to_owned(), "Three".to_owned()]];
        let answer = response(asked(&request).answer("r", &answers));
        assert_eq!(answer["updatedInput"]["answers"], json!({"Which?": "One", "What else?": "Two, Three"}));
        assert_eq!(response(asked(&request).reject("r"))["behavior"], "deny");
    }

    #[test]
    fn a_plan_is_approved_by_the_word_alone() {
        let request = json!({"subtype": "can_use_tool", "tool_name": "ExitPlanMode", "input": {"plan": "# Plan"}});
        let says = |words: &str| response(asked(&request).answer("r", &[vec![words.to_owned()]]));
        assert_eq!(says("approve"), json!({"behavior": "allow", "updatedInput": {"plan": "# Plan"}}));
        assert_eq!(says("reject")["behavior"], "deny");
        assert_eq!(says("use tabs"), json!({"behavior": "deny", "message": "use tabs"}));
        let mut accepting = asked(&request);
        accepting.plan_leads_to = Some("acceptEdits");
        let approved = response(accepting.answer("r", &[vec!["approve".to_owned()]]));
        assert_eq!(approved["updatedPermissions"][0]["mode"], "acceptEdits");
    }

    #[test]
    fn a_form_is_filled_in_or_declined() {
        let form = || {
            let schema = json!({"properties": {"age": {"type": "integer"}}});
            asked(&json!({"subtype": "elicitation", "requested_schema": schema}))
        };
        let says = |words: &str| response(form().answer("r", &[vec![words.to_owned()]]));
        assert_eq!(says("7"), json!({"action": "accept", "content": {"age": 7}}));
        assert_eq!(says("seven"), json!({"action": "decline"}));
        assert_eq!(response(form().reject("r")), json!({"action": "decline"}));
    }

    #[test]
    fn what_nobody_can_answer_is_refused_at_once() {
        let mut requests = Requests::new(None);
        let line =
            r#"{"type":"control_request","request_id":"r","request":{"subtype":"mcp_message","server_name":"x"}}"#;
        let refusal = requests.heard(line).expect("a refusal");
        assert!(refusal.contains(r#""subtype":"error""#) && refusal.contains(r#""request_id":"r""#), "{refusal}");
    }

    #[test]
    fn what_was_withdrawn_has_no_answer() {
        let mut requests = asked(&bash());
        requests.heard(r#"{"type":"control_cancel_request","request_id":"r"}"#);
        assert_eq!(requests.permission("r", PermissionReply::Once), None);
    }

    #[test]
    fn a_request_that_is_too_long_is_refused() {
        let request =
            br#"{"type":"control_request","request_id":"r1","request":{"subtype":"can_use_tool","input":{"text":"aaa"#;
        let line = refuse_unreadable(request, "too long").unwrap();
        assert!(line.contains("r1") && line.contains("too long"), "{line}");
        assert_eq!(refuse_unreadable(br#"{"type":"assistant","message":{"content":"aaa"#, "too long"), None);
    }
}
