//! Permissions and questions as requests to the client, and its answers.

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
    let mut options = vec![option(ALLOW_ONCE, "Allow", PermissionOptionKind::AllowOnce)];
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
        let field = if metadata.is_some_and(|metadata| metadata.multi_select) {
            let items = MultiSelectItems {
                enum_: Some(question.options.clone()),
                type_: Some(MultiSelectItemsType::String),
                ..MultiSelectItems::new()
            };
            ElicitationPropertySchema::from(new!(ArrayElicitationPropertySchema { items: items }))
        } else {
            let is_choice = !question.options.is_empty() && !metadata.is_some_and(|metadata| metadata.free_text);
            StringElicitationPropertySchema {
                title: metadata.and_then(|metadata| metadata.header.clone()),
                enum_: is_choice.then(|| question.options.clone()),
                ..StringElicitationPropertySchema::new()
            }
            .into()
        };
        schema.properties = Some([(ANSWER.to_owned(), field)].into());
        schema.required = Some(vec![ANSWER.to_owned()]);
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
    match accepted.content?.remove(ANSWER)? {
        ElicitationContentValue::Text(text) => Some(vec![text]),
        ElicitationContentValue::List(list) => Some(list),
        ElicitationContentValue::Boolean(value) => Some(vec![value.to_string()]),
        ElicitationContentValue::Number(number) => Some(vec![number.to_string()]),
        ElicitationContentValue::Unknown(_) => None,
    }
}
