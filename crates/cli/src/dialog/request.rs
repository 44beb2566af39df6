//! A request of an agent: how it is shown, and which answers are accepted.

use std::io::{self, Write};

use interlingua_schema::{ApprovalScope, EventData, Permission, Question, ToolInput};

use crate::run::Reply;
use crate::show::sanitize;

/// Maximum number of lines that are shown of a diff or command.
const MAX_DETAIL_LINES: usize = 40;

/// A permission request or question that waits for an answer.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Request {
    Permission(Box<Permission>),
    Question(Box<Question>),
}

/// The user's answer to a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// Reply to a permission request.
    Permission { id: String, reply: Reply },
    /// Answer to a question; `None` rejects it.
    Question { id: String, answers: Option<Vec<String>> },
}

impl Answer {
    /// Id of the request.
    pub(crate) fn id(&self) -> &str {
        match self {
            Self::Permission { id, .. } | Self::Question { id, .. } => id,
        }
    }
}

impl Request {
    /// The request that an event makes.
    pub(crate) fn from_event(data: &EventData) -> Option<Self> {
        match data {
            EventData::PermissionRequested(permission) => Some(Self::Permission(Box::new(permission.clone()))),
            EventData::QuestionRequested(question) => Some(Self::Question(Box::new(question.clone()))),
            _ => None,
        }
    }

    pub(crate) fn id(&self) -> &str {
        match self {
            Self::Permission(permission) => &permission.permission_id,
            Self::Question(question) => &question.question_id,
        }
    }

    pub(super) fn is_permission(&self, id: &str) -> bool {
        matches!(self, Self::Permission(permission) if permission.permission_id == id)
    }

    pub(super) fn is_question(&self, id: &str) -> bool {
        matches!(self, Self::Question(question) if question.question_id == id)
    }

    /// Writes what must be known before the answer: reason, command and diffs, or the options.
    pub(super) fn describe(&self, output: &mut impl Write) -> io::Result<()> {
        match self {
            Self::Permission(permission) => describe_permission(permission, output),
            Self::Question(question) => describe_question(question, output),
        }
    }

    /// Writes the line at whose end the answer is typed.
    pub(super) fn write_prompt(&self, shows_id: bool, output: &mut impl Write) -> io::Result<()> {
        if shows_id {
            write!(output, "[{}] ", one_line(self.id()))?;
        }
        match self {
            Self::Permission(permission) => {
                write!(output, "{}? {}: ", one_line(&permission.action), reply_choices(permission))
            }
            Self::Question(question) => write!(output, "{}; leave empty to reject: ", answer_choices(question)),
        }
    }

    /// Parses a line as the answer; `None` is the end of the input, which denies or rejects. If it is no answer, the
    /// error says what is expected.
    pub(super) fn parse_answer(&self, line: Option<&str>) -> Result<Answer, String> {
        let line = line.map(str::trim);
        match self {
            Self::Permission(permission) => {
                let reply = line.map_or(Ok(Reply::Reject), |line| parse_reply(line, permission))?;
                Ok(Answer::Permission { id: permission.permission_id.clone(), reply })
            }
            Self::Question(question) => {
                let answers = match line {
                    None | Some("") => None,
                    Some(line) => Some(parse_answers(line, question)?),
                };
                Ok(Answer::Question { id: question.question_id.clone(), answers })
            }
        }
    }
}

fn one_line(text: &str) -> String {
    sanitize(text).replace('\n', " ")
}

fn can_be_approved_always(permission: &Permission) -> bool {
    let scopes = permission.metadata.as_ref().map(|metadata| metadata.scopes.as_slice()).unwrap_or_default();
    scopes.iter().any(|scope| *scope != ApprovalScope::Once)
}

fn reply_choices(permission: &Permission) -> &'static str {
    if can_be_approved_always(permission) { "[y]es, [a]lways, [n]o" } else { "[y]es, [n]o" }
}

fn parse_reply(line: &str, permission: &Permission) -> Result<Reply, String> {
    match line.to_lowercase().as_str() {
        "y" | "yes" | "once" => Ok(Reply::Once),
        "a" | "always" if can_be_approved_always(permission) => Ok(Reply::Always),
        "n" | "no" | "reject" => Ok(Reply::Reject),
        _ => Err(format!("Expected one of {}.", reply_choices(permission))),
    }
}

