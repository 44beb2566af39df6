//! Questions to the user, and their answers.

use interlingua_native::Json;
use interlingua_schema::{QuestionAnswer, QuestionOption};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::inputs::option_label;
use crate::QuestionDraft;

/// Parses the questions of an `AskUserQuestion`. Returns their texts and their drafts.
pub(super) fn parse_questions(input: Option<&Json>, call_id: Option<&str>) -> (Vec<String>, Vec<QuestionDraft>) {
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Input {
        questions: Vec<Question>,
    }
    #[derive(Default, Deserialize)]
    #[serde(default, rename_all = "camelCase")]
    struct Question {
        #[serde(rename = "question")]
        text: String,
        header: Option<String>,
        options: Vec<Value>,
        multi_select: bool,
    }
    let input: Input = input.and_then(|input| input.decode().ok()).unwrap_or_default();
    let drafts = input.questions.into_iter().map(|question| QuestionDraft {
        prompt: question.text,
        options: question.options.iter().filter_map(parse_option).collect(),
        header: question.header,
        multi_select: question.multi_select,
        // The agent accepts any text as an answer.
        free_text: true,
        call_id: call_id.map(str::to_owned),
        ..QuestionDraft::default()
    });
    let drafts: Vec<QuestionDraft> = drafts.collect();
    (drafts.iter().map(|draft| draft.prompt.clone()).collect(), drafts)
}

fn parse_option(value: &Value) -> Option<QuestionOption> {
    let mut option = QuestionOption::new(option_label(value)?);
    option.description = value.get("description").and_then(Value::as_str).map(str::to_owned);
    Some(option)
}

/// Parses the answers, which are keyed by the text of the question. A question without an answer is rejected.
pub(super) fn parse_answers(questions: &[String], input: Option<&Json>) -> Vec<QuestionAnswer> {
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Input {
        answers: Map<String, Value>,
    }
    let input: Input = input.and_then(|input| input.decode().ok()).unwrap_or_default();
    let answer = |question: &String| match input.answers.get(question) {
        Some(Value::String(answer)) => QuestionAnswer::Answered(answer.clone()),
        Some(Value::Array(choices)) => {
            QuestionAnswer::Answered(choices.iter().map(to_text).collect::<Vec<_>>().join(", "))
        }
        Some(Value::Null) | None => QuestionAnswer::Rejected(None),
        Some(other) => QuestionAnswer::Answered(other.to_string()),
    };
    questions.iter().map(answer).collect()
}

/// The options of a form that has a single field with a fixed list of values.
pub(super) fn form_options(schema: Option<&Value>) -> Vec<QuestionOption> {
    let fields = schema.and_then(|schema| schema.get("properties")).and_then(Value::as_object);
    let Some(field) = fields.filter(|fields| fields.len() == 1).and_then(|fields| fields.values().next()) else {
        return Vec::new();
    };
    if field.get("type").and_then(Value::as_str) == Some("boolean") {
        return vec![QuestionOption::new("true"), QuestionOption::new("false")];
    }
    let values = field.get("enum").and_then(Value::as_array);
    values.map(|values| values.iter().map(to_text).map(QuestionOption::new).collect()).unwrap_or_default()
}

/// The text of an answer that accepts: the only field of a form, or all fields as JSON. `None` for a refusal.
pub(super) fn accepted_answer(answer: Option<&Json>) -> Option<String> {
    let answer = answer?.to_value();
    let is_refusal = ["action", "behavior"]
        .into_iter()
        .filter_map(|key| answer.get(key)?.as_str())
        .any(|word| matches!(word, "decline" | "cancel" | "cancelled" | "deny" | "reject"));
    if is_refusal || answer.is_null() {
        return None;
    }
    let content = answer.get("content").filter(|content| !content.is_null());
    Some(match content.and_then(Value::as_object) {
        Some(fields) if fields.len() == 1 => fields.values().map(to_text).collect(),
        Some(fields) if !fields.is_empty() => Value::Object(fields.clone()).to_string(),
        _ => match content {
            Some(content) if !content.is_object() => to_text(content),
            _ if answer.get("action").is_some() => "accept".to_owned(),
            _ => answer.to_string(),
        },
    })
}

/// A string without its quotes, or any other value as JSON.
fn to_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
