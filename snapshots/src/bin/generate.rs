//! Prints generated files as JSON: `[{"generator": …, "path": …, "text": …}, …]`.
//!
//! `cargo xtask generate` runs this program and compares or writes the files. The arguments are names of generators;
//! without arguments, all generators run.

use std::error::Error;
use std::io::Write as _;
use std::process::ExitCode;

use interlingua_snapshots::Corpus;
use interlingua_snapshots::coverage::Coverage;
use interlingua_snapshots::generate::Generator;

fn main() -> ExitCode {
    match run(std::env::args().skip(1)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(names: impl Iterator<Item = String>) -> Result<(), Box<dyn Error>> {
    let mut generators = names.map(|name| find_generator(&name)).collect::<Result<Vec<_>, _>>()?;
    if generators.is_empty() {
        generators.extend(Generator::ALL);
    }
    let coverage = if generators.iter().any(|generator| generator.needs_coverage()) {
        eprintln!("converting the recordings …");
        Coverage::from_corpus(&Corpus::load()?)
    } else {
        Coverage::default()
    };
    let mut files = Vec::new();
    for generator in generators {
        files.extend(generator.generate(&coverage)?);
    }
    let mut json = serde_json::to_vec(&files)?;
    json.push(b'\n');
    std::io::stdout().write_all(&json)?;
    Ok(())
}

fn find_generator(name: &str) -> Result<Generator, String> {
    Generator::ALL.into_iter().find(|generator| generator.name() == name).ok_or_else(|| {
        let known = Generator::ALL.map(Generator::name).join(", ");
        format!("unknown generator `{name}`; known generators: {known}")
    })
}
