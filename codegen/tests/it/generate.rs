//! Snapshots of the generated source, with one small schema per construct. [`compiled`](crate::compiled) compiles and runs
//! them.
//!
//! After a change of the generator, run `INSTA_UPDATE=always cargo test -p interlingua-codegen generate` and review the diff.

use std::fs;
use std::path::Path;

use interlingua_codegen::{Document, Generated, Settings, generate};

/// Generates the types of `tests/schemas/<construct>.json` with the settings of a `[types.*]` table.
fn generate_construct(construct: &str, settings: &str) -> Generated {
    let file = format!("tests/schemas/{construct}.json");
    let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(&file)).unwrap();
    let document = Document::parse(&file, &text).unwrap();
    let settings: Settings = toml::from_str(settings).unwrap();
    generate(&file, &document, &settings).unwrap_or_else(|error| panic!("{error}"))
}

/// Compares the generated source with `tests/snapshots/<construct>.snap.rs`.
fn assert_snapshot(construct: &str, source: String) {
    let mut insta = insta::Settings::clone_current();
    insta.set_prepend_module_to_snapshot(false);
    insta.set_omit_expression(true);
    insta.set_snapshot_path("../snapshots");
    insta.bind(|| insta::assert_binary_snapshot!(&format!("{construct}.rs"), source.into_bytes()));
}

/// A test per construct.
macro_rules! constructs {
    ($($construct:ident: $settings:literal,)*) => {
        $(#[test]
        fn $construct() {
            assert_snapshot(stringify!($construct), generate_construct(stringify!($construct), $settings).source);
        })*
    };
}

constructs! {
    adjacent: r#"
        roots = ["Request", "Notification"]
        ids = ["Request.id", "Input.id", "Turn.id"]
        docs = true
    "#,
    all_of: r#"roots = ["Job"]"#,
    any_of: r#"roots = ["Message"]"#,
    constants: r#"roots = ["Hello"]"#,
    draft_07: r#"roots = ["Drawing"]"#,
    draft_2020_12: r#"roots = ["Drawing"]
        docs = true"#,
    http: r#"
        roots = ["Session"]
        ids = ["Session.id"]
        only = { Session = ["id", "title"] }
        [http]
        Prompt = "POST /session/{sessionID}/prompt"
        SessionList = "GET /session"
        SessionStatuses = "GET /session/status"
    "#,
    ids: r#"
        roots = ["Turn"]
        ids = ["Turn.id", "Item.id"]
    "#,
    kinds: r#"roots = ["Message"]"#,
    maps: r#"
        roots = ["Settings"]
        ids = ["Server.id"]
    "#,
    merged: r#"roots = ["Source"]"#,
    name_collisions: r#"
        roots = ["Everything"]
        responses = { go = "EverythingState" }
    "#,
    names: r#"
        roots = ["SDKMessage"]
        strip_prefixes = ["SDK"]
        names = { SDKHTTPRetry = "Retry", UserMessageContentItem = "Paragraph" }
    "#,
    needed: r#"
        roots = ["Event"]
        ids = ["Item.id"]
        needed = ["Event.item", "Item.status", "Item.code"]
        expected = ["Event.items", "Item.size"]
        short_forms = ["Event.content"]
    "#,
    nullable: r#"roots = ["Profile"]"#,
    only: r#"
        roots = ["Request"]
        only = { Request = ["keep", "also/keep"] }
    "#,
    open_api: r#"
        roots = ["Event"]
        ids = ["Session.id"]

        [inline]
        PromptBody = "/paths/~1session~1{id}~1prompt/post/requestBody/content/application~1json/schema"
        PromptReply = "/paths/~1session~1{id}~1prompt/post/responses/200/content/application~1json/schema"
    "#,
    open_enum: r#"
        roots = ["Vote"]
        docs = true
    "#,
    recursive: r#"roots = ["Tree"]"#,
    ref_union: r#"
        roots = ["Event"]
        docs = true
    "#,
    responses: r#"
        roots = ["Request"]
        ids = ["Thread.id"]
        responses = { "thread/start" = "ThreadStartResponse", "model/list" = "ModelListResponse" }
    "#,
    sent: r#"
        roots = ["HostMessage", "AgentRequest"]
        ids = ["TurnStartParams.thread"]
        sent = ["HostMessage"]
        sent_tags = { HostMessage = ["turn/start"] }
        responses = { "turn/start" = "TurnStartResponse" }
        replies = { approve = "ApproveResponse" }
    "#,
    several_tags: r#"roots = ["Step"]"#,
    two_key_tags: r#"roots = ["Line"]"#,
}

#[test]
fn descriptions_are_omitted_if_docs_is_false() {
    let with = generate_construct(
        "ref_union",
        r#"roots = ["Event"]
        docs = true"#,
    );
    let without = generate_construct("ref_union", r#"roots = ["Event"]"#);
    for text in ["Something that happened.", "Work has begun.", "Seconds since the epoch."] {
        assert!(with.source.contains(text), "{text}");
        assert!(!without.source.contains(text), "{text}");
    }
}

#[test]
fn types_that_are_not_reachable_from_a_root_are_not_generated() {
    assert!(!generate_construct("ref_union", r#"roots = ["Event"]"#).source.contains("Unreachable"));
    assert!(
        !generate_construct("only", "roots = [\"Request\"]\nonly = { Request = [\"keep\"] }").source.contains("Drop")
    );
}
