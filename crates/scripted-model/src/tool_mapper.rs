//! Maps the action of a tool call to a tool that the agent offers.
//!
//! Each agent has its own tool names, and some agents have no tool for an action. The request contains the offered
//! tools, so the mapping depends on them and never on the agent.

use std::path::Path;

use serde_json::{Value, json};

use crate::conversation::Conversation;
use crate::offered_tool::OfferedTool;
use crate::patch;
use crate::reply::ToolInput;
use crate::scenario::{FileChange, Question, Scenario, Todo, ToolAction};

/// A tool call without an id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ToolInvocation {
    pub(crate) name: String,
    pub(crate) namespace: Option<String>,
    pub(crate) input: ToolInput,
}

/// The result of mapping an action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ToolMapping {
    /// Tool calls in one reply.
    Calls(Vec<ToolInvocation>),
    /// A text: the agent has no tool for the action, but recognises the text.
    Text(String),
    /// A tool search: the agent has a tool for the action, but offers it only after this call.
    SearchFirst(ToolInvocation),
}

/// The agent offers no tool for an action.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the agent offers no tool to {purpose}; it offers {offered}")]
pub(crate) struct NoTool {
    purpose: &'static str,
    offered: String,
}

/// Maps actions to the tools that a conversation offers.
pub(crate) struct ToolMapper<'a> {
    pub(crate) scenario: &'a Scenario,
    pub(crate) conversation: &'a Conversation,
    pub(crate) workspace: &'a Path,
}

