//! `cargo xtask`: the tasks of this repository that are not part of the product.
//!
//! Two of them concern `agent-schemas/`, the folder that says what each agent's wire looks like:
//!
//! * `refresh-schemas` asks the agents' own packages (network, by hand, never in CI) and rewrites the folder;
//! * `drift` compares two states of it and says what the difference means for this repository.
//!
//! Nothing here links the generated types: a schema that breaks them must not stop `refresh-schemas` from
//! building.

mod agents;
mod cache;
mod canonical;
mod definitions;
mod drift;
mod extract;
mod isolated;
mod npm;
mod pins;
mod progress;
mod refresh;
mod repository;
mod say;
mod source_toml;
mod text_diff;
mod whole_file;

use std::process::ExitCode;

use clap::Parser;

/// The tasks of this repository.
#[derive(Parser)]
#[command(name = "xtask", bin_name = "cargo xtask")]
enum Task {
    RefreshSchemas(refresh::Args),
    Drift(drift::Args),
}

fn main() -> ExitCode {
    let outcome = match Task::parse() {
        Task::RefreshSchemas(args) => refresh::run(&args),
        Task::Drift(args) => drift::run(&args),
    };
    outcome.unwrap_or_else(|error| {
        say::note(format_args!("error: {error:#}"));
        ExitCode::FAILURE
    })
}
