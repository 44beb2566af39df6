//! Elicitations: forms and URLs that the agent shows to the user. Each field of a form is a question.

use interlingua_agents::AcpDialect;
use interlingua_native::acp::{
    CreateElicitationRequest, CreateElicitationResponse, ElicitationContentValue, ElicitationPropertySchema,
    ElicitationSchema, EnumOption,
};
use interlingua_native::{FormQuestion, Json, Native as _};
use interlingua_schema::{QuestionAnswer, QuestionOption};
use serde::Deserialize;

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

/// Messages of forms that only introduce the questions.
const INTRODUCTIONS: [&str; 2] = ["Please answer the following questions.", "Codex needs your input to continue."];

/// A field of a form.
#[derive(Debug)]
struct Field {
    name: String,
    /// The field for the user's own words.
    own_words_in: Option<String>,
    /// Value and label of each option.
    options: Vec<(String, String)>,
}

impl AcpConverter {
    pub(super) fn elicitation_requested(&mut self, id: String, request: CreateElicitationRequest, out: &mut Drafts) {
        let (session, call, (form, mut questions)) = match request {
            CreateElicitationRequest::Form(request) => {
                let message = request.message.unwrap_or_default();
                let questions = form_questions(self.dialect, &message, request.requested_schema.as_ref());
                (request.session_id, request.tool_call_id, questions)
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
                let answer = |field: &Field| {
                    let chosen = content.get(&field.name).and_then(|value| field.answer(value)).unwrap_or_default();
                    let own = field.own_words_in.as_ref().and_then(|name| text(content.get(name)?));
                    let labels: Vec<String> = chosen.into_iter().chain(own).filter(|label| !label.is_empty()).collect();
                    match labels.as_slice() {
                        [] => QuestionAnswer::Rejected(None),
                        labels => QuestionAnswer::Answered(labels.join(", ")),
                    }
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

/// The user's own words.
fn text(value: &ElicitationContentValue) -> Option<String> {
    match value {
        ElicitationContentValue::Text(text) => Some(text.clone()),
        _ => None,
    }
}

/// The questions of a form, in the order of the names of their fields. A form without fields is one question.
fn form_questions(
    dialect: AcpDialect,
    message: &str,
    schema: Option<&ElicitationSchema>,
) -> (Form, Vec<QuestionDraft>) {
    let asked: Vec<FormQuestion<'_>> = schema.into_iter().flat_map(ElicitationSchema::questions).collect();
    if asked.is_empty() {
        let mut question = QuestionDraft::new(message);
        question.options = vec![QuestionOption::new(OPENED)];
        return (Form::default(), vec![question]);
    }
    let is_only = asked.len() == 1;
    let mut form = Form::default();
    let mut questions = Vec::new();
    for FormQuestion { name, property, free_text_field, .. } in asked {
        let property = Property::from(property.clone());
        // Codex has the question as the title.
        let (header, text) = match dialect {
            AcpDialect::Codex => (property.description, property.title),
            _ => (property.title, property.description),
        };
        let mut question = QuestionDraft::new(prompt(message, is_only, text, header.as_deref().unwrap_or(name)));
        question.header = header.or_else(|| (!is_only).then(|| name.to_owned()));
        question.multi_select = property.multi_select;
        question.free_text = property.options.is_empty() || free_text_field.is_some();
        question.secret = property.secret;
        question.options = property.options.iter().map(|choice| choice.option.clone()).collect();
        questions.push(question);
        let options = property.options.into_iter().map(|choice| (choice.value, choice.option.label)).collect();
        form.fields.push(Field { name: name.to_owned(), own_words_in: free_text_field.map(str::to_owned), options });
    }
    (form, questions)
}

/// The text of a question. A message that introduces several of them is repeated: each question stands alone.
fn prompt(message: &str, is_only: bool, text: Option<String>, label: &str) -> String {
    let text = text.filter(|text| !text.is_empty());
    if let Some(text) = text.as_ref().filter(|_| message.is_empty() || INTRODUCTIONS.contains(&message)) {
        return text.clone();
    }
    match text {
        Some(text) => format!("{message}\n{text}"),
        None if is_only && !message.is_empty() => message.to_owned(),
        None if message.is_empty() => label.to_owned(),
        None => format!("{message}\n{label}"),
    }
}

/// What the kinds of fields have in common.
#[derive(Default)]
struct Property {
    title: Option<String>,
    description: Option<String>,
    options: Vec<Choice>,
    multi_select: bool,
    secret: bool,
}

/// An option with the value that stands for it in the answer.
struct Choice {
    value: String,
    option: QuestionOption,
}

impl Choice {
    fn plain(value: String) -> Self {
        Self { option: QuestionOption::new(value.as_str()), value }
    }
}

impl From<ElicitationPropertySchema> for Property {
    fn from(schema: ElicitationPropertySchema) -> Self {
        let described = |title: Option<String>, description: Option<String>, meta: Option<Json>| Self {
            title,
            description,
            secret: meta.as_ref().is_some_and(is_secret),
            ..Self::default()
        };
        match schema {
            ElicitationPropertySchema::String(field) => Self {
                options: choices(field.one_of, field.enum_),
                ..described(field.title, field.description, field.meta)
            },
            ElicitationPropertySchema::Array(field) => Self {
                options: field.items.map(|items| choices(items.any_of, items.enum_)).unwrap_or_default(),
                multi_select: true,
                ..described(field.title, field.description, field.meta)
            },
            ElicitationPropertySchema::Boolean(field) => Self {
                options: ["true", "false"].map(|value| Choice::plain(value.to_owned())).into(),
                ..described(field.title, field.description, field.meta)
            },
            ElicitationPropertySchema::Number(field) => described(field.title, field.description, field.meta),
            ElicitationPropertySchema::Integer(field) => described(field.title, field.description, field.meta),
            ElicitationPropertySchema::Unknown { .. } => Self::default(),
        }
    }
}

/// Whether Codex marks the answer as a secret.
fn is_secret(meta: &Json) -> bool {
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Meta {
        codex: CodexMeta,
    }
    #[derive(Default, Deserialize)]
    #[serde(default, rename_all = "camelCase")]
    struct CodexMeta {
        is_secret: bool,
    }
    meta.decode::<Meta>().is_ok_and(|meta| meta.codex.is_secret)
}

fn choices(titled: Option<Vec<EnumOption>>, plain: Option<Vec<String>>) -> Vec<Choice> {
    let titled = titled.unwrap_or_default().into_iter().filter_map(|option| {
        let value = option.const_?;
        let mut label = QuestionOption::new(option.title.unwrap_or_else(|| value.clone()));
        label.description = option.description.filter(|description| !description.is_empty());
        Some(Choice { value, option: label })
    });
    titled.chain(plain.unwrap_or_default().into_iter().map(Choice::plain)).collect()
}
