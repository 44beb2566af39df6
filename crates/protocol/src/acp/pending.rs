//! What the agent asks the user: permissions and forms.

use std::collections::HashMap;

use interlingua_native::acp::{
    AcceptCreateElicitationResponse, AgentRequest, CancelCreateElicitationResponse, CancelledRequestPermissionOutcome,
    CreateElicitationRequest, CreateElicitationResponse, DeclineCreateElicitationResponse, ElicitationContentValue,
    ElicitationPropertySchema, ElicitationSchema, EnumOption, PermissionOption, PermissionOptionKind, RequestId,
    RequestPermissionOutcome, RequestPermissionRequest, RequestPermissionResponse, SelectedRequestPermissionOutcome,
};
use interlingua_native::{FormQuestion, Json, new};

use super::{INVALID_PARAMS, refuse, respond, respond_with_answers};

/// The option of a question whether to approve a plan that approves it.
const APPROVE_PLAN: &str = "approve";

/// The answer to a permission request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// Allowed, this time.
    Once,
    /// Allowed, from now on.
    Always,
    /// A plan is approved, or a question is answered: allowed, as narrow as possible.
    Approve,
    /// Rejected.
    Reject,
}

/// The user's answer to a request of the agent.
#[derive(Clone, Debug, PartialEq)]
pub enum Reply<'a> {
    /// To a permission request.
    Permission(Choice),
    /// To questions: for each in order, the chosen options or the written text.
    Answers(&'a [Vec<String>]),
    /// The questions are not answered.
    Decline,
}

/// What a request of the agent is, for the host.
#[derive(Clone, Debug, PartialEq)]
pub enum Received {
    /// The user has to answer it.
    Pending,
    /// The host serves it itself: files and terminals.
    Service(Box<AgentRequest>),
}

#[derive(Debug)]
enum Pending {
    Permission {
        options: Vec<PermissionOption>,
        /// The request is for a tool that asks the user, and takes the answers.
        has_questions: bool,
    },
    Form(Option<ElicitationSchema>),
    Url,
}

/// Requests of the agent that wait for the user, by the text of their ids.
#[derive(Debug, Default)]
pub struct PendingRequests(HashMap<String, (RequestId, Pending)>);

impl PendingRequests {
    /// Takes a request of the agent.
    pub fn receive(&mut self, id: RequestId, request: AgentRequest) -> Received {
        let pending = match request {
            AgentRequest::SessionRequestPermission(request) => Pending::Permission {
                has_questions: request.tool_call.and_then(|call| call.raw_input).as_ref().is_some_and(has_questions),
                options: request.options.unwrap_or_default(),
            },
            AgentRequest::ElicitationCreate(CreateElicitationRequest::Form(form)) => {
                Pending::Form(form.requested_schema)
            }
            AgentRequest::ElicitationCreate(CreateElicitationRequest::Url(_)) => Pending::Url,
            other => return Received::Service(Box::new(other)),
        };
        self.0.insert(id.to_string(), (id, pending));
        Received::Pending
    }

    /// Forgets a request that the agent has withdrawn. Such a request is still answered, as JSON-RPC requires.
    pub fn withdraw(&mut self, id: &RequestId) -> Option<String> {
        let (id, pending) = self.0.remove(&id.to_string())?;
        Some(cancelled(id, &pending))
    }

    /// The line that answers a request; `None` if it does not wait any more.
    pub fn reply(&mut self, key: &str, reply: &Reply<'_>) -> Option<String> {
        let (id, pending) = self.0.remove(key)?;
        Some(match (pending, reply) {
            (Pending::Permission { options, .. }, Reply::Permission(choice)) => {
                answer_permission(id, &options, *choice)
            }
            (Pending::Form(schema), Reply::Answers(answers)) => match fill_in(schema.as_ref(), answers) {
                Ok(accepted) => answer_form(id, &accepted.into()),
                Err(reason) => refuse(id, INVALID_PARAMS, &reason),
            },
            (Pending::Url, Reply::Answers(_)) => answer_form(id, &AcceptCreateElicitationResponse::new().into()),
            (Pending::Form(_) | Pending::Url, _) => answer_form(id, &DeclineCreateElicitationResponse::new().into()),
            (Pending::Permission { options, has_questions: true }, Reply::Answers(answers)) => {
                answer_questions(id, &options, answers)
            }
            (Pending::Permission { options, .. }, Reply::Answers(answers)) => {
                let mut chosen = answers.iter().flatten().peekable();
                let is_approved = chosen.peek().is_some() && chosen.all(|answer| answer == APPROVE_PLAN);
                answer_permission(id, &options, if is_approved { Choice::Approve } else { Choice::Reject })
            }
            (Pending::Permission { options, .. }, Reply::Decline) => answer_permission(id, &options, Choice::Reject),
        })
    }

