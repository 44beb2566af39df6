//! What the user is asked, and what an answer says.

use interlingua_native::Json;
use interlingua_schema::{QuestionAnswer, QuestionOption};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::inputs::option_label;
use crate::QuestionDraft;

/// The questions of an `AskUserQuestion`, by their text and as they are asked.
pub(super) fn questions(input: Option<&Json>, call: Option<&str>) -> (Vec<String>, Vec<QuestionDraft>) {
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
    let asks = input.questions.into_iter().map(|question| QuestionDraft {
        prompt: question.text,
        options: question.options.iter().filter_map(option).collect(),
        header: question.header,
        multi_select: question.multi_select,
        // The agent takes any answer.
        free_text: true,
        call_id: call.map(str::to_owned),
        ..QuestionDraft::default()
    });
    let asks: Vec<QuestionDraft> = asks.collect();
    (asks.iter().map(|ask| ask.prompt.clone()).collect(), asks)
}

fn option(option: &Value) -> Option<QuestionOption> {
    let mut named = QuestionOption::new(option_label(option)?);
    named.description = option.get("description").and_then(Value::as_str).map(str::to_owned);
    Some(named)
}

/// The answers by the text of the questions. A question without one is rejected.
pub(super) fn answers(questions: &[String], input: Option<&Json>) -> Vec<QuestionAnswer> {
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Input {
        answers: Map<String, Value>,
    }
    let input: Input = input.and_then(|input| input.decode().ok()).unwrap_or_default();
    let answer = |question: &String| match input.answers.get(question) {
        Some(Value::String(answer)) => QuestionAnswer::Answered(answer.clone()),
        Some(Value::Array(choices)) => {
            QuestionAnswer::Answered(choices.iter().map(plain).collect::<Vec<_>>().join(", "))
        }
        Some(Value::Null) | None => QuestionAnswer::Rejected(None),
        Some(other) => QuestionAnswer::Answered(other.to_string()),
    };
    questions.iter().map(answer).collect()
}

/// What can be chosen where a form has one field with a list of values.
pub(super) fn choices(schema: Option<&Value>) -> Vec<QuestionOption> {
    let fields = schema.and_then(|schema| schema.get("properties")).and_then(Value::as_object);
    let Some(field) = fields.filter(|fields| fields.len() == 1).and_then(|fields| fields.values().next()) else {
        return Vec::new();
    };
    if field.get("type").and_then(Value::as_str) == Some("boolean") {
        return vec![QuestionOption::new("true"), QuestionOption::new("false")];
    }
    let values = field.get("enum").and_then(Value::as_array);
    values.map(|values| values.iter().map(plain).map(QuestionOption::new).collect()).unwrap_or_default()
}

/// The words of an answer that accepts: the only field of a form, or all of it as JSON.
pub(super) fn accepted(answer: Option<&Json>) -> Option<String> {
    let answer = answer?.to_value();
    let said_no = ["action", "behavior"]
        .into_iter()
        .filter_map(|key| answer.get(key)?.as_str())
        .any(|word| matches!(word, "decline" | "cancel" | "cancelled" | "deny" | "reject"));
    if said_no || answer.is_null() {
        return None;
    }
    let content = answer.get("content").filter(|content| !content.is_null());
    Some(match content.and_then(Value::as_object) {
        Some(fields) if fields.len() == 1 => fields.values().map(plain).collect(),
        Some(fields) if !fields.is_empty() => Value::Object(fields.clone()).to_string(),
        _ => match content {
            Some(content) if !content.is_object() => plain(content),
            _ if answer.get("action").is_some() => "accept".to_owned(),
            _ => answer.to_string(),
        },
    })
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
