//! Claude Code: the `sdk.d.ts` of its agent SDK.

use std::path::PathBuf;

use anyhow::{Context as _, Result};
use serde_json::Value;

use super::typescript::{self, Comments};
use super::{Extracted, Installations};
use crate::cache::Installed;
use crate::definitions::check_anchors;
use crate::recipes::Group;

const PACKAGE: &str = "@anthropic-ai/claude-agent-sdk";
const AGENT: &str = "@anthropic-ai/claude-code";
/// The program of releases before 2.1.113, which run on Node.
const SCRIPT: &str = "cli.js";

/// What a host may write to standard input. The SDK declares each of them but never their union.
const STDIN: &str =
    "SDKUserMessage | SDKControlRequest | SDKControlResponse | SDKControlCancelRequest | SDKKeepAliveMessage";

/// The program of the agent itself, which is another package than the one that declares its wire. Releases without
/// native programs bring a script for Node.
pub(super) fn program(installed: &Installed) -> Result<PathBuf> {
    let scope = installed.package("@anthropic-ai");
    let entries = std::fs::read_dir(&scope).with_context(|| format!("cannot read {}", scope.display()))?;
    let name = if cfg!(windows) { "claude.exe" } else { "claude" };
    let mut programs: Vec<PathBuf> = entries
        .flatten()
        .filter(|entry| entry.file_name().to_string_lossy().starts_with("claude-code-"))
        .map(|entry| entry.path().join(name))
        .filter(|program| program.is_file())
        .collect();
    programs.sort();
    let script = Some(installed.package(AGENT).join(SCRIPT)).filter(|script| script.is_file());
    programs.into_iter().next().or(script).context("npm installed no Claude Code program for this platform")
}

pub(super) fn extract(from: &Installations) -> Result<Extracted> {
    let types = from.get(Group::Types)?;
    let package = types.package(PACKAGE);
    let mut file = typescript::declarations(&package, "sdk.d.ts")?;
    file.drop_prefix("coreTypes.");
    file.export_types();
    // Reaches zod's types, on which the generator dies. The wire hands these messages through untouched.
    file.stand_in_for_import("JSONRPCMessage", "Record<string, unknown>");
    // `crypto` is Node's own and has no types here.
    file.stand_in_for_import("UUID", "string");
    // Streams of the in-process API, which are not on the wire.
    file.stand_in_for_import("Readable", "unknown");
    file.stand_in_for_import("Writable", "unknown");
    // `{[K in keyof BetaUsage]: NonNullable<…>}`: the same fields, and on the wire some of them are null after all.
    file.stand_in_for_type("NonNullableUsage", "BetaUsage");
    file.declare("StdinMessage", STDIN);
    let mut roots: Vec<String> =
        ["StdoutMessage", "StdinMessage", "PermissionResult", "HookJSONOutput"].map(str::to_owned).into();
    roots.extend(file.types_named("SDKControl", "Response"));
    file.add_roots(&roots);

    let tool = from.get(Group::Tool)?;
    let stand_ins = ["JSONRPCMessage", "UUID"];
    let (document, notes) = typescript::schema(tool, types, file, Comments::Drop, &stand_ins)?;
    check_anchors(
        &document,
        "/definitions",
        &[
            "StdoutMessage",
            "StdinMessage",
            "PermissionResult",
            "SDKControlInitializeResponse",
            "BetaMessage",
            "BetaRawMessageStreamEvent",
            "BetaUsage",
            "MessageParam",
        ],
    )?;
    let manifest = std::fs::read_to_string(package.join("package.json")).context("the SDK has no package.json")?;
    let manifest: Value = serde_json::from_str(&manifest).context("the SDK's package.json is not JSON")?;
    let version = manifest.get("claudeCodeVersion").and_then(Value::as_str);
    let describes = version.map(|version| (AGENT.to_owned(), version.to_owned()));
    Ok(Extracted { documents: vec![document], notes, describes, binary: None })
}
