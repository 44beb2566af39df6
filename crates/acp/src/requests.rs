//! Permissions and questions as requests to the client, and its answers.

use std::collections::BTreeMap;

use interlingua_client::{Client, PermissionAnswer};
use interlingua_native::acp::{
    AgentRequest, CreateElicitationRequest, CreateElicitationResponse, ElicitationContentValue,
    ElicitationPropertySchema, ElicitationSchema, FormCreateElicitationRequest, MultiSelectItems, PermissionOption,
    PermissionOptionKind, RequestPermissionOutcome, RequestPermissionRequest, StringElicitationPropertySchema,
    ToolCallStatus, ToolCallUpdate, ToolKind,
};
use interlingua_native::acp::{ArrayElicitationPropertySchema, MultiSelectItemsType};
use interlingua_native::new;
use interlingua_schema::{ApprovalScope, Permission, Question};

use crate::connection::{Connection, PendingRequest};
use crate::tool_calls::{diffs, locations, wire_kind};

const ALLOW_ONCE: &str = "allow_once";
const ALLOW_ALWAYS: &str = "allow_always";
const REJECT: &str = "reject_once";
/// Name of the field of a form with one question.
const ANSWER: &str = "answer";
/// Name of the field for an answer in the user's own words, if the question has choices too.
const OWN_WORDS: &str = "other";

/// The request for a permission.
pub(crate) fn permission_request(session: &str, permission: &Permission) -> AgentRequest {
    let metadata = permission.metadata.as_deref();
    let call_id = metadata.and_then(|metadata| metadata.call_id.clone());
    let input = metadata.and_then(|metadata| metadata.input.as_ref());
    let call = call_id.unwrap_or_else(|| format!("permission {}", permission.permission_id));
    let mut tool_call = new!(ToolCallUpdate { tool_call_id: call });
    tool_call.title = Some(permission.action.clone());
    tool_call.kind = metadata.map(|metadata| wire_kind(Some(&metadata.tool_kind), input));
    tool_call.status = Some(ToolCallStatus::Pending);
    tool_call.raw_input = input.and_then(|input| serde_json::to_value(input).ok()).map(Into::into);
    tool_call.locations = input.map(locations).filter(|locations| !locations.is_empty());
    tool_call.content = input.map(diffs).filter(|diffs| !diffs.is_empty());
    let scopes = metadata.map(|metadata| metadata.scopes.as_slice()).unwrap_or_default();
    let mut options = Vec::new();
    // The server takes an approval for once only where the agent offers it.
    if scopes.is_empty() || scopes.contains(&ApprovalScope::Once) {
        options.push(option(ALLOW_ONCE, "Allow", PermissionOptionKind::AllowOnce));
    }
    if scopes.iter().any(|scope| matches!(scope, ApprovalScope::Always | ApprovalScope::Session)) {
        options.push(option(ALLOW_ALWAYS, "Always allow", PermissionOptionKind::AllowAlways));
    }
    options.push(option(REJECT, "Reject", PermissionOptionKind::RejectOnce));
    new!(RequestPermissionRequest { options: options, session_id: session, tool_call: tool_call }).into()
}

fn option(id: &str, name: &str, kind: PermissionOptionKind) -> PermissionOption {
    new!(PermissionOption { kind: kind, name: name, option_id: id })
}

/// Waits for the client's answer to a permission request, and passes it on. A client that does not choose an option that
/// allows has rejected it.
pub(crate) async fn answer_permission(client: Client, session: String, id: String, request: PendingRequest) {
    let answer = match chosen_option(request).await.as_deref() {
        Some(ALLOW_ONCE) => PermissionAnswer::Once,
        Some(ALLOW_ALWAYS) => PermissionAnswer::Always,
        _ => PermissionAnswer::Reject,
    };
    if let Err(error) = client.reply_permission(&session, &id, answer).await {
        // Another client was faster, or the turn has ended.
        tracing::debug!(%session, permission = %id, %error, "an answer came too late");
    }
}

