//! Asking the user at the terminal.

use std::io::{self, BufRead, IsTerminal as _, Write};

use anyhow::Context as _;
use interlingua_runtime::PermissionReply;
use interlingua_schema::{ApprovalScope, Permission, Question};

use crate::show::sanitize;

/// Whether there is a terminal to ask at.
pub(super) fn can_ask() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Asks for a permission. Repeats the question until the answer is clear. The end of the input counts as `no`.
pub(super) fn ask_permission(
    permission: &Permission,
    input: &mut impl BufRead,
    output: &mut impl Write,
) -> anyhow::Result<PermissionReply> {
    let scopes = permission.metadata.as_ref().map(|metadata| metadata.scopes.as_slice()).unwrap_or_default();
    let has_always = scopes.iter().any(|scope| *scope != ApprovalScope::Once);
    let choices = if has_always { "[y]es, [a]lways, [n]o" } else { "[y]es, [n]o" };
    loop {
        write!(output, "Allow: {}? {choices}: ", sanitize(&permission.action).replace('\n', " "))?;
        let Some(answer) = read_line(input, output)? else { return Ok(PermissionReply::Reject) };
        match answer.to_lowercase().as_str() {
            "y" | "yes" | "once" => return Ok(PermissionReply::Once),
            "a" | "always" if has_always => return Ok(PermissionReply::Always),
            "n" | "no" | "reject" => return Ok(PermissionReply::Reject),
            _ => writeln!(output, "Expected one of {choices}.")?,
        }
    }
}

/// Asks a question. Numbers choose options, other text is the answer itself, an empty line rejects the question.
pub(super) fn ask_question(
    question: &Question,
    input: &mut impl BufRead,
    output: &mut impl Write,
) -> anyhow::Result<Option<Vec<String>>> {
    writeln!(output, "{}", sanitize(&question.prompt))?;
    for (number, option) in (1..).zip(&question.options) {
        writeln!(output, "  {number}. {}", sanitize(option).replace('\n', " "))?;
    }
    let prompt = if question.options.is_empty() { "Your answer" } else { "Numbers (1,2) or your own answer" };
    write!(output, "{prompt}; leave empty to reject: ")?;
    let Some(answer) = read_line(input, output)? else { return Ok(None) };
    Ok(parse_answer(&answer, &question.options))
}

/// Parses an answer: the options with these numbers, or the text itself; `None` if it is empty.
fn parse_answer(answer: &str, options: &[String]) -> Option<Vec<String>> {
    if answer.is_empty() {
        return None;
    }
    let numbers: Option<Vec<String>> = answer
        .split([',', ' '])
        .filter(|word| !word.is_empty())
        .map(|word| word.parse::<usize>().ok().and_then(|number| options.get(number.checked_sub(1)?)).cloned())
        .collect();
    Some(numbers.unwrap_or_else(|| vec![answer.to_owned()]))
}

/// Reads a line without its end; `None` at the end of the input.
fn read_line(input: &mut impl BufRead, output: &mut impl Write) -> anyhow::Result<Option<String>> {
    output.flush()?;
    let mut line = String::new();
    if input.read_line(&mut line).context("cannot read the answer")? == 0 {
        writeln!(output)?;
        return Ok(None);
    }
    Ok(Some(line.trim().to_owned()))
}

#[cfg(test)]
mod tests {
    use interlingua_schema::{PermissionMetadata, ToolKind};

    use super::*;

    fn reply_to(scopes: &[ApprovalScope], answers: &str) -> PermissionReply {
        let mut request = Permission::new("p", "rm \u{1b}[2J-rf");
        request.metadata = Some(Box::new(PermissionMetadata::new(ToolKind::Command, scopes.to_vec())));
        let mut output = Vec::new();
        let reply = ask_permission(&request, &mut answers.as_bytes(), &mut output).unwrap();
        assert!(!output.contains(&0x1b));
        reply
    }

    #[test]
    fn only_a_clear_yes_allows() {
        let scopes = &[ApprovalScope::Once, ApprovalScope::Session];
        assert_eq!(reply_to(scopes, "y\n"), PermissionReply::Once);
        assert_eq!(reply_to(scopes, "what?\n\nAlways\n"), PermissionReply::Always);
        assert_eq!(reply_to(scopes, "no\n"), PermissionReply::Reject);
        assert_eq!(reply_to(scopes, ""), PermissionReply::Reject);
        assert_eq!(reply_to(&scopes[..1], "always\ny\n"), PermissionReply::Once);
    }

    #[test]
    fn numbers_choose_options_and_other_text_is_the_answer() {
        let request = Question::new("q", "Which?", vec!["red".to_owned(), "green".to_owned()]);
        let answer = |text: &str| ask_question(&request, &mut text.as_bytes(), &mut Vec::new()).unwrap();
        assert_eq!(answer("2\n"), Some(vec!["green".to_owned()]));
        assert_eq!(answer("1, 2\n"), Some(vec!["red".to_owned(), "green".to_owned()]));
        assert_eq!(answer("3\n"), Some(vec!["3".to_owned()]));
        assert_eq!(answer("blue or so\n"), Some(vec!["blue or so".to_owned()]));
        assert_eq!(answer("\n"), None);
        assert_eq!(answer(""), None);
    }
}
