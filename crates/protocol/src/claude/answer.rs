//! Answers to the requests of the agent.

use interlingua_native::Json;
use interlingua_native::claude::{
    AllowPermissionResult, ControlErrorResponse, ControlResult, ControlSuccessResponse, DenyPermissionResult,
    PermissionResult, PermissionUpdate,
};
use interlingua_native::new;
use serde::Serialize;
use serde_json::Value;
use serde_json::value::to_raw_value;

/// An answer to a request of the agent.
#[derive(Clone, Debug, PartialEq)]
pub enum ControlAnswer {
    /// To `can_use_tool`.
    Permission(PermissionResult),
    /// To `elicitation`.
    Elicitation(ElicitationResult),
    /// To `request_user_dialog`.
    Dialog(DialogResult),
    /// To a request that the host cannot answer: why.
    Error(String),
}

/// The answer to an `elicitation` request. The vendor's schema leaves it open; the form is that of MCP, as recorded in
/// `claude/2.1.325/mcp-elicitation`.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "action", rename_all = "lowercase")]
pub enum ElicitationResult {
    /// The form is filled in.
    Accept {
        /// The form's fields.
        content: Value,
    },
    /// The user does not want to.
    Decline,
}

/// The answer to a `request_user_dialog` request. The vendor's schema leaves it open.
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
    /// The tool runs with this input. The permissions change as said.
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

    /// The answer to the request of this name.
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

/// A value as JSON without a declared type. All that is answered has such a form.
pub(super) fn to_json<T: Serialize>(value: &T) -> Option<Json> {
    to_raw_value(value).ok().map(Json::from)
}