/// The option that the client chose; `None` if it chose none.
async fn chosen_option(request: PendingRequest) -> Option<String> {
    match request.answer::<RequestPermissionRequest>().await.ok()?.outcome? {
        RequestPermissionOutcome::Selected(selected) => selected.option_id,
        RequestPermissionOutcome::Cancelled(_) | RequestPermissionOutcome::Unknown { .. } => None,
    }
}

/// How a question is asked.
#[derive(Debug)]
pub(crate) enum AskedQuestion {
    /// As a form.
    Form(PendingRequest),
    /// As a permission request whose options are the choices, for a client without forms.
    Options(PendingRequest, Vec<String>),
    /// The client has no forms, and the question has no choices.
    Impossible,
}

impl AskedQuestion {
    /// Id of the request to the client.
    pub(crate) fn request_id(&self) -> Option<u64> {
        match self {
            Self::Form(request) | Self::Options(request, _) => Some(request.id()),
            Self::Impossible => None,
        }
    }
}

/// Asks the client a question.
pub(crate) fn ask(connection: &Connection, session: &str, question: &Question, has_forms: bool) -> AskedQuestion {
    let metadata = question.metadata.as_deref();
    let call = metadata.and_then(|metadata| metadata.call_id.clone());
    if has_forms {
        let mut schema = ElicitationSchema::new();
        let has_choices = !question.options.is_empty();
        let field = if has_choices && metadata.is_some_and(|metadata| metadata.multi_select) {
            let items = MultiSelectItems {
                enum_: Some(question.options.clone()),
                type_: Some(MultiSelectItemsType::String),
                ..MultiSelectItems::new()
            };
            ElicitationPropertySchema::from(new!(ArrayElicitationPropertySchema { items: items }))
        } else {
            StringElicitationPropertySchema {
                title: metadata.and_then(|metadata| metadata.header.clone()),
                enum_: has_choices.then(|| question.options.clone()),
                ..StringElicitationPropertySchema::new()
            }
            .into()
        };
        let mut fields = vec![(ANSWER.to_owned(), field)];
        if has_choices && metadata.is_some_and(|metadata| metadata.free_text) {
            let title = Some("Something else".to_owned());
            let field = StringElicitationPropertySchema { title, ..StringElicitationPropertySchema::new() };
            fields.push((OWN_WORDS.to_owned(), field.into()));
        } else {
            schema.required = Some(vec![ANSWER.to_owned()]);
        }
        schema.properties = Some(fields.into_iter().collect());
        let mut form =
            new!(FormCreateElicitationRequest { message: question.prompt.as_str(), requested_schema: schema });
        form.session_id = Some(session.to_owned());
        form.tool_call_id = call;
        return AskedQuestion::Form(connection.request(CreateElicitationRequest::from(form).into()));
    }
    if question.options.is_empty() {
        return AskedQuestion::Impossible;
    }
    let id = call.unwrap_or_else(|| format!("question {}", question.question_id));
    let mut tool_call = new!(ToolCallUpdate { tool_call_id: id });
    tool_call.title = Some(question.prompt.clone());
    tool_call.kind = Some(ToolKind::Other);
    let choice = |(index, label): (usize, &String)| option(&index.to_string(), label, PermissionOptionKind::AllowOnce);
    let mut options: Vec<PermissionOption> = question.options.iter().enumerate().map(choice).collect();
    options.push(option(REJECT, "No answer", PermissionOptionKind::RejectOnce));
    let request = new!(RequestPermissionRequest { options: options, session_id: session, tool_call: tool_call });
    AskedQuestion::Options(connection.request(request.into()), question.options.clone())
}