impl ToolMapper<'_> {
    /// Maps an action.
    pub(crate) fn map(&self, action: &ToolAction) -> Result<ToolMapping, NoTool> {
        match action {
            ToolAction::Run { command } => self.run(command, "run a command"),
            ToolAction::Read { path } => self.read(path),
            ToolAction::Write { path, content } => self.write(path, content),
            ToolAction::Edit { path, old, new } => self.edit(path, old, new),
            ToolAction::Patch(changes) => self.patch(changes),
            ToolAction::Search { pattern } => self.search(pattern),
            ToolAction::Ask(questions) => self.ask(questions),
            ToolAction::Plan { text } => Ok(self.plan(text)),
            ToolAction::Todo(todos) => self.todo(todos),
            ToolAction::Delegate { name } => self.delegate(name),
            ToolAction::Mcp { server, tool, arguments } => self.mcp(server, tool, arguments),
            ToolAction::Tool { name, arguments } => {
                let input = ToolInput::Json(arguments.clone());
                Ok(ToolMapping::Calls(vec![ToolInvocation { name: name.clone(), namespace: None, input }]))
            }
        }
    }

    fn run(&self, command: &str, purpose: &'static str) -> Result<ToolMapping, NoTool> {
        self.first_offered(
            purpose,
            &[
                ("Bash", json!({"command": command, "description": "Run the scripted command"})),
                ("bash", self.bash_input(command)),
                ("exec_command", self.exec_input(command)),
                ("shell_command", json!({"command": command})),
                ("shell", json!({"command": ["bash", "-lc", command]})),
            ],
        )
    }

    /// Input of OpenCode's `bash`. Some versions require a description, others do not have that parameter.
    fn bash_input(&self, command: &str) -> Value {
        if self.has_parameter("bash", "description") {
            json!({"command": command, "description": "Run the scripted command"})
        } else {
            json!({"command": command})
        }
    }

    /// Input of Codex's `exec_command`. Codex requests permission for what the model wants to run outside of the
    /// sandbox.
    fn exec_input(&self, command: &str) -> Value {
        if self.scenario.setup.escalates {
            json!({"cmd": command, "sandbox_permissions": "require_escalated", "justification": "May I?"})
        } else {
            json!({"cmd": command})
        }
    }

    fn read(&self, path: &str) -> Result<ToolMapping, NoTool> {
        let full_path = self.absolute_path(path);
        let tools = [("Read", json!({"file_path": full_path})), ("read", json!({"filePath": full_path}))];
        self.first_offered("read a file", &tools).or_else(|_| self.run(&format!("cat {path}"), "read a file"))
    }

    fn write(&self, path: &str, content: &str) -> Result<ToolMapping, NoTool> {
        let full_path = self.absolute_path(path);
        let tools = [
            ("Write", json!({"file_path": full_path, "content": content})),
            ("write", json!({"filePath": full_path, "content": content})),
        ];
        let change = FileChange::Add { add: path.to_owned(), content: content.to_owned() };
        self.first_offered("write a file", &tools).or_else(|error| self.apply_patch(&[change], error))
    }

    fn edit(&self, path: &str, old: &str, new: &str) -> Result<ToolMapping, NoTool> {
        let full_path = self.absolute_path(path);
        let tools = [
            ("Edit", json!({"file_path": full_path, "old_string": old, "new_string": new})),
            ("edit", json!({"filePath": full_path, "oldString": old, "newString": new})),
        ];
        let change = FileChange::Update { update: path.to_owned(), old: old.to_owned(), new: new.to_owned() };
        self.first_offered("edit a file", &tools).or_else(|error| self.apply_patch(&[change], error))
    }

    /// One patch if the agent has a tool for it, else one call per file.
    fn patch(&self, changes: &[FileChange]) -> Result<ToolMapping, NoTool> {
        let none = self.no_tool("patch files");
        if let Ok(mapped) = self.apply_patch(changes, none) {
            return Ok(mapped);
        }
        let mut calls = Vec::new();
        for change in changes {
            let mapped = match change {
                FileChange::Add { add, content } => self.write(add, content)?,
                FileChange::Update { update, old, new } => self.edit(update, old, new)?,
                FileChange::Delete { delete } => self.run(&format!("rm {delete}"), "remove a file")?,
            };
            match mapped {
                ToolMapping::Calls(more) => calls.extend(more),
                other => return Ok(other),
            }
        }
        Ok(ToolMapping::Calls(calls))
    }

    fn apply_patch(&self, changes: &[FileChange], none: NoTool) -> Result<ToolMapping, NoTool> {
        let tool = self.tool("apply_patch").ok_or(none)?;
        let patch = patch::render(changes);
        let input = if tool.takes_text {
            ToolInput::Text(patch)
        } else {
            ToolInput::Json(json!({"patchText": patch}).to_string())
        };
        Ok(ToolMapping::Calls(vec![invoke(tool, input)]))
    }

    fn search(&self, pattern: &str) -> Result<ToolMapping, NoTool> {
        let tools =
            [("Grep", json!({"pattern": pattern, "output_mode": "content"})), ("grep", json!({"pattern": pattern}))];
        let command = format!("grep -rn '{pattern}' .");
        self.first_offered("search", &tools).or_else(|_| self.run(&command, "search"))
    }

    fn ask(&self, questions: &[Question]) -> Result<ToolMapping, NoTool> {
        let options = |question: &Question| -> Vec<Value> {
            question
                .options
                .iter()
                .map(|label| json!({"label": label, "description": format!("Take {label}")}))
                .collect()
        };
        let all = |each: &dyn Fn(usize, &Question) -> Value| -> Vec<Value> {
            questions.iter().enumerate().map(|(index, question)| each(index, question)).collect()
        };
        let claude = all(
            &|_, q| json!({"question": q.question, "header": q.header, "options": options(q), "multiSelect": q.several}),
        );
        let opencode = all(
            &|_, q| json!({"question": q.question, "header": q.header, "options": options(q), "multiple": q.several}),
        );
        let codex = all(
            &|index, q| json!({"id": format!("question_{index}"), "question": q.question, "header": q.header, "options": options(q)}),
        );
        self.first_offered(
            "ask the user",
            &[
                ("AskUserQuestion", json!({"questions": claude})),
                ("question", json!({"questions": opencode})),
                ("request_user_input", json!({"questions": codex})),
            ],
        )
    }

    /// Claude Code has a tool for plans. Codex extracts the plan from the text. For other agents it is plain text.
    fn plan(&self, text: &str) -> ToolMapping {
        match self.first_offered("submit a plan", &[("ExitPlanMode", json!({"plan": text}))]) {
            Ok(mapped) => mapped,
            Err(_) => ToolMapping::Text(format!("<proposed_plan>\n{}\n</proposed_plan>", text.trim_end())),
        }
    }

    fn todo(&self, todos: &[Todo]) -> Result<ToolMapping, NoTool> {
        let all = |each: fn(&Todo) -> Value| -> Vec<Value> { todos.iter().map(each).collect() };
        let claude = all(|todo| json!({"content": todo.task, "status": todo.state.name(), "activeForm": todo.task}));
        let opencode = all(|todo| json!({"content": todo.task, "status": todo.state.name(), "priority": "medium"}));
        let codex = all(|todo| json!({"step": todo.task, "status": todo.state.name()}));
        self.first_offered(
            "write a to-do list",
            &[
                ("TodoWrite", json!({"todos": claude})),
                ("todowrite", json!({"todos": opencode})),
                ("update_plan", json!({"plan": codex})),
            ],
        )
    }

    fn delegate(&self, name: &str) -> Result<ToolMapping, NoTool> {
        let task = self.scenario.sub_agents.get(name).map(|sub_agent| sub_agent.task.as_str()).unwrap_or_default();
        let mut spawn = json!({"message": task});
        // The second version of Codex's sub-agent tools requires a name.
        if self.has_parameter("spawn_agent", "task_name") {
            spawn["task_name"] = json!(name);
        }
        self.first_offered("start a sub-agent", &[
            ("Agent", json!({"description": name, "prompt": task, "subagent_type": "general-purpose", "run_in_background": false})),
            ("Task", json!({"description": name, "prompt": task, "subagent_type": "general-purpose"})),
            ("task", json!({"description": name, "prompt": task, "subagent_type": "general"})),
            ("spawn_agent", spawn),
        ])
    }

    /// A call of an MCP tool. Its name contains that of its server, in one of several formats.
    fn mcp(&self, server: &str, tool: &str, arguments: &Value) -> Result<ToolMapping, NoTool> {
        let server_namespace = format!("mcp__{server}");
        let found = self.conversation.tools.iter().find(|offered| match &offered.namespace {
            Some(namespace) => namespace.trim_end_matches('_') == server_namespace && offered.name == tool,
            None => offered.name == format!("{server_namespace}__{tool}") || offered.name == format!("{server}_{tool}"),
        });
        let input = ToolInput::Json(arguments.to_string());
        match found {
            Some(found) => Ok(ToolMapping::Calls(vec![invoke(found, input)])),
            // Codex lets the model search for MCP tools, but accepts calls without a search.
            None if self.conversation.has_tool("tool_search") => {
                let namespace = Some(server_namespace);
                Ok(ToolMapping::Calls(vec![ToolInvocation { name: tool.to_owned(), namespace, input }]))
            }
            None => self
                .search_for(&format!("{server_namespace}__{tool}"))
                .ok_or_else(|| self.no_tool("call an MCP server")),
        }
    }

    /// A call of the first tool that is offered, else a search for it.
    fn first_offered(&self, purpose: &'static str, tools: &[(&str, Value)]) -> Result<ToolMapping, NoTool> {
        for (name, input) in tools {
            if let Some(tool) = self.tool(name) {
                return Ok(ToolMapping::Calls(vec![invoke(tool, ToolInput::Json(input.to_string()))]));
            }
        }
        let claude = tools.first().filter(|(name, _)| name.starts_with(char::is_uppercase));
        // These have substitutes, so they are not searched for.
        let searchable = claude.filter(|(name, _)| !matches!(*name, "Grep" | "Bash"));
        searchable.and_then(|(name, _)| self.search_for(name)).ok_or_else(|| self.no_tool(purpose))
    }

    /// A search for a tool. Claude Code defers tools until the model searches for them by name.
    fn search_for(&self, name: &str) -> Option<ToolMapping> {
        let search = self.tool("ToolSearch")?;
        let input = json!({"query": format!("select:{name}"), "max_results": 1}).to_string();
        let invocation = ToolInvocation { name: search.name.clone(), namespace: None, input: ToolInput::Json(input) };
        Some(ToolMapping::SearchFirst(invocation))
    }

    fn tool(&self, name: &str) -> Option<&OfferedTool> {
        self.conversation.tools.iter().find(|tool| tool.name == name)
    }

    fn has_parameter(&self, tool: &str, parameter: &str) -> bool {
        self.tool(tool).is_some_and(|tool| tool.parameters.iter().any(|name| name == parameter))
    }

    fn absolute_path(&self, path: &str) -> String {
        self.workspace.join(path).display().to_string()
    }

    fn no_tool(&self, purpose: &'static str) -> NoTool {
        let names: Vec<&str> = self.conversation.tools.iter().map(|tool| tool.name.as_str()).collect();
        NoTool { purpose, offered: if names.is_empty() { "none".to_owned() } else { names.join(", ") } }
    }
}

