//! `cargo xtask`: tasks for maintainers of this repository.
//!
//! Two tasks concern `agent-schemas/`, the folder with the schema of each agent's wire:
//!
//! * `refresh-schemas` extracts the schemas from the agents' own packages and rewrites the folder. It needs the
//!   network, so it is run by hand and never in CI.
//! * `drift` compares two states of the folder and classifies the changes.
//!
//! `update` moves an agent to another version: it runs these and the other tasks that follow from it.
//!
//! The other tasks run programs of other crates: `record` plays the scenarios on the real agents and records them,
//! `live` tests the real agents behind the server, `inspector` builds the web UI, `generate` writes the generated files
//! (JSON Schemas and pages about the recordings), `bench` measures decoding and conversion, `bench-server` the server, `fuzz`
//! runs the fuzz targets.
//!
//! This crate does not link the generated types, because a schema that breaks them must not stop `refresh-schemas` from
//! building. A program that needs the types is in another crate, and is built when its task runs.

mod agent_install;
mod atomic_write;
mod bench;
mod bench_server;
mod cache;
mod cargo;
mod console;
mod definitions;
mod drift;
mod extract;
mod fuzz;
mod generate;
mod inspector;
mod isolated;
mod live;
mod npm;
mod picture;
mod pins;
mod progress;
mod recipes;
mod record;
mod refresh;
mod release;
mod repository;
mod schema_json;
mod source_toml;
mod text_diff;
mod update;

use std::process::ExitCode;

use clap::Parser;

use crate::npm::NpmError;

/// Exit code of a task that could not be carried out, because npm is missing or cannot reach its registry.
const EXIT_NOT_DONE: u8 = 2;

/// Tasks for maintainers of this repository
#[derive(Parser)]
#[command(name = "xtask", bin_name = "cargo xtask")]
enum Task {
    RefreshSchemas(refresh::Args),
    Drift(drift::Args),
    Update(update::Args),
    Release(release::Args),
    Generate(generate::Args),
    Coverage(generate::CoverageArgs),
    Bench(bench::Args),
    BenchServer(bench_server::Args),
    Record(record::Args),
    Live(live::Args),
    Picture(picture::Args),
    Inspector(inspector::Args),
    Fuzz(fuzz::Args),
}

fn main() -> ExitCode {
    let outcome = match Task::parse() {
        Task::RefreshSchemas(args) => refresh::run(&args),
        Task::Drift(args) => drift::run(&args),
        Task::Update(args) => update::run(&args),
        Task::Release(args) => release::run(&args),
        Task::Generate(args) => generate::run(&args),
        Task::Coverage(args) => generate::run_coverage(&args),
        Task::Bench(args) => bench::run(&args),
        Task::BenchServer(args) => bench_server::run(&args),
        Task::Record(args) => record::run(&args),
        Task::Live(args) => live::run(&args),
        Task::Picture(args) => picture::run(&args),
        Task::Inspector(args) => inspector::run(&args),
        Task::Fuzz(args) => fuzz::run(&args),
    };
    outcome.unwrap_or_else(|error| {
        console::log(format_args!("error: {error:#}"));
        let is_npm_missing = |cause: &NpmError| matches!(cause, NpmError::Missing | NpmError::Unreachable(_));
        if error.chain().filter_map(|cause| cause.downcast_ref()).any(is_npm_missing) {
            ExitCode::from(EXIT_NOT_DONE)
        } else {
            ExitCode::FAILURE
        }
    })
}
