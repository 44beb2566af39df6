//! Generates one module per agent whose feature is on, from the schemas in `agent-schemas/`. Offline.

use std::path::{Path, PathBuf};
use std::{env, error, fs, process};

use interlingua_codegen::{Source, generate};

const AGENTS: [&str; 4] = ["amp", "claude", "codex", "opencode"];

fn main() {
    if let Err(error) = run() {
        eprintln!("error: {error}");
        process::exit(1);
    }
}

fn run() -> Result<(), Box<dyn error::Error>> {
    let out = PathBuf::from(env::var("OUT_DIR")?);
    let schemas = Path::new(&env::var("CARGO_MANIFEST_DIR")?).join("../../agent-schemas");
    println!("cargo::rerun-if-changed=build.rs");
    for agent in AGENTS {
        if env::var_os(format!("CARGO_FEATURE_{}", agent.to_uppercase())).is_some() {
            println!("cargo::rerun-if-changed={}", schemas.join(agent).display());
            write_agent(agent, &schemas.join(agent), &out)?;
        }
    }
    Ok(())
}

fn write_agent(agent: &str, folder: &Path, out: &Path) -> Result<(), Box<dyn error::Error>> {
    let source = Source::load(folder)?;
    let packages: Vec<String> = source.packages.iter().map(|(name, version)| format!("`{name}` {version}")).collect();
    let mut module = format!(
        "/// Generated from {}.\n#[allow(missing_docs, clippy::all, clippy::pedantic, rustdoc::all)]\npub mod {agent} {{\n",
        packages.join(", ")
    );
    for part in &source.modules {
        let generated = generate(&part.file, &part.document, &part.settings)?;
        match &part.name {
            None => module.push_str(&generated.source),
            Some(name) => {
                let about = format!("/// The types of `{}`.\npub mod {name} {{\n", part.settings.schema);
                module.push_str(&about);
                module.push_str(&generated.source);
                module.push_str("}\n");
            }
        }
    }
    module.push_str("}\n");
    fs::write(out.join(format!("{agent}.rs")), module)?;
    Ok(())
}