fn describe_permission(permission: &Permission, output: &mut impl Write) -> io::Result<()> {
    let Some(metadata) = &permission.metadata else { return Ok(()) };
    if let Some(reason) = &metadata.reason {
        write_indented(reason, output)?;
    }
    match &metadata.input {
        Some(ToolInput::Command(input)) if !permission.action.contains(&input.command) => {
            write_indented(&input.command, output)
        }
        Some(ToolInput::FileChange(input)) => input.changes.iter().try_for_each(|change| {
            if !permission.action.contains(&change.path) {
                write_indented(&change.path, output)?;
            }
            change.diff.as_deref().map_or(Ok(()), |diff| write_indented(diff, output))
        }),
        Some(ToolInput::Mcp(input)) => write_indented(&serde_json::to_string(input)?, output),
        Some(ToolInput::Unknown(input)) => write_indented(&input.to_string(), output),
        _ => Ok(()),
    }
}

fn write_indented(text: &str, output: &mut impl Write) -> io::Result<()> {
    let text = sanitize(text);
    let count = text.lines().count();
    for line in text.lines().take(MAX_DETAIL_LINES) {
        writeln!(output, "  {line}")?;
    }
    if count > MAX_DETAIL_LINES {
        writeln!(output, "  … {} more lines", count - MAX_DETAIL_LINES)?;
    }
    Ok(())
}

fn describe_question(question: &Question, output: &mut impl Write) -> io::Result<()> {
    writeln!(output, "{}", sanitize(&question.prompt))?;
    let options = question.metadata.as_ref().map(|metadata| metadata.options.as_slice()).unwrap_or_default();
    for (index, label) in question.options.iter().enumerate() {
        let description = options.get(index).and_then(|option| option.description.as_deref());
        let description = description.map(|text| format!(": {}", one_line(text))).unwrap_or_default();
        writeln!(output, "  {}. {}{description}", index + 1, one_line(label))?;
    }
    Ok(())
}

/// Whether an answer may be something else than options. Without metadata, it may.
fn allows_free_text(question: &Question) -> bool {
    question.options.is_empty() || question.metadata.as_ref().is_none_or(|metadata| metadata.free_text)
}

/// Whether several options may be chosen. Without metadata, they may.
fn allows_several(question: &Question) -> bool {
    question.metadata.as_ref().is_none_or(|metadata| metadata.multi_select)
}

fn answer_choices(question: &Question) -> String {
    let count = question.options.len();
    let numbers = match (count, allows_several(question)) {
        (0, _) => return "Your answer".to_owned(),
        (1, _) => "1".to_owned(),
        (_, true) => format!("Numbers from 1 to {count}, such as 1,2"),
        (_, false) => format!("A number from 1 to {count}"),
    };
    if allows_free_text(question) { format!("{numbers}, or your own answer") } else { numbers }
}

/// Parses numbers of options, a label, or free text.
fn parse_answers(line: &str, question: &Question) -> Result<Vec<String>, String> {
    let options = &question.options;
    if options.is_empty() {
        return Ok(vec![line.to_owned()]);
    }
    if let Some(label) = options.iter().find(|label| label.eq_ignore_ascii_case(line)) {
        return Ok(vec![label.clone()]);
    }
    let expected = || Err(format!("Expected: {}.", answer_choices(question)));
    let words = line.split([',', ' ']).filter(|word| !word.is_empty());
    let Ok(mut numbers) = words.map(str::parse::<usize>).collect::<Result<Vec<_>, _>>() else {
        return if allows_free_text(question) { Ok(vec![line.to_owned()]) } else { expected() };
    };
    numbers.dedup();
    if numbers.is_empty() || (numbers.len() > 1 && !allows_several(question)) {
        return expected();
    }
    let labels: Option<Vec<String>> =
        numbers.into_iter().map(|number| options.get(number.checked_sub(1)?).cloned()).collect();
    labels.map_or_else(expected, Ok)
}

#[cfg(test)]
mod tests {
    use interlingua_schema::{PermissionMetadata, QuestionMetadata, ToolKind};

