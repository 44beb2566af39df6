//! Writes what the recordings prove; started by `cargo xtask coverage`.

use std::process::ExitCode;

use interlingua_snapshots::coverage::{COMMAND, Coverage};

fn main() -> ExitCode {
    let check = match std::env::args().skip(1).collect::<Vec<_>>().as_slice() {
        [] => false,
        [flag] if flag == "--check" => true,
        other => {
            eprintln!("error: expected nothing or --check, found {other:?}: run `{COMMAND} --help`");
            return ExitCode::FAILURE;
        }
    };
    match run(check) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(check: bool) -> std::io::Result<ExitCode> {
    eprintln!("converting the recordings …");
    let coverage = Coverage::of_recordings()?;
    let stale: Vec<_> = coverage.files().into_iter().filter(|file| !file.is_current()).collect();
    println!("{}", coverage.uniformity());
    if check {
        for file in &stale {
            eprintln!("error: {} is not what the recordings show; run `{COMMAND}` and commit it", file.path);
        }
        return Ok(if stale.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE });
    }
    for file in &stale {
        std::fs::write(file.place(), &file.text)?;
        eprintln!("wrote {}", file.path);
    }
    if stale.is_empty() {
        eprintln!("nothing changed");
    }
    Ok(ExitCode::SUCCESS)
}
