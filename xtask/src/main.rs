//! `cargo xtask`: the tasks of this repository that are not part of the product.
//!
//! Two of them concern `agent-schemas/`, the folder that says what each agent's wire looks like:
//!
//! * `refresh-schemas` asks the agents' own packages (network, by hand, never in CI) and rewrites the folder;
//! * `drift` compares two states of it and says what the difference means for this repository.
//!
//! The others are started: `record` plays the scenarios on the real agents and writes down what they say, `live` runs the
//! real agents behind the server and says what works, `generate` writes the generated files (schemas, and what the
//! recordings prove), `bench-server` measures the server.
//!
//! Nothing here links the generated types: a schema that breaks them must not stop `refresh-schemas` from
//! building. What needs them is a program of another crate, built when its task is asked for.

mod bench_server;
mod cache;
mod canonical;
mod definitions;
mod drift;
mod extract;
mod generate;
mod isolated;
mod live;
mod npm;
mod pins;
mod playable;
mod progress;
mod recipes;
mod record;
mod refresh;
mod repository;
mod say;
mod source_toml;
mod start;
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
    Generate(generate::Args),
    Coverage(generate::CoverageArgs),
    BenchServer(bench_server::Args),
    Record(record::Args),
    Live(live::Args),
}

fn main() -> ExitCode {
    let outcome = match Task::parse() {
        Task::RefreshSchemas(args) => refresh::run(&args),
        Task::Drift(args) => drift::run(&args),
        Task::Generate(args) => generate::run(&args),
        Task::Coverage(args) => generate::run_coverage(&args),
        Task::BenchServer(args) => bench_server::run(&args),
        Task::Record(args) => record::run(&args),
        Task::Live(args) => live::run(&args),
    };
    outcome.unwrap_or_else(|error| {
        say::note(format_args!("error: {error:#}"));
        ExitCode::FAILURE
    })
}