    /// The lines that cancel all requests, because their turn is cancelled.
    pub fn cancel_all(&mut self) -> Vec<String> {
        let mut all: Vec<(RequestId, Pending)> = std::mem::take(&mut self.0).into_values().collect();
        all.sort_by_key(|(id, _)| id.to_string());
        all.into_iter().map(|(id, pending)| cancelled(id, &pending)).collect()
    }
}

fn cancelled(id: RequestId, pending: &Pending) -> String {
    match pending {
        Pending::Permission { .. } => answer_permission_with(id, CancelledRequestPermissionOutcome::new().into()),
        Pending::Form(_) | Pending::Url => answer_form(id, &CancelCreateElicitationResponse::new().into()),
    }
}

fn answer_permission(id: RequestId, options: &[PermissionOption], choice: Choice) -> String {
    match choose(options, choice) {
        Some(option) => answer_permission_with(id, new!(SelectedRequestPermissionOutcome { option_id: option }).into()),
        None => answer_permission_with(id, CancelledRequestPermissionOutcome::new().into()),
    }
}

/// Whether a permission request is for a tool that asks the user.
fn has_questions(input: &Json) -> bool {
    input.to_value().get("questions").is_some_and(serde_json::Value::is_array)
}

/// Answers the questions of a tool. The answers go beside an option that allows, by the indexes of their questions, as
/// Qwen Code takes them.
fn answer_questions(id: RequestId, options: &[PermissionOption], answers: &[Vec<String>]) -> String {
    let Some(option) = choose(options, Choice::Approve) else {
        return answer_permission_with(id, CancelledRequestPermissionOutcome::new().into());
    };
    let outcome: RequestPermissionOutcome = new!(SelectedRequestPermissionOutcome { option_id: option }).into();
    let response = new!(RequestPermissionResponse { outcome: outcome });
    let by_index = answers.iter().enumerate().map(|(index, answer)| (index.to_string(), answer.join(", ").into()));
    respond_with_answers(id, &response, by_index.collect())
}

fn answer_permission_with(id: RequestId, outcome: RequestPermissionOutcome) -> String {
    respond::<RequestPermissionRequest>(id, &new!(RequestPermissionResponse { outcome: outcome }))
}

/// The option for a choice, by its kind. A choice never turns into its opposite, and an approval never gets wider. An
/// option of an unknown kind is never chosen.
fn choose(options: &[PermissionOption], choice: Choice) -> Option<&str> {
    let kinds: &[PermissionOptionKind] = match choice {
        Choice::Once => &[PermissionOptionKind::AllowOnce],
        Choice::Approve => &[PermissionOptionKind::AllowOnce, PermissionOptionKind::AllowAlways],
        Choice::Always => &[PermissionOptionKind::AllowAlways, PermissionOptionKind::AllowOnce],
        Choice::Reject => &[PermissionOptionKind::RejectOnce, PermissionOptionKind::RejectAlways],
    };
    kinds.iter().find_map(|kind| {
        let option = options.iter().find(|option| option.kind.as_ref() == Some(kind))?;
        option.option_id.as_deref()
    })
}

fn answer_form(id: RequestId, response: &CreateElicitationResponse) -> String {
    respond::<CreateElicitationRequest>(id, response)
}

/// Fills in a form with the answers to its questions.
fn fill_in(
    schema: Option<&ElicitationSchema>,
    answers: &[Vec<String>],
) -> Result<AcceptCreateElicitationResponse, String> {
    let questions = schema.into_iter().flat_map(ElicitationSchema::questions);
    let mut content = std::collections::BTreeMap::new();
    for (question, answer) in questions.zip(answers) {
        let (chosen, own) = split_own_words(question, answer);
        if let Some((field, words)) = question.free_text_field.zip(own) {
            content.insert(field.to_owned(), ElicitationContentValue::Text(words));
        }
        if chosen.is_empty() && question.free_text_field.is_some() {
            continue;
        }
        let value = field_value(question.property, &chosen)
            .ok_or_else(|| format!("the answer does not fit the field `{}`", question.name))?;
        content.insert(question.name.to_owned(), value);
    }
    Ok(AcceptCreateElicitationResponse { content: Some(content), ..AcceptCreateElicitationResponse::new() })
}

