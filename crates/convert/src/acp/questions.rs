//! Questions that an agent asks with a permission request: whether a plan is approved, and those of a tool that asks the
//! user. The protocol has forms for them, which few agents use.

use foldhash::HashMap;
use interlingua_schema::{QuestionAnswer, ToolKind};
use serde::Deserialize;

use super::AcpConverter;
use super::tools::Tool;
use crate::{Drafts, QuestionDraft, claude};

/// What a permission request asks.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum AskedQuestions {
    /// Whether a plan is approved.
    Plan,
    /// This number of questions of a tool.
    Tool(usize),
}

/// The questions that a request for this call asks; `None` if it asks for a permission.
pub(super) fn asked_questions(tool: &Tool, call_id: &str) -> Option<(AskedQuestions, Vec<QuestionDraft>)> {
    if tool.describe().kind == ToolKind::Question {
        let questions = claude::adapter::questions(tool.described.arguments().as_ref(), Some(call_id));
        if !questions.is_empty() {
            return Some((AskedQuestions::Tool(questions.len()), questions));
        }
    }
    let plan = tool.described.plan_to_approve(tool.name())?;
    let mut question = QuestionDraft::plan_approval(plan);
    question.call_id = Some(call_id.to_owned());
    Some((AskedQuestions::Plan, vec![question]))
}

impl AcpConverter {
    /// The host answers. `is_approved`: it has chosen an option that allows.
    pub(super) fn questions_answered(
        &mut self,
        session: &str,
        id: &str,
        asked: &AskedQuestions,
        (response, is_approved): (Option<&str>, bool),
        out: &mut Drafts,
    ) {
        let mut drafts = self.drafts(session, out);
        match asked {
            _ if !is_approved => drafts.questions_rejected(id, None),
            AskedQuestions::Plan => {
                drafts.questions_answered(id, vec![QuestionAnswer::Answered("approve".to_owned())]);
            }
            AskedQuestions::Tool(count) => drafts.questions_answered(id, answers(response, *count)),
        }
    }
}

/// The answers, which Qwen Code takes beside the option, by the indexes of their questions. A question without an answer is
/// rejected.
fn answers(response: Option<&str>, count: usize) -> Vec<QuestionAnswer> {
    #[derive(Default, Deserialize)]
    struct Response {
        #[serde(default)]
        answers: HashMap<String, String>,
    }
    let response: Response = response.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
    let answer = |index: usize| match response.answers.get(&index.to_string()) {
        Some(answer) if !answer.is_empty() => QuestionAnswer::Answered(answer.clone()),
        _ => QuestionAnswer::Rejected(None),
    };
    (0..count).map(answer).collect()
}
