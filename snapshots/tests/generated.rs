//! Every generated file is what its generator makes.

use std::path::Path;

use interlingua_snapshots::coverage::Coverage;
use interlingua_snapshots::generate::Generator;

use crate::corpus;

#[test]
fn every_generated_file_is_up_to_date() {
    let coverage = Coverage::of_corpus(corpus()).unwrap();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let files = Generator::ALL.into_iter().flat_map(|generator| generator.generate(&coverage).unwrap());
    let is_current = |path: &str, text: &str| std::fs::read_to_string(root.join(path)).is_ok_and(|found| found == text);
    let stale: Vec<&str> = files.filter(|file| !is_current(file.path, &file.text)).map(|file| file.path).collect();
    assert!(stale.is_empty(), "out of date: {stale:?}; run `cargo xtask generate` and commit the files");
}
