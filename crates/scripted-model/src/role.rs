//! From what a tool call is for to the tool that this agent offers for it.
//!
//! Each agent names its tools differently and some have none for a role. The request says which are there, so the
//! mapping asks what is offered and never who asks.

use std::path::Path;

use serde_json::{Value, json};

use crate::conversation::Conversation;
use crate::patch;
use crate::reply::Input;
use crate::scenario::{FileChange, Question, Scenario, Todo, ToolAction};

/// A tool call without an id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Call {
    pub(crate) name: String,
    pub(crate) namespace: Option<String>,
    pub(crate) input: Input,
}

/// What a role becomes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Mapped {
    /// Calls, made at once.
    Calls(Vec<Call>),
    /// The agent has no tool for it but knows the words.
    Words(String),
    /// The agent has a tool for it, but must be asked to offer it first, with this call.
    First(Call),
}

/// Why there is no tool for a role.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the agent offers no tool to {role}; it offers {offered}")]
pub(crate) struct NoTool {
    role: &'static str,
    offered: String,
}

/// Looks for tools.
pub(crate) struct Mapper<'a> {
    pub(crate) scenario: &'a Scenario,
    pub(crate) conversation: &'a Conversation,
    pub(crate) workspace: &'a Path,
}

impl Mapper<'_> {
    /// The tools for a role.
    pub(crate) fn map(&self, role: &ToolAction) -> Result<Mapped, NoTool> {
        match role {
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
                let call = Call { name: name.clone(), namespace: None, input: Input::Json(arguments.clone()) };
                Ok(Mapped::Calls(vec![call]))
            }
        }
    }

    fn run(&self, command: &str, role: &'static str) -> Result<Mapped, NoTool> {
        self.first_of(
            role,
            &[
                ("Bash", json!({"command": command, "description": "Run the scripted command"})),
                ("bash", self.bash(command)),
                ("exec_command", self.exec(command)),
                ("shell_command", json!({"command": command})),
                ("shell", json!({"command": ["bash", "-lc", command]})),
            ],
        )
    }

    /// OpenCode has wanted a description in some versions and does not know it in others.
    fn bash(&self, command: &str) -> Value {
        let describes = self.tool("bash").is_some_and(|tool| tool.parameters.iter().any(|name| name == "description"));
        if describes {
            json!({"command": command, "description": "Run the scripted command"})
        } else {
            json!({"command": command})
        }
    }

    /// Codex asks the user for what the model wants to do outside of the sandbox.
    fn exec(&self, command: &str) -> Value {
        if self.scenario.setup.escalates {
            json!({"cmd": command, "sandbox_permissions": "require_escalated", "justification": "May I?"})
        } else {
            json!({"cmd": command})
        }
    }

    fn read(&self, path: &str) -> Result<Mapped, NoTool> {
        let full = self.full(path);
        let tools = [("Read", json!({"file_path": full})), ("read", json!({"filePath": full}))];
        self.first_of("read a file", &tools).or_else(|_| self.run(&format!("cat {path}"), "read a file"))
    }

    fn write(&self, path: &str, content: &str) -> Result<Mapped, NoTool> {
        let full = self.full(path);
        let tools = [
            ("Write", json!({"file_path": full, "content": content})),
            ("write", json!({"filePath": full, "content": content})),
        ];
        let change = FileChange::Add { add: path.to_owned(), content: content.to_owned() };
        self.first_of("write a file", &tools).or_else(|error| self.apply_patch(&[change], error))
    }

    fn edit(&self, path: &str, old: &str, new: &str) -> Result<Mapped, NoTool> {
        let full = self.full(path);
        let tools = [
            ("Edit", json!({"file_path": full, "old_string": old, "new_string": new})),
            ("edit", json!({"filePath": full, "oldString": old, "newString": new})),
        ];
        let change = FileChange::Update { update: path.to_owned(), old: old.to_owned(), new: new.to_owned() };
        self.first_of("edit a file", &tools).or_else(|error| self.apply_patch(&[change], error))
    }

    /// One patch where there is a tool for it, else what it would do, file by file.
    fn patch(&self, changes: &[FileChange]) -> Result<Mapped, NoTool> {
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
                Mapped::Calls(more) => calls.extend(more),
                other => return Ok(other),
            }
        }
        Ok(Mapped::Calls(calls))
    }

    fn apply_patch(&self, changes: &[FileChange], none: NoTool) -> Result<Mapped, NoTool> {
        let tool = self.tool("apply_patch").ok_or(none)?;
        let patch = patch::text(changes);
        let input =
            if tool.takes_text { Input::Text(patch) } else { Input::Json(json!({"patchText": patch}).to_string()) };
        Ok(Mapped::Calls(vec![Call { name: tool.name.clone(), namespace: tool.namespace.clone(), input }]))
    }

    fn search(&self, pattern: &str) -> Result<Mapped, NoTool> {
        let tools =
            [("Grep", json!({"pattern": pattern, "output_mode": "content"})), ("grep", json!({"pattern": pattern}))];
        let command = format!("grep -rn '{pattern}' .");
        self.first_of("search", &tools).or_else(|_| self.run(&command, "search"))
    }

    fn ask(&self, questions: &[Question]) -> Result<Mapped, NoTool> {
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
        self.first_of(
            "ask the user",
            &[
                ("AskUserQuestion", json!({"questions": claude})),
                ("question", json!({"questions": opencode})),
                ("request_user_input", json!({"questions": codex})),
            ],
        )
    }

    /// Claude has a tool for it; Codex takes it out of the words; for the others it is just words.
    fn plan(&self, text: &str) -> Mapped {
        match self.first_of("put a plan before the user", &[("ExitPlanMode", json!({"plan": text}))]) {
            Ok(mapped) => mapped,
            Err(_) => Mapped::Words(format!("<proposed_plan>\n{}\n</proposed_plan>", text.trim_end())),
        }
    }

    fn todo(&self, todos: &[Todo]) -> Result<Mapped, NoTool> {
        let all = |each: fn(&Todo) -> Value| -> Vec<Value> { todos.iter().map(each).collect() };
        let claude = all(|todo| json!({"content": todo.task, "status": todo.state.name(), "activeForm": todo.task}));
        let opencode = all(|todo| json!({"content": todo.task, "status": todo.state.name(), "priority": "medium"}));
        let codex = all(|todo| json!({"step": todo.task, "status": todo.state.name()}));
        self.first_of(
            "write a to-do list",
            &[
                ("TodoWrite", json!({"todos": claude})),
                ("todowrite", json!({"todos": opencode})),
                ("update_plan", json!({"plan": codex})),
            ],
        )
    }

    fn delegate(&self, name: &str) -> Result<Mapped, NoTool> {
        let task = self.scenario.sub_agents.get(name).map(|child| child.task.as_str()).unwrap_or_default();
        let mut spawn = json!({"message": task});
        // The second generation of Codex's tools wants a name for the child.
        if self.tool("spawn_agent").is_some_and(|tool| tool.parameters.iter().any(|name| name == "task_name")) {
            spawn["task_name"] = json!(name);
        }
        self.first_of("start a sub-agent", &[
            ("Agent", json!({"description": name, "prompt": task, "subagent_type": "general-purpose", "run_in_background": false})),
            ("Task", json!({"description": name, "prompt": task, "subagent_type": "general-purpose"})),
            ("task", json!({"description": name, "prompt": task, "subagent_type": "general"})),
            ("spawn_agent", spawn),
        ])
    }

    /// The name of an MCP tool has its server in it, in one of several ways.
    fn mcp(&self, server: &str, tool: &str, arguments: &Value) -> Result<Mapped, NoTool> {
        let space = format!("mcp__{server}");
        let named = self.conversation.tools.iter().find(|offered| match &offered.namespace {
            Some(namespace) => namespace.trim_end_matches('_') == space && offered.name == tool,
            None => offered.name == format!("{space}__{tool}") || offered.name == format!("{server}_{tool}"),
        });
        let input = Input::Json(arguments.to_string());
        match named {
            Some(found) => {
                Ok(Mapped::Calls(vec![Call { name: found.name.clone(), namespace: found.namespace.clone(), input }]))
            }
            // Codex lets the model search for them, but knows them without.
            None if self.conversation.offers("tool_search") => {
                Ok(Mapped::Calls(vec![Call { name: tool.to_owned(), namespace: Some(space), input }]))
            }
            None => self.search_tool(&format!("{space}__{tool}")).ok_or_else(|| self.no_tool("call an MCP server")),
        }
    }

    /// A call of the first tool that is offered, else of the one that brings it.
    fn first_of(&self, role: &'static str, tools: &[(&str, Value)]) -> Result<Mapped, NoTool> {
        for (name, input) in tools {
            if let Some(tool) = self.tool(name) {
                return Ok(Mapped::Calls(vec![Call {
                    name: tool.name.clone(),
                    namespace: tool.namespace.clone(),
                    input: Input::Json(input.to_string()),
                }]));
            }
        }
        let claude = tools.first().filter(|(name, _)| name.starts_with(char::is_uppercase));
        // Not for what can be had otherwise.
        let wanted = claude.filter(|(name, _)| !matches!(*name, "Grep" | "Bash"));
        wanted.and_then(|(name, _)| self.search_tool(name)).ok_or_else(|| self.no_tool(role))
    }

    /// Claude Code keeps tools back until the model asks for them by name.
    fn search_tool(&self, name: &str) -> Option<Mapped> {
        let search = self.tool("ToolSearch")?;
        let input = json!({"query": format!("select:{name}"), "max_results": 1}).to_string();
        Some(Mapped::First(Call { name: search.name.clone(), namespace: None, input: Input::Json(input) }))
    }

    fn tool(&self, name: &str) -> Option<&crate::offered::Offered> {
        self.conversation.tools.iter().find(|tool| tool.name == name)
    }

    fn full(&self, path: &str) -> String {
        self.workspace.join(path).display().to_string()
    }

    fn no_tool(&self, role: &'static str) -> NoTool {
        let names: Vec<&str> = self.conversation.tools.iter().map(|tool| tool.name.as_str()).collect();
        NoTool { role, offered: if names.is_empty() { "none".to_owned() } else { names.join(", ") } }
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use super::*;
    use crate::offered::Offered;
    use crate::scenario::Step;

    const EVERY_ROLE: &str = r#"
        about = "Every role."
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

    fn offered(names: &[&str]) -> Vec<Offered> {
        let one = |name: &&str| match name.split_once('/') {
            Some((space, name)) => Offered { namespace: Some(space.to_owned()), ..one_named(name) },
            None => one_named(name),
        };
        names.iter().map(one).collect()
    }

    fn one_named(name: &str) -> Offered {
        // A patch is plain text in the Responses language.
        let (name, takes_text) = name.strip_suffix("(text)").map_or((name, false), |name| (name, true));
        Offered { name: name.to_owned(), takes_text, ..Offered::default() }
    }

    /// What each role becomes with these tools.
    fn mapped(names: &[&str]) -> String {
        let scenario = Scenario::parse("test", EVERY_ROLE).unwrap();
        let conversation = Conversation { tools: offered(names), ..Conversation::default() };
        let mapper = Mapper { scenario: &scenario, conversation: &conversation, workspace: Path::new("/workspace") };
        let mut text = String::new();
        for step in &scenario.turns[0].replies[0] {
            let Step::ToolCall(role) = step else { continue };
            let word = format!("{role:?}");
            let _ = writeln!(text, "{}", word.split([' ', '(']).next().unwrap_or_default());
            match mapper.map(role) {
                Ok(Mapped::Calls(calls)) => {
                    for call in calls {
                        let space = call.namespace.map(|space| format!("{space}/")).unwrap_or_default();
                        let _ = writeln!(text, "  {space}{} {:?}", call.name, call.input);
                    }
                }
                Ok(Mapped::Words(words)) => {
                    let _ = writeln!(text, "  says {words:?}");
                }
                Ok(Mapped::First(call)) => {
                    let _ = writeln!(text, "  first {} {:?}", call.name, call.input);
                }
                Err(error) => {
                    let _ = writeln!(text, "  {error}");
                }
            }
        }
        text
    }

    #[test]
    fn every_role_has_a_tool_of_each_agent() {
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
        insta::assert_snapshot!("claude", mapped(&claude));
        let codex = [
            "exec_command",
            "apply_patch(text)",
            "request_user_input",
            "update_plan",
            "multi_agent_v1/spawn_agent",
            "mcp__tiny/add",
        ];
        insta::assert_snapshot!("codex", mapped(&codex));
        let opencode = ["bash", "edit", "grep", "question", "read", "task", "tiny_add", "todowrite", "write"];
        insta::assert_snapshot!("opencode", mapped(&opencode));
    }

    #[test]
    fn a_model_that_escalates_says_so_where_there_is_a_word_for_it() {
        let text = "about = \"x\"\n[setup]\nescalates = true\n[[turn]]\nuser = \"Go on\"\nmodel = []\n";
        let scenario = Scenario::parse("test", text).unwrap();
        let called = |tool: &str| {
            let conversation = Conversation { tools: offered(&[tool]), ..Conversation::default() };
            let mapper = Mapper { scenario: &scenario, conversation: &conversation, workspace: Path::new("/") };
            format!("{:?}", mapper.map(&ToolAction::Run { command: "ls".to_owned() }))
        };
        assert!(called("exec_command").contains("require_escalated"));
        assert!(!called("bash").contains("require_escalated"));
    }

    #[test]
    fn tools_that_claude_code_keeps_back_are_asked_for_first() {
        insta::assert_snapshot!("claude_keeps_back", mapped(&["Bash", "Edit", "Read", "ToolSearch", "Write"]));
    }

    #[test]
    fn a_role_without_a_tool_says_what_there_is() {
        let told = mapped(&["webfetch"]);
        assert!(told.contains("Run\n  the agent offers no tool to run a command; it offers webfetch\n"), "{told}");
    }
}
