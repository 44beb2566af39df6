//! Answers to control requests of the agent.

use interlingua_native::Json;
use interlingua_native::claude::{
    AllowPermissionResult, ControlErrorResponse, ControlResult, ControlSuccessResponse, DenyPermissionResult,
    PermissionResult, PermissionUpdate,
};
use interlingua_native::new;
use serde::Serialize;
use serde_json::Value;
use serde_json::value::to_raw_value;

/// An answer to a control request of the agent.
#[derive(Clone, Debug, PartialEq)]
pub enum ControlAnswer {
    /// Answers `can_use_tool`.
    Permission(PermissionResult),
    /// Answers `elicitation`.
    Elicitation(ElicitationResult),
    /// Answers `request_user_dialog`.
    Dialog(DialogResult),
    /// Refuses a request that the host cannot answer, for this reason.
    Error(String),
}

/// The answer to an `elicitation` request. The vendor's schema does not declare it; the format is that of MCP, as
/// recorded in `claude/2.1.325/mcp-elicitation`.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "action", rename_all = "lowercase")]
pub enum ElicitationResult {
    /// The user filled in the form.
    Accept {
        /// The values of the form's fields.
        content: Value,
    },
    /// The user declined.
    Decline,
}

/// The answer to a `request_user_dialog` request. The vendor's schema does not declare it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "behavior", rename_all = "lowercase")]
pub enum DialogResult {
    /// The user answered.
    Completed {
        /// The answer.
        result: String,
    },
    /// The user did not answer.
    Cancelled,
}

impl ControlAnswer {
    /// The tool runs with this input, and the permissions are updated.
    pub(super) fn allow(input: Option<Json>, permissions: Option<Vec<PermissionUpdate>>) -> Self {
        let allow = AllowPermissionResult {
            updated_input: input,
            updated_permissions: permissions,
            ..AllowPermissionResult::new()
        };
        Self::Permission(allow.into())
    }

    /// The tool does not run. The model gets the reason.
    pub(super) fn deny(message: &str) -> Self {
        Self::Permission(new!(DenyPermissionResult { message: message }).into())
    }

    /// The answer to the request with this id.
    pub(super) fn into_result(self, id: String) -> ControlResult {
        let response = match self {
            Self::Permission(result) => to_json(&result),
            Self::Elicitation(result) => to_json(&result),
            Self::Dialog(result) => to_json(&result),
            Self::Error(error) => return new!(ControlErrorResponse { error: error, request_id: id }).into(),
        };
        ControlSuccessResponse { response, ..new!(ControlSuccessResponse { request_id: id }) }.into()
    }
}

/// Converts a value to untyped JSON. This does not fail for answers.
pub(super) fn to_json<T: Serialize>(value: &T) -> Option<Json> {
    to_raw_value(value).ok().map(Json::from)
}
