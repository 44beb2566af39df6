//! Drafts of tool calls and their results.

use interlingua_schema::{ContentPart, NativeItemId, ToolInput, ToolKind};

use interlingua_native::Json;

use crate::Key;
use crate::arguments::Arguments;

/// A call of a tool.
#[derive(Clone, Debug)]
pub struct ToolCall {
    pub(crate) call_id: String,
    pub(crate) name: String,
    pub(crate) kind: Option<ToolKind>,
    pub(crate) arguments: Option<Arguments>,
    pub(crate) input: Option<ToolInput>,
    pub(crate) title: Option<String>,
    pub(crate) native_id: Option<NativeItemId>,
    pub(crate) native_message: Option<Key>,
}

impl ToolCall {
    /// A call with this native id, of the tool with this name. The id is kept unchanged.
    #[must_use]
    pub fn new(call_id: impl Into<String>, name: impl Into<String>) -> Self {
        Self {
            call_id: call_id.into(),
            name: name.into(),
            kind: None,
            arguments: None,
            input: None,
            title: None,
            native_id: None,
            native_message: None,
        }
    }

    /// Sets the kind of the tool.
    #[must_use]
    pub fn kind(mut self, kind: ToolKind) -> Self {
        self.kind = Some(kind);
        self
    }

    /// Sets the arguments as the agent writes them. [`json_arguments`](crate::json_arguments) is applied to them.
    #[must_use]
    pub fn arguments(mut self, arguments: impl Into<String>) -> Self {
        self.arguments = Some(Arguments::from(arguments.into()));
        self
    }

    /// Sets the arguments, if the agent sends them as JSON.
    #[must_use]
    pub fn json_arguments(mut self, arguments: Option<&Json>) -> Self {
        self.arguments = Some(arguments.map(Arguments::from).unwrap_or_default());
        self
    }

    /// Sets the typed input, if the arguments have the keys of its kind. The kind of the input becomes the kind of the
    /// call. Paths may be relative to the session's directory.
    #[must_use]
    pub fn input(mut self, input: Option<ToolInput>) -> Self {
        if let Some(kind) = input.as_ref().and_then(ToolInput::kind) {
            self.kind = Some(kind);
        }
        self.input = input;
        self
    }

    /// Sets the title, one line for a person. Only needed if the input does not describe the call, such as reading the
    /// output of a running command. By default, the title is made from the input, or is the name of the tool.
    #[must_use]
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.title = Some(title.into());
        self
    }

    /// Sets the native id of the item; null if not set.
    #[must_use]
    pub fn native_id(mut self, id: impl Into<NativeItemId>) -> Self {
        self.native_id = Some(id.into());
        self
    }

    /// Sets the native message that the call came from; by default, the latest message.
    #[must_use]
    pub fn in_message(mut self, message: impl Into<Key>) -> Self {
        self.native_message = Some(message.into());
        self
    }
}

/// Result of a tool call.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct ToolResult {
    pub(crate) output: Option<String>,
    pub(crate) failed: bool,
    /// Exit code of a command. Any code but 0 makes the result failed.
    pub exit_code: Option<i32>,
    /// How long the tool ran.
    pub duration_ms: Option<u64>,
    /// Number of output bytes that came from standard error.
    pub stderr_bytes: Option<u64>,
    /// Files and images of the result.
    pub parts: Vec<ContentPart>,
    pub(crate) native_id: Option<NativeItemId>,
    pub(crate) call: Option<ToolCall>,
    pub(crate) call_cut_off: bool,
}

impl ToolResult {
    /// A successful result with this output, as a person would read it.
    #[must_use]
    pub fn ok(output: impl Into<String>) -> Self {
        Self { output: Some(output.into()), ..Self::default() }
    }

    /// A failed result with this output, as a person would read it. Denied, invalid and cut-off calls fail, too.
    #[must_use]
    pub fn failed(output: impl Into<String>) -> Self {
        Self { failed: true, ..Self::ok(output) }
    }

    /// A successful result whose output is the streamed output.
    #[must_use]
    pub fn as_streamed() -> Self {
        Self::default()
    }

    /// Marks the result as failed if `failed`. Does not reset an earlier failure.
    #[must_use]
    pub fn failed_if(mut self, failed: bool) -> Self {
        self.failed |= failed;
        self
    }

    /// Sets the exit code of a command.
    #[must_use]
    pub fn exit_code(mut self, code: Option<i32>) -> Self {
        self.exit_code = code;
        self
    }

    /// Sets how long the tool ran.
    #[must_use]
    pub fn duration_ms(mut self, duration: Option<u64>) -> Self {
        self.duration_ms = duration;
        self
    }

    /// Sets the number of output bytes that came from standard error.
    #[must_use]
    pub fn stderr_bytes(mut self, bytes: Option<u64>) -> Self {
        self.stderr_bytes = bytes;
        self
    }

    /// Adds a file or an image.
    #[must_use]
    pub fn with_part(mut self, part: ContentPart) -> Self {
        self.parts.push(part);
        self
    }

    /// Sets the native id of the item; by default, that of the call.
    #[must_use]
    pub fn native_id(mut self, id: impl Into<NativeItemId>) -> Self {
        self.native_id = Some(id.into());
        self
    }

    /// Marks the call itself as failed if `cut_off`: its arguments never became final.
    #[must_use]
    pub fn call_cut_off_if(mut self, cut_off: bool) -> Self {
        self.call_cut_off = cut_off;
        self
    }

    /// Adds the call, in case no draft has reported it yet.
    #[must_use]
    pub fn with_call(mut self, call: ToolCall) -> Self {
        self.call = Some(call);
        self
    }
}