/// Splits an answer into the chosen options and the user's own words, if there is a field for them.
fn split_own_words(question: FormQuestion<'_>, answer: &[String]) -> (Vec<String>, Option<String>) {
    if question.free_text_field.is_none() {
        return (answer.to_vec(), None);
    }
    let labels = option_labels(question.property);
    let (chosen, own): (Vec<String>, Vec<String>) = answer.iter().cloned().partition(|text| labels.contains(text));
    (chosen, (!own.is_empty()).then(|| own.join(", ")))
}

/// The labels of the options of a field.
fn option_labels(field: &ElicitationPropertySchema) -> Vec<String> {
    let labels = |titled: Option<&Vec<EnumOption>>, plain: Option<&Vec<String>>| {
        let titled = titled.into_iter().flatten().filter_map(|option| option.title.clone().or(option.const_.clone()));
        titled.chain(plain.into_iter().flatten().cloned()).collect()
    };
    match field {
        ElicitationPropertySchema::String(field) => labels(field.one_of.as_ref(), field.enum_.as_ref()),
        ElicitationPropertySchema::Array(field) => match &field.items {
            Some(items) => labels(items.any_of.as_ref(), items.enum_.as_ref()),
            None => Vec::new(),
        },
        _ => Vec::new(),
    }
}

/// The answer as the type of its field. The label of an option stands for its value.
fn field_value(field: &ElicitationPropertySchema, answer: &[String]) -> Option<ElicitationContentValue> {
    let text = answer.join(", ");
    match field {
        ElicitationPropertySchema::String(field) => {
            let option = field.one_of.iter().flatten().find(|option| option.title.as_deref() == Some(text.as_str()));
            let value = option.and_then(|option| option.const_.clone());
            Some(ElicitationContentValue::Text(value.unwrap_or(text)))
        }
        ElicitationPropertySchema::Array(field) => {
            let options = field.items.as_ref().and_then(|items| items.any_of.as_ref());
            let value = |label: &String| {
                let option = options.into_iter().flatten().find(|option| option.title.as_ref() == Some(label));
                option.and_then(|option| option.const_.clone()).unwrap_or_else(|| label.clone())
            };
            Some(ElicitationContentValue::List(answer.iter().map(value).collect()))
        }
        ElicitationPropertySchema::Boolean(_) => text.trim().parse().ok().map(ElicitationContentValue::Boolean),
        ElicitationPropertySchema::Number(_) | ElicitationPropertySchema::Integer(_) => {
            serde_json::from_str(text.trim()).ok().map(ElicitationContentValue::Number)
        }
        ElicitationPropertySchema::Unknown { .. } => Some(ElicitationContentValue::Text(text)),
    }
}

#[cfg(test)]
mod tests {
    use interlingua_native::Native as _;
    use interlingua_native::acp::AgentRequestEnvelope;
    use serde_json::{Value, json};

    use super::*;

    fn request(method: &str, params: &Value) -> (RequestId, AgentRequest) {
        let line = json!({ "jsonrpc": "2.0", "id": 0, "method": method, "params": params }).to_string();
        let envelope = AgentRequestEnvelope::decode(&line).unwrap().value;
        (envelope.id.unwrap(), envelope.message)
    }

    /// The outcome of a permission request with options of these kinds.
    fn outcome(kinds: &[&str], choice: Choice) -> Value {
        let option = |kind: &&str| json!({ "optionId": format!("id of {kind}"), "name": kind, "kind": kind });
        let options: Vec<Value> = kinds.iter().map(option).collect();
        let call = json!({ "toolCallId": "t" });
        let params = json!({ "sessionId": "s", "toolCall": call, "options": options });
        let (id, request) = request("session/request_permission", &params);
        let mut pending = PendingRequests::default();
        assert_eq!(pending.receive(id, request), Received::Pending);
        let line = pending.reply("0", &Reply::Permission(choice)).unwrap();
        assert_eq!(pending.reply("0", &Reply::Permission(choice)), None);
        serde_json::from_str::<Value>(&line).unwrap()["result"]["outcome"].clone()
    }

    #[test]
    fn an_option_is_chosen_by_its_kind_and_never_its_opposite() {
        let selected = |kind: &str| json!({ "outcome": "selected", "optionId": format!("id of {kind}") });
        let cancelled = json!({ "outcome": "cancelled" });
        let all = ["allow_always", "allow_once", "reject_once"];
        assert_eq!(outcome(&all, Choice::Once), selected("allow_once"));
        assert_eq!(outcome(&all, Choice::Always), selected("allow_always"));
        assert_eq!(outcome(&all, Choice::Reject), selected("reject_once"));
        assert_eq!(outcome(&["allow_once", "reject_always"], Choice::Always), selected("allow_once"));
        assert_eq!(outcome(&["allow_once", "reject_always"], Choice::Reject), selected("reject_always"));
        assert_eq!(outcome(&["allow_always", "allow_if_raining"], Choice::Once), cancelled);
        assert_eq!(outcome(&["allow_once", "allow_always"], Choice::Reject), cancelled);
    }

