//! A model server on loopback that plays a scenario to a real agent, without a key and without cost.
//!
//! A [`Scenario`] is a small TOML file. It says what the user sends, what the model answers (text, reasoning, tool
//! calls, failures) and what the host does meanwhile. It names the *action* of a tool call (run a command, edit a file,
//! ask the user) instead of the tool, so one file can be played on every agent. [`ScriptedModel::start`] serves it over
//! the three APIs with which agents call models: Anthropic Messages, `OpenAI` Responses and `OpenAI` Chat Completions.
//!
//! # How the model finds its position in the scenario
//!
//! It does not count requests, because agents retry, ask for titles, and run sub-agents and sessions concurrently. Each
//! request contains the whole conversation, which is enough. The last message of the user that the scenario has
//! determines the turn (the task of a sub-agent likewise). The model chose the ids of the tool calls after that
//! message, so they show how many replies of the turn were given. Only failures leave no trace in a conversation, so
//! only they are counted.
//!
//! ```
//! use interlingua_scripted_model::Scenario;
//!
//! let scenario = Scenario::parse("greeting", r#"
//!     about = "The model greets back."
//!
//!     [[turn]]
//!     user = "Hello there"
//!     model = [
//!         [{ status = 529 }],
//!         [{ think = "A greeting." }, { say = "Hello! " }, { run = "ls" }],
//!         [{ say = "All done." }],
//!     ]
//! "#)?;
//! assert_eq!(scenario.turns[0].replies.len(), 3);
//! # Ok::<(), interlingua_scripted_model::InvalidScenario>(())
//! ```

mod conversation;
mod environment;
mod model_api;
mod offered_tool;
mod patch;
mod player;
mod position;
mod progress;
mod reply;
pub mod scenario;
mod server;
mod side_request;
mod tool_mapper;

pub use environment::{agent_environment, codex_config, opencode_config, required_model, supported_agents};
pub use progress::ScenarioReport;
pub use scenario::{InvalidScenario, Scenario};
pub use server::{ScriptedModel, TurnEndSource};
