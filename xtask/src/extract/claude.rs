//! Claude Code: the `sdk.d.ts` of its agent SDK.

use std::path::PathBuf;

use anyhow::{Context as _, Result};
use serde_json::Value;

use super::typescript::{self, Comments};
use super::{ExtractedSchema, Installations};
use crate::cache::Installation;
use crate::definitions::check_required_types;
use crate::recipes::InstallGroup;

const SDK_PACKAGE: &str = "@anthropic-ai/claude-agent-sdk";
const AGENT_PACKAGE: &str = "@anthropic-ai/claude-code";
/// The program of releases before 2.1.113, which runs on Node.
const NODE_SCRIPT: &str = "cli.js";

/// The messages that a host may write to standard input. The SDK declares each of them, but not their union.
const STDIN_MESSAGE: &str =
    "SDKUserMessage | SDKControlRequest | SDKControlResponse | SDKControlCancelRequest | SDKKeepAliveMessage";

/// Finds the program of the agent. Its package is not the one that declares its wire. Releases without native programs
/// have a script for Node.
pub(super) fn find_program(installed: &Installation) -> Result<PathBuf> {
    let scope = installed.package_folder("@anthropic-ai");
    let entries = std::fs::read_dir(&scope).with_context(|| format!("cannot read {}", scope.display()))?;
    let name = if cfg!(windows) { "claude.exe" } else { "claude" };
    let mut programs: Vec<PathBuf> = entries
        .flatten()
        .filter(|entry| entry.file_name().to_string_lossy().starts_with("claude-code-"))
        .map(|entry| entry.path().join(name))
        .filter(|program| program.is_file())
        .collect();
    programs.sort();
    let script = Some(installed.package_folder(AGENT_PACKAGE).join(NODE_SCRIPT)).filter(|script| script.is_file());
    programs.into_iter().next().or(script).context("npm installed no Claude Code program for this platform")
}

pub(super) fn extract(installations: &Installations) -> Result<ExtractedSchema> {
    let types = installations.get(InstallGroup::Types)?;
    let package = types.package_folder(SDK_PACKAGE);
    let mut file = typescript::read_declarations(&package, "sdk.d.ts")?;
    file.remove_prefix("coreTypes.");
    file.export_types();
    // Refers to types of zod, on which the generator fails. The wire passes these messages through unchanged.
    file.replace_import("JSONRPCMessage", "Record<string, unknown>");
    // `crypto` is part of Node, whose types are not installed.
    file.replace_import("UUID", "string");
    // Streams of the in-process API. They are not on the wire.
    file.replace_import("Readable", "unknown");
    file.replace_import("Writable", "unknown");
    // `{[K in keyof BetaUsage]: NonNullable<…>}`: the same fields. On the wire some of them are null nevertheless.
    file.replace_type("NonNullableUsage", "BetaUsage");
    file.declare("StdinMessage", STDIN_MESSAGE);
    let mut roots: Vec<String> =
        ["StdoutMessage", "StdinMessage", "PermissionResult", "HookJSONOutput"].map(str::to_owned).into();
    roots.extend(file.types_named("SDKControl", "Response"));
    file.add_roots(&roots);

    let generator = installations.get(InstallGroup::Tool)?;
    let inlined = ["JSONRPCMessage", "UUID"];
    let (document, notes) = typescript::generate_schema(generator, types, file, Comments::Drop, &inlined)?;
    check_required_types(
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
    let manifest =
        std::fs::read_to_string(package.join("package.json")).context("cannot read package.json of the SDK")?;
    let manifest: Value = serde_json::from_str(&manifest).context("package.json of the SDK is not JSON")?;
    let version = manifest.get("claudeCodeVersion").and_then(Value::as_str);
    let described_agent = version.map(|version| (AGENT_PACKAGE.to_owned(), version.to_owned()));
    Ok(ExtractedSchema { documents: vec![document], notes, described_agent, binary: None })
}
