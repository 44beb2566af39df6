//! Elicitations: forms and URLs that the agent shows to the user. Each field of a form is a question.

use interlingua_native::Native as _;
use interlingua_native::acp::{
    CreateElicitationRequest, CreateElicitationResponse, ElicitationContentValue, ElicitationPropertySchema,
    ElicitationSchema, EnumOption,
};
use interlingua_schema::{QuestionAnswer, QuestionOption};

use super::agent_requests::AgentRequestState;
use super::{ACP, AcpConverter};
use crate::{Drafts, QuestionDraft};

/// Label of the option that says that the user has opened a URL.
const OPENED: &str = "done";

/// The questions of an elicitation.
#[derive(Debug, Default)]
pub(super) struct Form {
    /// For each question the name of its field; empty for a URL, which has no fields.
    fields: Vec<Field>,
}

/// A field of a form.
#[derive(Debug)]
struct Field {
    name: String,
    /// Value and label of each option.
    options: Vec<(String, String)>,
}

impl AcpConverter {
    pub(super) fn elicitation_requested(&mut self, id: String, request: CreateElicitationRequest, out: &mut Drafts) {
        let (session, call, (form, mut questions)) = match request {
            CreateElicitationRequest::Form(request) => {
                let message = request.message.unwrap_or_default();
                (request.session_id, request.tool_call_id, form_questions(&message, request.requested_schema))
            }
            CreateElicitationRequest::Url(request) => {
                let url = request.url.unwrap_or_default();
                let mut question = QuestionDraft::new(format!("{}\n{url}", request.message.unwrap_or_default()));
                question.options = vec![QuestionOption::new(OPENED)];
                (request.session_id, request.tool_call_id, (Form::default(), vec![question]))
            }
            CreateElicitationRequest::Unknown { tag, .. } => {
                return out.current_session().unparsed(ACP, "unknown elicitation", Some(tag));
            }
        };
        for question in &mut questions {
            question.call_id.clone_from(&call);
        }
        // An elicitation that belongs to a request, such as `session/new`, has no session.
        let session = session.unwrap_or_default();
        if session.is_empty() {
            out.current_session().questions_requested(id.as_str(), questions);
        } else {
            self.drafts(&session, out).questions_requested(id.as_str(), questions);
        }
        self.agent_requests.insert(id, AgentRequestState::Elicitation { session, form });
    }

    /// The host answers an elicitation. Anything but an accepted form rejects the questions.
    pub(super) fn elicitation_answered(
        &mut self,
        session: &str,
        id: &str,
        form: &Form,
        result: Option<&str>,
        out: &mut Drafts,
    ) {
        let mut drafts = if session.is_empty() { out.current_session() } else { self.drafts(session, out) };
        let response = result.and_then(|result| CreateElicitationResponse::decode(result).ok());
        match response.map(|response| response.value) {
            Some(CreateElicitationResponse::Accept(accepted)) => {
                let content = accepted.content.unwrap_or_default();
                let answer = |field: &Field| match content.get(&field.name).and_then(|value| field.answer(value)) {
                    Some(labels) => QuestionAnswer::Answered(labels.join(", ")),
                    None => QuestionAnswer::Rejected(None),
                };
                let answers = match form.fields.as_slice() {
                    [] => vec![QuestionAnswer::Answered(OPENED.to_owned())],
                    fields => fields.iter().map(answer).collect(),
                };
                drafts.questions_answered(id, answers);
            }
            Some(
                CreateElicitationResponse::Decline(_)
                | CreateElicitationResponse::Cancel(_)
                | CreateElicitationResponse::Unknown { .. },
            )
            | None => drafts.questions_rejected(id, None),
        }
    }
}

impl Field {
    /// The labels of the chosen values, or the value as text.
    fn answer(&self, value: &ElicitationContentValue) -> Option<Vec<String>> {
        let label = |value: &str| {
            let option = self.options.iter().find(|(known, _)| known == value);
            option.map_or_else(|| value.to_owned(), |(_, label)| label.clone())
        };
        match value {
            ElicitationContentValue::Text(text) => Some(vec![label(text)]),
            ElicitationContentValue::List(list) => Some(list.iter().map(|text| label(text)).collect()),
            ElicitationContentValue::Boolean(value) => Some(vec![label(&value.to_string())]),
            ElicitationContentValue::Number(number) => Some(vec![number.to_string()]),
            ElicitationContentValue::Unknown(_) => None,
        }
    }
}

/// The questions of a form, one per field in the order of their names. A form without fields is one question.
fn form_questions(message: &str, schema: Option<ElicitationSchema>) -> (Form, Vec<QuestionDraft>) {
    let properties = schema.and_then(|schema| schema.properties).unwrap_or_default();
    if properties.is_empty() {
        let mut question = QuestionDraft::new(message);
        question.options = vec![QuestionOption::new(OPENED)];
        return (Form::default(), vec![question]);
    }
    let is_only = properties.len() == 1;
    let mut form = Form::default();
    let mut questions = Vec::new();
    for (name, property) in properties {
        let property = Property::from(property);
        let label = property.description.or(property.title.clone()).unwrap_or_else(|| name.clone());
        // A message that introduces several fields is repeated: each question stands alone.
        let prompt = if message.is_empty() || (is_only && label == name) {
            message.to_owned()
        } else {
            format!("{message}\n{label}")
        };
        let mut question = QuestionDraft::new(if prompt.is_empty() { label } else { prompt });
        question.header = property.title.or_else(|| Some(name.clone()));
        question.multi_select = property.multi_select;
        question.free_text = property.options.is_empty();
        question.options = property.options.iter().map(|(_, label)| QuestionOption::new(label.as_str())).collect();
        questions.push(question);
        form.fields.push(Field { name, options: property.options });
    }
    (form, questions)
}

/// What the kinds of fields have in common.
#[derive(Default)]
struct Property {
    title: Option<String>,
    description: Option<String>,
    options: Vec<(String, String)>,
    multi_select: bool,
}

impl From<ElicitationPropertySchema> for Property {
    fn from(schema: ElicitationPropertySchema) -> Self {
        match schema {
            ElicitationPropertySchema::String(field) => Self {
                title: field.title,
                description: field.description,
                options: options(field.one_of, field.enum_),
                multi_select: false,
            },
            ElicitationPropertySchema::Array(field) => Self {
                title: field.title,
                description: field.description,
                options: field.items.map(|items| options(items.any_of, items.enum_)).unwrap_or_default(),
                multi_select: true,
            },
            ElicitationPropertySchema::Boolean(field) => Self {
                title: field.title,
                description: field.description,
                options: ["true", "false"].map(|value| (value.to_owned(), value.to_owned())).to_vec(),
                multi_select: false,
            },
            ElicitationPropertySchema::Number(field) => {
                Self { title: field.title, description: field.description, ..Self::default() }
            }
            ElicitationPropertySchema::Integer(field) => {
                Self { title: field.title, description: field.description, ..Self::default() }
            }
            ElicitationPropertySchema::Unknown { .. } => Self::default(),
        }
    }
}

/// Value and label of each option.
fn options(titled: Option<Vec<EnumOption>>, plain: Option<Vec<String>>) -> Vec<(String, String)> {
    let titled = titled.unwrap_or_default().into_iter().filter_map(|option| {
        let value = option.const_?;
        let label = option.title.unwrap_or_else(|| value.clone());
        Some((value, label))
    });
    titled.chain(plain.unwrap_or_default().into_iter().map(|value| (value.clone(), value))).collect()
}
