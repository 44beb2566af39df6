//! Writes `docs/envelope-capabilities.md`: `cargo run -p interlingua-envelope --example write-capabilities`.
//!
//! With `--check` it writes nothing and fails if the page is out of date.

mod page;

use std::error::Error;
use std::path::Path;
use std::{env, fs};

fn main() -> Result<(), Box<dyn Error>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/envelope-capabilities.md");
    let page = page::page();
    if env::args().any(|argument| argument == "--check") {
        if fs::read_to_string(&path)? != page {
            return Err(page::OUT_OF_DATE.into());
        }
        return Ok(());
    }
    Ok(fs::write(path, page)?)
}
