//! Asking at the terminal what the agent wants to know.

use std::io::{self, BufRead, IsTerminal as _, Write};

use anyhow::Context as _;
use interlingua_runtime::PermissionReply;
use interlingua_schema::{ApprovalScope, Permission, Question};

use crate::show::tame;

/// Whether there is somebody to ask.
pub(super) fn is_there_somebody() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Asks for a permission. Only a clear yes is one.
pub(super) fn permission(
    permission: &Permission,
    input: &mut impl BufRead,
    output: &mut impl Write,
) -> anyhow::Result<PermissionReply> {
    let scopes = permission.metadata.as_ref().map(|metadata| metadata.scopes.as_slice()).unwrap_or_default();
    let may_last = scopes.iter().any(|scope| *scope != ApprovalScope::Once);
    let choices = if may_last { "[y]es, [a]lways, [n]o" } else { "[y]es, [n]o" };
    loop {
        write!(output, "Allow: {}? {choices}: ", tame(&permission.action).replace('\n', " "))?;
        let Some(answer) = line(input, output)? else { return Ok(PermissionReply::Reject) };
        match answer.to_lowercase().as_str() {
            "y" | "yes" | "once" => return Ok(PermissionReply::Once),
            "a" | "always" if may_last => return Ok(PermissionReply::Always),
            "n" | "no" | "reject" => return Ok(PermissionReply::Reject),
            _ => writeln!(output, "Expected one of {choices}.")?,
        }
    }
}

/// Asks a question: numbers choose options, words are words, an empty line is no answer.
pub(super) fn question(
    question: &Question,
    input: &mut impl BufRead,
    output: &mut impl Write,
) -> anyhow::Result<Option<Vec<String>>> {
    writeln!(output, "{}", tame(&question.prompt))?;
    for (number, option) in (1..).zip(&question.options) {
        writeln!(output, "  {number}. {}", tame(option).replace('\n', " "))?;
    }
    let how = if question.options.is_empty() { "Your answer" } else { "Numbers (1,2) or your own words" };
    write!(output, "{how}, nothing to decline: ")?;
    let Some(answer) = line(input, output)? else { return Ok(None) };
    Ok(chosen(&answer, &question.options))
}

/// What an answer stands for.
fn chosen(answer: &str, options: &[String]) -> Option<Vec<String>> {
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

/// A line without its end; `None` when there are no more.
fn line(input: &mut impl BufRead, output: &mut impl Write) -> anyhow::Result<Option<String>> {
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

    fn ask_permission(scopes: &[ApprovalScope], answers: &str) -> PermissionReply {
        let mut asked = Permission::new("p", "rm \u{1b}[2J-rf");
        asked.metadata = Some(Box::new(PermissionMetadata::new(ToolKind::Command, scopes.to_vec())));
        let mut output = Vec::new();
        let reply = permission(&asked, &mut answers.as_bytes(), &mut output).unwrap();
        assert!(!output.contains(&0x1b));
        reply
    }

    #[test]
    fn only_a_clear_yes_is_a_permission() {
        let scopes = &[ApprovalScope::Once, ApprovalScope::Session];
        assert_eq!(ask_permission(scopes, "y\n"), PermissionReply::Once);
        assert_eq!(ask_permission(scopes, "what?\n\nAlways\n"), PermissionReply::Always);
        assert_eq!(ask_permission(scopes, "no\n"), PermissionReply::Reject);
        assert_eq!(ask_permission(scopes, ""), PermissionReply::Reject);
        assert_eq!(ask_permission(&scopes[..1], "always\ny\n"), PermissionReply::Once);
    }

    #[test]
    fn options_are_chosen_by_number_and_words_are_words() {
        let asked = Question::new("q", "Which?", vec!["red".to_owned(), "green".to_owned()]);
        let answer = |text: &str| question(&asked, &mut text.as_bytes(), &mut Vec::new()).unwrap();
        assert_eq!(answer("2\n"), Some(vec!["green".to_owned()]));
        assert_eq!(answer("1, 2\n"), Some(vec!["red".to_owned(), "green".to_owned()]));
        assert_eq!(answer("3\n"), Some(vec!["3".to_owned()]));
        assert_eq!(answer("blue or so\n"), Some(vec!["blue or so".to_owned()]));
        assert_eq!(answer("\n"), None);
        assert_eq!(answer(""), None);
    }
}
