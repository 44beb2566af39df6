//! A model that plays a scenario to a real agent: on loopback, without a key, without cost.
//!
//! A [`Scenario`] is a small TOML file that says what the user says, what the model answers (words, thoughts, tool
//! calls, failures) and what the host does meanwhile. It names tools by their *role* (run a command, edit a file, ask
//! the user), so one file plays on every agent. [`ScriptedModel::start`] serves it in the three languages that agents
//! speak to models: Anthropic Messages, `OpenAI` Responses and `OpenAI` Chat Completions.
//!
//! # How the model knows where it is
//!
//! It does not count requests: agents retry, ask for titles, run sub-agents and sessions side by side. Each request
//! brings the whole conversation, and that says it all. The last message of the user that the scenario knows is the
//! turn (a sub-agent's task likewise); the ids of the tool calls after it, which the model gave out, say how many of
//! the turn's replies were given. Only refusals leave no trace in a conversation, so only they are counted.
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
mod dialect;
mod environment;
mod offered;
mod patch;
mod player;
mod progress;
mod reply;
mod role;
mod route;
pub mod scenario;
mod server;
mod side;

pub use environment::{agent_environment, codex_config, opencode_config, required_model, supported_agents};
pub use progress::ScenarioReport;
pub use scenario::{InvalidScenario, Scenario};
pub use server::{ScriptedModel, TurnEndSource};