/// Waits for the client's answer to a question, and passes it on.
pub(crate) async fn answer_question(client: Client, session: String, id: String, asked: AskedQuestion) {
    let answer = match asked {
        AskedQuestion::Form(request) => form_answer(request).await,
        AskedQuestion::Options(request, labels) => {
            let chosen = chosen_option(request).await.and_then(|option| option.parse::<usize>().ok());
            chosen.and_then(|index| labels.get(index).cloned()).map(|label| vec![label])
        }
        AskedQuestion::Impossible => None,
    };
    let sent = match &answer {
        Some(answers) => client.reply_question(&session, &id, answers).await,
        None => client.reject_question(&session, &id).await,
    };
    if let Err(error) = sent {
        tracing::debug!(%session, question = %id, %error, "an answer came too late");
    }
}

/// The answer in a form; `None` if it was not filled in.
async fn form_answer(request: PendingRequest) -> Option<Vec<String>> {
    let response = request.answer::<CreateElicitationRequest>().await.ok()?;
    let CreateElicitationResponse::Accept(accepted) = response else { return None };
    answers_in(accepted.content?)
}

/// The chosen options and the user's own words.
fn answers_in(mut content: BTreeMap<String, ElicitationContentValue>) -> Option<Vec<String>> {
    let values = [content.remove(ANSWER), content.remove(OWN_WORDS)].into_iter().flatten();
    let answers = values.flat_map(|value| match value {
        ElicitationContentValue::Text(text) => vec![text],
        ElicitationContentValue::List(list) => list,
        ElicitationContentValue::Boolean(value) => vec![value.to_string()],
        ElicitationContentValue::Number(number) => vec![number.to_string()],
        ElicitationContentValue::Unknown(_) => Vec::new(),
    });
    let answers: Vec<String> = answers.filter(|answer| !answer.is_empty()).collect();
    (!answers.is_empty()).then_some(answers)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_what_the_agent_offers_can_be_chosen() {
        let kinds = |scopes: &[&str]| {
            let metadata = json!({ "tool_kind": "command", "input": { "command": "ls" }, "scopes": scopes });
            let permission =
                json!({ "permission_id": "p", "action": "Run ls", "status": "requested", "metadata": metadata });
            let permission: Permission = serde_json::from_value(permission).unwrap();
            let AgentRequest::SessionRequestPermission(request) = permission_request("s", &permission) else {
                panic!()
            };
            let options = request.options.unwrap();
            options.into_iter().map(|option| option.option_id.unwrap()).collect::<Vec<_>>()
        };
        assert_eq!(kinds(&["once", "always"]), [ALLOW_ONCE, ALLOW_ALWAYS, REJECT]);
        assert_eq!(kinds(&["once"]), [ALLOW_ONCE, REJECT]);
        assert_eq!(kinds(&["always"]), [ALLOW_ALWAYS, REJECT]);
    }

    #[tokio::test]
    async fn a_question_with_choices_keeps_them_beside_own_words() {
        let (output, mut lines) = tokio::io::duplex(1 << 16);
        let connection = Connection::open(output);
        let metadata =
            json!({ "options": [{ "label": "Red" }], "multi_select": false, "free_text": true, "secret": false });
        let question = json!({ "question_id": "q", "prompt": "Which?", "options": ["Red"], "status": "requested", "metadata": metadata });
        let question: Question = serde_json::from_value(question).unwrap();
        let asked = ask(&connection, "s", &question, true);
        let mut line = String::new();
        tokio::io::AsyncBufReadExt::read_line(&mut tokio::io::BufReader::new(&mut lines), &mut line).await.unwrap();
        let form: serde_json::Value = serde_json::from_str(&line).unwrap();
        let properties = &form["params"]["requestedSchema"]["properties"];
        assert_eq!((&properties["answer"]["enum"], &properties["other"]["type"]), (&json!(["Red"]), &json!("string")));
        drop(asked);
        let answers = |content: serde_json::Value| answers_in(serde_json::from_value(content).unwrap());
        assert_eq!(answers(json!({ "answer": "Red" })), Some(vec!["Red".to_owned()]));
        assert_eq!(answers(json!({ "answer": "", "other": "kiwi" })), Some(vec!["kiwi".to_owned()]));
        assert_eq!(answers(json!({ "other": "" })), None);
    }
}
