//! Extracts the command from the shell invocation in which Codex wraps it.

use std::borrow::Cow;

use interlingua_native::codex::CommandAction;

use crate::shell::unwrap_shell;

/// Command as a person would type it. If the shell is unknown, the command that Codex itself parsed is used, but only
/// if it is the only one: Codex drops pipes, so one of several is only a part.
pub(super) fn typed_command(command: &str, actions: &[CommandAction]) -> Option<String> {
    let unwrapped = unwrap_shell(command);
    if matches!(unwrapped, Cow::Borrowed(_))
        && let [CommandAction::Unknown2(action)] = actions
        && let Some(found) = action.command.as_deref().filter(|found| !found.is_empty())
        && command.contains(found)
    {
        return Some(found.to_owned());
    }
    Some(unwrapped.into_owned()).filter(|command| !command.is_empty())
}
