//! What tools are called with.

use super::{Json, object};
use crate::{
    AskedQuestion, CommandInput, FileChange, FileChangeInput, FileReadInput, McpInput, PlanInput, PlanStep,
    QuestionInput, SearchInput, SubAgentInput, TextEdit, ToolInput, WebInput,
};

impl Json for ToolInput {
    fn json(&self, out: &mut Vec<u8>) {
        match self {
            Self::Command(input) => input.json(out),
            Self::FileRead(input) => input.json(out),
            Self::FileChange(FileChangeInput { changes }) => object!(out, { "changes": changes, }),
            Self::Search(input) => input.json(out),
            Self::Web(WebInput { url, query }) => object!(out, { "url"?: url, "query"?: query, }),
            Self::Mcp(McpInput { server, tool, arguments }) => {
                object!(out, { "server": server, "tool": tool, "arguments": arguments, });
            }
            Self::SubAgent(SubAgentInput { prompt, description, agent }) => {
                object!(out, { "prompt": prompt, "description"?: description, "agent"?: agent, });
            }
            Self::Plan(PlanInput { steps }) => object!(out, { "steps": steps, }),
            Self::Question(QuestionInput { questions }) => object!(out, { "questions": questions, }),
            Self::Unknown(input) => input.json(out),
        }
    }
}

impl Json for CommandInput {
    fn json(&self, out: &mut Vec<u8>) {
        object!(out, {
            "command": self.command,
            "cwd"?: self.cwd,
            "background"?: self.background,
            "timeout_ms"?: self.timeout_ms,
            "description"?: self.description,
        });
    }
}

impl Json for FileReadInput {
    fn json(&self, out: &mut Vec<u8>) {
        object!(out, { "path": self.path, "offset"?: self.offset, "limit"?: self.limit, });
    }
}

impl Json for FileChange {
    fn json(&self, out: &mut Vec<u8>) {
        object!(out, {
            "path": self.path,
            "change"?: self.change,
            "to"?: self.to,
            "diff"?: self.diff,
            "edits"?: self.edits,
        });
    }
}

impl Json for TextEdit {
    fn json(&self, out: &mut Vec<u8>) {
        object!(out, { "old": self.old, "new": self.new, });
    }
}

impl Json for SearchInput {
    fn json(&self, out: &mut Vec<u8>) {
        object!(out, { "query": self.query, "in"?: self.target, "path"?: self.path, "glob"?: self.glob, });
    }
}

impl Json for PlanStep {
    fn json(&self, out: &mut Vec<u8>) {
        object!(out, { "content": self.content, "status": self.status, });
    }
}

impl Json for AskedQuestion {
    fn json(&self, out: &mut Vec<u8>) {
        object!(out, { "prompt": self.prompt, "options": self.options, });
    }
}
