//! Generates types from a schema. It either fails with a message, or gives Rust that parses, the same each time.
//!
//! Input: a JSON Schema. Its first definition is the root.

#![no_main]

use interlingua_codegen::{Document, Settings, generate};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let Ok(document) = Document::parse("schema.json", text) else { return };
    let Some(root) = document.definitions().next().map(str::to_owned) else { return };
    let settings = Settings { schema: "schema.json".to_owned(), roots: vec![root], docs: true, ..Settings::default() };
    let Ok(generated) = generate("schema.json", &document, &settings) else { return };
    if let Err(error) = syn::parse_file(&generated.source) {
        panic!("{error}: {}", generated.source);
    }
    let again = generate("schema.json", &document, &settings).expect("it was generated before");
    assert_eq!(generated.source, again.source);
});
