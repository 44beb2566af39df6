//! Tools.

use interlingua_schema::{ContentPart, NativeItemId, ToolInput, ToolKind};

use interlingua_native::Json;

use crate::Key;
use crate::arguments::Arguments;

/// A tool that is called.
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
    /// A call with the agent's own id, unchanged, of the tool with this name.
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

    /// What sort of tool it is.
    #[must_use]
    pub fn kind(mut self, kind: ToolKind) -> Self {
        self.kind = Some(kind);
        self
    }

    /// The arguments as the agent writes them; [`json_arguments`](crate::json_arguments) is seen to.
    #[must_use]
    pub fn arguments(mut self, arguments: impl Into<String>) -> Self {
        self.arguments = Some(Arguments::from(arguments.into()));
        self
    }

    /// The arguments where the agent sends them as JSON.
    #[must_use]
    pub fn json_arguments(mut self, arguments: Option<&Json>) -> Self {
        self.arguments = Some(arguments.map(Arguments::from).unwrap_or_default());
        self
    }

    /// What the tool is called with, in the shape of its kind, if the arguments have the keys of that kind. Its kind
    /// becomes the call's. Paths may be relative to the session's directory.
    #[must_use]
    pub fn input(mut self, input: Option<ToolInput>) -> Self {
        if let Some(kind) = input.as_ref().and_then(ToolInput::kind) {
            self.kind = Some(kind);
        }
        self.input = input;
        self
    }

    /// One line for a person, for a call whose input does not say what it does: reading the output of a command that
    /// runs, for one. Without it the title is made from the input, or else is the tool's name.
    #[must_use]
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.title = Some(title.into());
        self
    }

    /// Sets the agent's own id of the item; without one it is null.
    #[must_use]
    pub fn native_id(mut self, id: impl Into<NativeItemId>) -> Self {
        self.native_id = Some(id.into());
        self
    }

    /// Names the agent's message that it came from; without a name it is the latest one.
    #[must_use]
    pub fn in_message(mut self, message: impl Into<Key>) -> Self {
        self.native_message = Some(message.into());
        self
    }
}

/// How a tool ends.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct ToolResult {
    pub(crate) output: Option<String>,
    pub(crate) failed: bool,
    /// A command's exit code; any but 0 makes the result failed.
    pub exit_code: Option<i32>,
    /// How long it took.
    pub duration_ms: Option<u64>,
    /// How much of the output came from standard error.
    pub stderr_bytes: Option<u64>,
    /// Files and images of the result.
    pub parts: Vec<ContentPart>,
    pub(crate) native_id: Option<NativeItemId>,
    pub(crate) call: Option<ToolCall>,
    pub(crate) call_cut_off: bool,
}

impl ToolResult {
    /// It worked, and this is what a person would read.
    #[must_use]
    pub fn ok(output: impl Into<String>) -> Self {
        Self { output: Some(output.into()), ..Self::default() }
    }

    /// It failed, was denied, was invalid or was cut off, and this is what a person would read.
    #[must_use]
    pub fn failed(output: impl Into<String>) -> Self {
        Self { failed: true, ..Self::ok(output) }
    }

    /// It worked, and its output is what was streamed.
    #[must_use]
    pub fn as_streamed() -> Self {
        Self::default()
    }

    /// Failed if `failed`, whatever was said before.
    #[must_use]
    pub fn failed_if(mut self, failed: bool) -> Self {
        self.failed |= failed;
        self
    }

    /// Sets a command's exit code.
    #[must_use]
    pub fn exit_code(mut self, code: Option<i32>) -> Self {
        self.exit_code = code;
        self
    }

    /// Sets how long it took.
    #[must_use]
    pub fn duration_ms(mut self, duration: Option<u64>) -> Self {
        self.duration_ms = duration;
        self
    }

    /// Sets how much of the output came from standard error.
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

    /// Sets the agent's own id of the item; without one, that of the call is used.
    #[must_use]
    pub fn native_id(mut self, id: impl Into<NativeItemId>) -> Self {
        self.native_id = Some(id.into());
        self
    }

    /// The call itself is failed if `cut_off`: its arguments never became final.
    #[must_use]
    pub fn call_cut_off_if(mut self, cut_off: bool) -> Self {
        self.call_cut_off = cut_off;
        self
    }

    /// Tells of the call, in case nobody has spoken of it yet.
    #[must_use]
    pub fn with_call(mut self, call: ToolCall) -> Self {
        self.call = Some(call);
        self
    }
}
