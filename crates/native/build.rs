//! Generates one module per enabled agent feature from the schemas in `interlingua-agent-schemas`. Needs no network.

use std::error::Error;
use std::fmt::Write as _;
use std::path::Path;
use std::{env, fs, process};

use interlingua_agent_schemas::AgentSchemas;
use interlingua_codegen::{SchemaFolder, generate};

fn main() {
    if let Err(error) = run() {
        eprintln!("error: {error}");
        process::exit(1);
    }
}

fn run() -> Result<(), Box<dyn Error>> {
    // If the schemas or the generator change, cargo rebuilds this program and runs it again.
    println!("cargo::rerun-if-changed=build.rs");
    let mut modules = String::new();
    for schemas in interlingua_agent_schemas::ALL {
        if env::var_os(format!("CARGO_FEATURE_{}", schemas.agent.to_uppercase())).is_some() {
            write_agent(schemas, &mut modules)?;
        }
    }
    fs::write(Path::new(&env::var("OUT_DIR")?).join("agents.rs"), modules)?;
    Ok(())
}

/// Appends the module of one agent.
fn write_agent(schemas: &AgentSchemas, modules: &mut String) -> Result<(), Box<dyn Error>> {
    let agent = schemas.agent;
    let packages = schemas.packages.iter().map(|package| format!("`{}` {}", package.name, package.version));
    writeln!(modules, "/// Generated from {}.", packages.collect::<Vec<_>>().join(", "))?;
    writeln!(modules, "#[allow(missing_docs, clippy::all, clippy::pedantic, rustdoc::all)]\npub mod {agent} {{")?;
    for module in SchemaFolder::parse(&format!("agent-schemas/{agent}"), schemas.files())?.modules {
        let generated = generate(&module.file, &module.document, &module.settings)?;
        match &module.name {
            None => modules.push_str(&generated.source),
            Some(name) => {
                let schema = &module.settings.schema;
                writeln!(modules, "/// The types of `{schema}`.\npub mod {name} {{\n{}}}", generated.source)?;
            }
        }
    }
    modules.push_str("}\n");
    Ok(())
}