    use super::*;

    fn permission(scopes: &[ApprovalScope]) -> Request {
        let mut permission = Permission::new("p", "Run rm \u{1b}[2J-rf\nbuild");
        permission.metadata = Some(Box::new(PermissionMetadata::new(ToolKind::Command, scopes.to_vec())));
        Request::Permission(Box::new(permission))
    }

    fn question(free_text: bool, multi_select: bool) -> Request {
        let mut question = Question::new("q", "Which?", vec!["Red".to_owned(), "Green".to_owned()]);
        let mut metadata = QuestionMetadata::default();
        (metadata.free_text, metadata.multi_select) = (free_text, multi_select);
        question.metadata = Some(Box::new(metadata));
        Request::Question(Box::new(question))
    }

    fn reply(request: &Request, line: &str) -> Option<Reply> {
        match request.parse_answer(Some(line)) {
            Ok(Answer::Permission { reply, .. }) => Some(reply),
            _ => None,
        }
    }

    fn answers(request: &Request, line: &str) -> Option<Vec<String>> {
        match request.parse_answer(Some(line)) {
            Ok(Answer::Question { answers, .. }) => Some(answers.unwrap_or_default()),
            _ => None,
        }
    }

    #[test]
    fn only_a_clear_yes_allows() {
        let always = permission(&[ApprovalScope::Once, ApprovalScope::Session]);
        assert_eq!(reply(&always, " Y "), Some(Reply::Once));
        assert_eq!(reply(&always, "Always"), Some(Reply::Always));
        assert_eq!(reply(&always, "no"), Some(Reply::Reject));
        assert_eq!((reply(&always, ""), reply(&always, "what?")), (None, None));
        assert_eq!(reply(&permission(&[ApprovalScope::Once]), "always"), None);
        let end = always.parse_answer(None).unwrap();
        assert_eq!(end, Answer::Permission { id: "p".to_owned(), reply: Reply::Reject });
    }

    #[test]
    fn the_prompt_is_one_line_without_escape_sequences() {
        let mut prompt = Vec::new();
        let request = permission(&[ApprovalScope::Once, ApprovalScope::Session]);
        request.write_prompt(false, &mut prompt).unwrap();
        assert_eq!(String::from_utf8(prompt).unwrap(), "Run rm -rf build? [y]es, [a]lways, [n]o: ");
        let mut prompt = Vec::new();
        permission(&[]).write_prompt(true, &mut prompt).unwrap();
        assert_eq!(String::from_utf8(prompt).unwrap(), "[p] Run rm -rf build? [y]es, [n]o: ");
    }

    #[test]
    fn a_command_that_the_action_shortens_is_shown_completely() {
        let Request::Permission(mut permission) = permission(&[]) else { panic!() };
        let input = serde_json::json!({ "command": "rm -rf build\nrm -rf /" });
        permission.metadata.as_mut().unwrap().input = Some(ToolInput::decode(Some(&ToolKind::Command), input));
        let mut shown = Vec::new();
        Request::Permission(permission).describe(&mut shown).unwrap();
        assert_eq!(String::from_utf8(shown).unwrap(), "  rm -rf build\n  rm -rf /\n");
    }

    #[test]
    fn numbers_and_labels_choose_options() {
        let request = question(true, true);
        assert_eq!(answers(&request, "2").unwrap(), ["Green"]);
        assert_eq!(answers(&request, "1, 2").unwrap(), ["Red", "Green"]);
        assert_eq!(answers(&request, "green").unwrap(), ["Green"]);
        assert_eq!(answers(&request, "blue or so").unwrap(), ["blue or so"]);
        assert_eq!(answers(&request, ""), Some(Vec::new()));
    }

    #[test]
    fn a_choice_that_does_not_exist_is_asked_again() {
        for line in ["3", "0", "1,3", ","] {
            assert_eq!(answers(&question(true, true), line), None, "{line}");
        }
        assert_eq!(answers(&question(true, false), "1,2"), None);
        assert_eq!(answers(&question(false, true), "blue"), None);
        let expected = question(false, false).parse_answer(Some("blue")).unwrap_err();
        assert_eq!(expected, "Expected: A number from 1 to 2.");
    }
}