    #[test]
    fn a_form_is_filled_in_with_values_of_its_types() {
        let schema = json!({ "type": "object", "properties": {
            "age": { "type": "integer" },
            "colour": { "type": "string", "oneOf": [{ "const": "r", "title": "Red" }] },
            "sure": { "type": "boolean" },
        } });
        let params = json!({ "mode": "form", "sessionId": "s", "message": "?", "requestedSchema": schema });
        let answers = [vec!["7".to_owned()], vec!["Red".to_owned()], vec!["true".to_owned()]];
        let mut pending = PendingRequests::default();
        let (id, form) = request("elicitation/create", &params);
        pending.receive(id, form);
        let line: Value = serde_json::from_str(&pending.reply("0", &Reply::Answers(&answers)).unwrap()).unwrap();
        let expected = json!({ "action": "accept", "content": { "age": 7, "colour": "r", "sure": true } });
        assert_eq!(line["result"], expected);
    }

    #[test]
    fn own_words_go_into_the_field_for_them() {
        let colour = json!({ "type": "string", "oneOf": [{ "const": "r", "title": "Red" }] });
        let properties = json!({ "question_0": colour, "question_0_custom": { "type": "string" } });
        let schema = json!({ "type": "object", "properties": properties });
        let params = json!({ "mode": "form", "sessionId": "s", "message": "?", "requestedSchema": schema });
        for (answer, content) in [
            (&["Red"][..], json!({ "question_0": "r" })),
            (&["Green"], json!({ "question_0_custom": "Green" })),
            (&["Red", "dark"], json!({ "question_0": "r", "question_0_custom": "dark" })),
        ] {
            let answers = [answer.iter().map(|text| (*text).to_owned()).collect()];
            let mut pending = PendingRequests::default();
            let (id, form) = request("elicitation/create", &params);
            pending.receive(id, form);
            let line: Value = serde_json::from_str(&pending.reply("0", &Reply::Answers(&answers)).unwrap()).unwrap();
            assert_eq!(line["result"]["content"], content);
        }
    }

    #[test]
    fn questions_in_a_permission_request_are_answered_by_an_option() {
        let options = json!([
            { "optionId": "yes", "name": "Submit", "kind": "allow_once" },
            { "optionId": "no", "name": "Cancel", "kind": "reject_once" },
        ]);
        let answer = |input: Value, reply: &Reply<'_>| {
            let call = json!({ "toolCallId": "t", "rawInput": input });
            let params = json!({ "sessionId": "s", "toolCall": call, "options": options });
            let mut pending = PendingRequests::default();
            let (id, asked) = request("session/request_permission", &params);
            pending.receive(id, asked);
            serde_json::from_str::<Value>(&pending.reply("0", reply).unwrap()).unwrap()["result"].clone()
        };
        let words = |texts: &[&str]| vec![texts.iter().map(|text| (*text).to_owned()).collect::<Vec<String>>()];
        let (plan, questions) = (json!({ "plan": "1. do it" }), json!({ "questions": [{ "question": "Which?" }] }));
        let chosen = answer(questions.clone(), &Reply::Answers(&words(&["Red", "Blue"])));
        assert_eq!((&chosen["outcome"]["optionId"], &chosen["answers"]), (&json!("yes"), &json!({ "0": "Red, Blue" })));
        let approved = json!({ "outcome": { "outcome": "selected", "optionId": "yes" } });
        assert_eq!(answer(plan.clone(), &Reply::Answers(&words(&["approve"]))), approved);
        for rejection in [words(&["reject"]), words(&["approve", "reject"]), words(&[]), Vec::new()] {
            assert_eq!(answer(plan.clone(), &Reply::Answers(&rejection))["outcome"]["optionId"], "no");
        }
        assert_eq!(answer(questions, &Reply::Decline)["outcome"]["optionId"], "no");
    }

    #[test]
    fn a_withdrawn_request_is_answered_as_cancelled() {
        let params = json!({ "sessionId": "s", "toolCall": { "toolCallId": "t" }, "options": [] });
        let (id, request) = request("session/request_permission", &params);
        let mut pending = PendingRequests::default();
        pending.receive(id.clone(), request);
        assert!(pending.withdraw(&id).unwrap().contains("cancelled"));
        assert_eq!(pending.withdraw(&id), None);
    }
}
