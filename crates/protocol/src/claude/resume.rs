//! Whether the agent knows a session that it is to resume.

use interlingua_native::Native as _;
use interlingua_native::claude::StdoutMessage;

/// The result of resuming a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ResumeStatus {
    /// Not known yet.
    Undecided,
    /// The agent has resumed the session.
    Resumed,
    /// The agent does not know the session. Contains its error message.
    UnknownSession(String),
}

impl ResumeStatus {
    /// What a line says about the result. An agent that does not know the session reports it in a `result` line, before
    /// any other line but control messages.
    #[must_use]
    pub fn from_line(line: &str) -> Self {
        match StdoutMessage::decode(line).map(|decoded| decoded.value) {
            Ok(
                StdoutMessage::ControlRequest(_)
                | StdoutMessage::ControlResponse(_)
                | StdoutMessage::ControlCancelRequest(_),
            ) => Self::Undecided,
            Ok(StdoutMessage::ResultError(result)) => {
                let has_begun = result.num_turns.as_ref().is_some_and(|turns| turns.as_u64() != Some(0));
                match result.errors {
                    Some(errors) if result.is_error == Some(true) && !has_begun && !errors.is_empty() => {
                        Self::UnknownSession(errors.join("; "))
                    }
                    _ => Self::Resumed,
                }
            }
            _ => Self::Resumed,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_session_is_reported_with_the_agents_message() {
        let line = r#"{"type":"result","subtype":"error_during_execution","is_error":true,"num_turns":0,"errors":["No conversation found"]}"#;
        assert_eq!(ResumeStatus::from_line(line), ResumeStatus::UnknownSession("No conversation found".to_owned()));
        let line = r#"{"type":"result","subtype":"error_during_execution","is_error":true,"num_turns":1,"errors":["Interrupted"]}"#;
        assert_eq!(ResumeStatus::from_line(line), ResumeStatus::Resumed);
        assert_eq!(
            ResumeStatus::from_line(r#"{"type":"system","subtype":"init","session_id":"1"}"#),
            ResumeStatus::Resumed
        );
        assert_eq!(ResumeStatus::from_line(r#"{"type":"control_response","response":{}}"#), ResumeStatus::Undecided);
    }
}
