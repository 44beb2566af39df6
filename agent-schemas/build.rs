//! Generates the tables of `src/lib.rs`, with one entry for each folder that has a `source.toml`.
//!
//! Cargo runs this program again when any file of the package changes, so that new folders are found as well.

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io, process};

use serde::Deserialize;

/// The part of `source.toml` that describes the origin of the schemas.
#[derive(Deserialize)]
struct Provenance {
    pull: Pull,
    package: BTreeMap<String, Package>,
}

#[derive(Deserialize)]
struct Pull {
    /// Version of the package that the schemas were pulled from.
    version: String,
    /// The agent that the schemas describe, if that package is not the agent itself.
    describes: Option<Package>,
}

#[derive(Deserialize)]
struct Package {
    version: String,
}

fn main() {
    if let Err(error) = run() {
        eprintln!("error: {error}");
        process::exit(1);
    }
}

fn run() -> Result<(), Box<dyn Error>> {
    let root = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?);
    let mut agents = String::new();
    let mut files = String::new();
    for folder in entries(&root)?.into_iter().filter(|folder| folder.join("source.toml").is_file()) {
        write_agent(&folder, &mut agents, &mut files)
            .map_err(|error| format!("{}: {error}", folder.join("source.toml").display()))?;
    }
    let tables = format!(
        "/// All agents with a schema, sorted by id.\npub static ALL: &[AgentSchemas] = &[{agents}];\n\
         static FILES: &[(&str, &[(&str, &str)])] = &[{files}];\n"
    );
    fs::write(Path::new(&env::var("OUT_DIR")?).join("tables.rs"), tables)?;
    Ok(())
}

/// Adds the agent of one folder to both tables.
fn write_agent(folder: &Path, agents: &mut String, files: &mut String) -> Result<(), Box<dyn Error>> {
    let agent = file_name(folder);
    let source: Provenance = toml::from_str(&fs::read_to_string(folder.join("source.toml"))?)?;
    let agent_version = source.pull.describes.map_or(source.pull.version, |agent| agent.version);
    write!(agents, "AgentSchemas {{ agent: {agent:?}, agent_version: {agent_version:?}, packages: &[")?;
    for (name, Package { version }) in source.package {
        write!(agents, "Package {{ name: {name:?}, version: {version:?} }},")?;
    }
    agents.push_str("] },");
    write!(files, "({agent:?}, &[")?;
    for path in entries(folder)? {
        let name = file_name(&path);
        let text = format!("include_str!(concat!(env!(\"CARGO_MANIFEST_DIR\"), {:?}))", format!("/{agent}/{name}"));
        write!(files, "({name:?}, {text}),")?;
    }
    files.push_str("]),");
    Ok(())
}

/// The entries of a folder, sorted by name.
fn entries(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut entries = fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>()?;
    entries.sort();
    Ok(entries)
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}
