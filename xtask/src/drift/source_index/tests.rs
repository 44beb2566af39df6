use super::*;

/// A repository with the source of a converter, and its index.
fn index(files: &[(&str, &str)]) -> SourceIndex {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(folder.path().join("agent-schemas")).unwrap();
    std::fs::write(folder.path().join("Cargo.toml"), "").unwrap();
    for (name, text) in files {
        let path = folder.path().join("crates/convert/src").join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    SourceIndex::of_converter(&Repository::containing(folder.path()).unwrap(), "codex")
}

fn native(path: &str) -> Vec<String> {
    format!("interlingua_native::codex::{path}").split("::").map(str::to_owned).collect()
}

fn lines(index: &SourceIndex, places: impl IntoIterator<Item = Place>) -> Vec<String> {
    places.into_iter().map(|place| index.describe(place).replace("crates/convert/src/", "")).collect()
}

#[test]
fn arms_of_unions_with_the_same_name_are_told_apart() {
    let index = index(&[
        (
            "codex.rs",
            "use interlingua_native::codex::ThreadItem;\nfn f(i: ThreadItem) { match i {\n ThreadItem::Plan(_) => {}\n}}",
        ),
        (
            "codex/exec.rs",
            "use interlingua_native::codex::exec::{self, ThreadItem as Item};\nfn f(i: Item) { match i {\n Item::Plan(_) => {}\n}}\n\
             fn g(i: &exec::ThreadItem) -> bool {\n matches!(i, exec::ThreadItem::Plan(_) if true)\n}",
        ),
    ]);
    assert_eq!(lines(&index, index.arms(&native("ThreadItem"), "Plan")), ["codex.rs:3"]);
    assert_eq!(lines(&index, index.arms(&native("exec::ThreadItem"), "Plan")), ["codex/exec.rs:3", "codex/exec.rs:6"]);
}

#[test]
fn names_are_followed_through_modules_and_imports_are_no_places() {
    let index = index(&[
        ("codex.rs", "pub(crate) use interlingua_native::codex::{Thread, Turn as T};\nmod items;"),
        ("codex/items.rs", "use super::{T, Thread};\n\nfn f(thread: &Thread, turn: &T) {}"),
    ]);
    assert_eq!(lines(&index, index.uses(&native("Thread"))), ["codex/items.rs:3"]);
    assert_eq!(lines(&index, index.uses(&native("Turn"))), ["codex/items.rs:3"]);
}

#[test]
fn tests_are_left_out() {
    let test = "use interlingua_native::codex::Thread;\nfn f(_: Thread) {}";
    let inline = format!("#[cfg(test)]\nmod tests {{\n{test}\n}}");
    let index = index(&[("codex.rs", &inline), ("codex/tests.rs", test), ("codex/tests/exec.rs", test)]);
    assert!(index.uses(&native("Thread")).is_empty());
    assert!(!index.is_empty());
}

#[test]
fn a_field_is_found_in_the_functions_that_name_its_struct() {
    let index = index(&[(
        "codex.rs",
        "use interlingua_native::codex::*;\n\
         fn a(thread: &Thread) -> bool {\n thread.is_open\n}\n\
         fn b(other: &Other) -> bool {\n other.is_open\n}\n\
         impl Extension for Thread {\n fn c(&self) -> bool {\n format!(\"{}\", self.is_open);\n }\n}",
    )]);
    let found = index.field_uses(&[native("Thread")], "is_open");
    assert_eq!(lines(&index, found), ["codex.rs:3", "codex.rs:10"]);
    assert!(index.field_uses(&[native("Thread")], "is_closed").is_empty());
}

#[test]
fn a_field_belongs_to_the_arm_or_constructor_that_names_its_struct() {
    let index = index(&[(
        "codex.rs",
        "use interlingua_native::codex::{Image, Input};\n\
         fn a(input: Input) {\n match input {\n  Input::Image(i) => i.url,\n  Input::Audio(i) => i.url,\n }\n}\n\
         fn b(url: Url) -> (Image, Other) {\n let image = Image { url: url };\n let other = Other { url };\n}",
    )]);
    let audio = [native("Input::Audio")];
    assert_eq!(lines(&index, index.field_uses(&audio, "url")), ["codex.rs:5"]);
    let image = [native("Image"), native("Input::Image")];
    assert_eq!(lines(&index, index.field_uses(&image, "url")), ["codex.rs:4", "codex.rs:9"]);
}

#[test]
fn a_match_with_an_arm_for_everything_else_is_not_exhaustive() {
    let index = index(&[(
        "codex.rs",
        "use interlingua_native::codex::Item;\n\
         fn a(item: Item) {\n match item {\n Item::A(_) | Item::B { .. } => {}\n Item::Unknown { .. } => {}\n }\n}\n\
         fn b(item: Item) {\n match item {\n Item::A(_) => {}\n _ => {}\n }\n}",
    )]);
    let matches = index.exhaustive_matches(&native("Item"));
    let [(place, arms)] = matches.as_slice() else { panic!("{matches:?}") };
    assert_eq!(lines(&index, [*place]), ["codex.rs:3"]);
    assert_eq!(arms, &["A", "B", "Unknown"]);
}