fn invoke(tool: &OfferedTool, input: ToolInput) -> ToolInvocation {
    ToolInvocation { name: tool.name.clone(), namespace: tool.namespace.clone(), input }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use super::*;
    use crate::scenario::Step;

    const EVERY_ACTION: &str = r#"
        about = "Every action."
        [[turn]]
        user = "Do everything"
        model = [[
            { run = "ls" },
            { read = "a.txt" },
            { write = "a.txt", content = "new\n" },
            { edit = "a.txt", old = "x", new = "y" },
            { patch = [{ update = "a.txt", old = "x", new = "y" }, { add = "b.txt", content = "b" }, { delete = "c.txt" }] },
            { search = "x+" },
            { ask = [{ question = "Which?", header = "Which", options = ["A", "B"] }] },
            { plan = "1. Do it" },
            { todo = [{ task = "Do it", state = "in_progress" }] },
            { delegate = "helper" },
            { mcp = "tiny.add", args = { a = 1 } },
            { tool = "levitate", args_text = "{broken" },
        ]]
        [subagent.helper]
        task = "Look around"
        model = [[{ say = "Looked." }]]
    "#;

    fn offered(names: &[&str]) -> Vec<OfferedTool> {
        let tool = |name: &&str| match name.split_once('/') {
            Some((namespace, name)) => OfferedTool { namespace: Some(namespace.to_owned()), ..offered_tool(name) },
            None => offered_tool(name),
        };
        names.iter().map(tool).collect()
    }

    fn offered_tool(name: &str) -> OfferedTool {
        // The Responses API takes a patch as plain text.
        let (name, takes_text) = name.strip_suffix("(text)").map_or((name, false), |name| (name, true));
        OfferedTool { name: name.to_owned(), takes_text, ..OfferedTool::default() }
    }

    /// What each action is mapped to with these tools.
    fn map_all(names: &[&str]) -> String {
        let scenario = Scenario::parse("test", EVERY_ACTION).unwrap();
        let conversation = Conversation { tools: offered(names), ..Conversation::default() };
        let mapper =
            ToolMapper { scenario: &scenario, conversation: &conversation, workspace: Path::new("/workspace") };
        let mut text = String::new();
        for step in &scenario.turns[0].replies[0] {
            let Step::ToolCall(action) = step else { continue };
            let debug = format!("{action:?}");
            let _ = writeln!(text, "{}", debug.split([' ', '(']).next().unwrap_or_default());
            match mapper.map(action) {
                Ok(ToolMapping::Calls(calls)) => {
                    for call in calls {
                        let namespace = call.namespace.map(|namespace| format!("{namespace}/")).unwrap_or_default();
                        let _ = writeln!(text, "  {namespace}{} {:?}", call.name, call.input);
                    }
                }
                Ok(ToolMapping::Text(plan)) => {
                    let _ = writeln!(text, "  text {plan:?}");
                }
                Ok(ToolMapping::SearchFirst(call)) => {
                    let _ = writeln!(text, "  search first {} {:?}", call.name, call.input);
                }
                Err(error) => {
                    let _ = writeln!(text, "  {error}");
                }
            }
        }
        text
    }

    #[test]
    fn every_action_is_mapped_to_a_tool_of_each_agent() {
        let claude = [
            "Agent",
            "AskUserQuestion",
            "Bash",
            "Edit",
            "ExitPlanMode",
            "Read",
            "TodoWrite",
            "Write",
            "mcp__tiny__add",
        ];
        insta::assert_snapshot!("claude", map_all(&claude));
        let codex = [
            "exec_command",
            "apply_patch(text)",
            "request_user_input",
            "update_plan",
            "multi_agent_v1/spawn_agent",
            "mcp__tiny/add",
        ];
        insta::assert_snapshot!("codex", map_all(&codex));
        let opencode = ["bash", "edit", "grep", "question", "read", "task", "tiny_add", "todowrite", "write"];
        insta::assert_snapshot!("opencode", map_all(&opencode));
    }

    #[test]
    fn an_escalating_model_says_so_if_the_tool_has_a_parameter_for_it() {
        let text = "about = \"x\"\n[setup]\nescalates = true\n[[turn]]\nuser = \"Go on\"\nmodel = []\n";
        let scenario = Scenario::parse("test", text).unwrap();
        let mapped = |tool: &str| {
            let conversation = Conversation { tools: offered(&[tool]), ..Conversation::default() };
            let mapper = ToolMapper { scenario: &scenario, conversation: &conversation, workspace: Path::new("/") };
            format!("{:?}", mapper.map(&ToolAction::Run { command: "ls".to_owned() }))
        };
        assert!(mapped("exec_command").contains("require_escalated"));
        assert!(!mapped("bash").contains("require_escalated"));
    }

    #[test]
    fn deferred_tools_of_claude_code_are_searched_for_first() {
        insta::assert_snapshot!("claude_deferred", map_all(&["Bash", "Edit", "Read", "ToolSearch", "Write"]));
    }

    #[test]
    fn the_error_for_an_action_without_a_tool_lists_the_offered_tools() {
        let text = map_all(&["webfetch"]);
        assert!(text.contains("Run\n  the agent offers no tool to run a command; it offers webfetch\n"), "{text}");
    }
}
