//! Makes a table of the files in `dist`, if the page was built.
//!
//! The build of the page sets the modification time of this file, so that cargo runs it again.

use std::env;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let dist = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it")).join("dist");
    let list = dist.join("files.txt");
    let mut table = String::from("&[\n");
    if list.is_file() {
        println!("cargo::rerun-if-changed=dist");
        for line in fs::read_to_string(&list).expect("dist/files.txt can be read").lines() {
            let fields: Vec<&str> = line.split('\t').collect();
            let &[path, content_type, tag, caching] = fields.as_slice() else {
                panic!("dist/files.txt has the line {line:?}; build the page again with `cargo xtask inspector`")
            };
            let bytes = |extension: &str| include(&dist.join(format!("{path}{extension}")));
            writeln!(
                table,
                "File {{ path: {path:?}, content_type: {content_type:?}, entity_tag: {:?}, is_immutable: {}, bytes: {}, \
                 brotli: {}, gzip: {} }},",
                format!("\"{tag}\""),
                caching == "immutable",
                bytes(""),
                bytes(".br"),
                bytes(".gz"),
            )
            .expect("writing to memory does not fail");
        }
    }
    table.push(']');
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it")).join("files.rs");
    fs::write(out, table).expect("OUT_DIR can be written");
}

fn include(path: &Path) -> String {
    format!("include_bytes!({:?})", path.to_str().expect("the path is UTF-8"))
}
