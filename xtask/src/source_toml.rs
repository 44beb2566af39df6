//! `agent-schemas/<agent>/source.toml`: where the schema beside it comes from, and which types are generated from it.
//!
//! A marker line divides the file. `refresh-schemas` writes the part above it; its versions are the pins of the next
//! pull. The part below is written by hand and read by the code generator (roots and so on). It is never parsed and
//! rendered again, but copied as text.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Context as _, Result, bail};
use toml::{Table, Value};

use crate::cache::ResolvedPackage;
use interlingua_agents::Agent;

use crate::recipes::{Package, recipe};

/// The line between the generated and the manual part.
pub(crate) const MARKER: &str = "# ---- Below this line: written by hand, kept byte for byte. ----";

/// The manual part of a new `source.toml`.
const INITIAL_MANUAL_PART: &str = "\n[types]\n";

/// The native program that printed a schema.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NativeProgram {
    /// Its folder below `node_modules`.
    pub(crate) package: String,
    /// The exact version. Some vendors add the platform to it.
    pub(crate) version: String,
    /// The hash against which npm checked the download.
    pub(crate) integrity: String,
}

/// The content of a `source.toml`.
#[derive(Debug, Default)]
pub(crate) struct SourceFile {
    /// The whole text. `None` if the file does not exist.
    pub(crate) text: Option<String>,
    /// Everything after the marker line.
    manual_part: Option<String>,
    /// Pinned version of each package.
    pub(crate) pins: BTreeMap<String, String>,
    /// Integrity of the pinned version of each package.
    integrity: BTreeMap<String, String>,
    /// The agent's version at the last pull.
    pub(crate) version: Option<String>,
    /// Date of the last change of the schema or of a version.
    pub(crate) date: Option<String>,
    /// The native program that printed the schema.
    pub(crate) binary: Option<NativeProgram>,
    /// Package and version of the agent whose wire the types describe, if the types come from another package.
    pub(crate) described_agent: Option<(String, String)>,
}

/// The content of the generated part.
pub(crate) struct Provenance<'a> {
    pub(crate) agent: Agent,
    pub(crate) date: &'a str,
    /// The packages as npm resolved them. The agent's own comes first.
    pub(crate) packages: Vec<(&'static Package, ResolvedPackage)>,
    /// Package and version of the agent whose wire the types describe, if the types come from another package.
    pub(crate) described_agent: Option<(String, String)>,
    pub(crate) binary: Option<NativeProgram>,
}

impl SourceFile {
    /// Reads the file at `path`. It may be missing. If it exists, it must be TOML and contain the marker line.
    pub(crate) fn read(path: &Path) -> Result<Self> {
        let text = match std::fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Ok(Self::default());
            }
            Err(error) => {
                return Err(error).with_context(|| format!("cannot read {}", path.display()));
            }
        };
        Self::parse(text).with_context(|| format!("{} is invalid", path.display()))
    }

    fn parse(text: String) -> Result<Self> {
        let table: Table = text.parse()?;
        let Some((_, manual_part)) = text.split_once(MARKER) else {
            bail!("the line between the generated and the manual part is missing: {MARKER}");
        };
        let manual_part = manual_part
            .strip_prefix("\r\n")
            .or_else(|| manual_part.strip_prefix('\n'))
            .unwrap_or(manual_part)
            .to_owned();
        let pull = table.get("pull").and_then(Value::as_table);
        let packages = table.get("package").and_then(Value::as_table);
        let package_fields = |key: &str| {
            let entries = packages.into_iter().flatten();
            entries.filter_map(|(name, entry)| Some((name.clone(), string(entry.as_table()?, key)?))).collect()
        };
        Ok(Self {
            manual_part: Some(manual_part),
            pins: package_fields("version"),
            integrity: package_fields("integrity"),
            version: pull.and_then(|pull| string(pull, "version")),
            date: pull.and_then(|pull| string(pull, "date")),
            binary: pull.and_then(|pull| parse_program(pull.get("binary")?.as_table()?)),
            described_agent: pull.and_then(|pull| {
                let described = pull.get("describes")?.as_table()?;
                Some((string(described, "package")?, string(described, "version")?))
            }),
            text: Some(text),
        })
    }

    /// Fails if the registry serves a pinned version with another hash than the recorded one.
    pub(crate) fn check_integrity(&self, name: &str, package: &ResolvedPackage) -> Result<()> {
        let same_version = self.pins.get(name) == Some(&package.version);
        match self.integrity.get(name) {
            Some(recorded) if same_version && *recorded != package.integrity => bail!(
                "the registry serves {name}@{} with the integrity {}, but source.toml records {recorded}: \
                 find out why before you remove that line from source.toml",
                package.version,
                package.integrity
            ),
            _ => Ok(()),
        }
    }

    /// Renders the whole file with a new generated part.
    pub(crate) fn render_with(&self, provenance: &Provenance<'_>) -> String {
        format!("{}\n{MARKER}\n{}", provenance.render(), self.manual_part.as_deref().unwrap_or(INITIAL_MANUAL_PART))
    }
}

fn string(table: &Table, key: &str) -> Option<String> {
    table.get(key)?.as_str().map(str::to_owned)
}

fn parse_program(table: &Table) -> Option<NativeProgram> {
    Some(NativeProgram {
        package: string(table, "package")?,
        version: string(table, "version")?,
        integrity: string(table, "integrity")?,
    })
}

impl Provenance<'_> {
    fn render(&self) -> String {
        let recipe = recipe(self.agent);
        let agent = self.agent.id();
        let mut text = format!(
            "# Where the schema in this folder comes from. Written by `cargo xtask refresh-schemas {agent}`.\n\
             # The versions are the pins of the next pull: move them with --version or --latest, or edit them here.\n\n\
             [pull]\n"
        );
        let version = self.packages.first().map_or("", |(_, resolved)| resolved.version.as_str());
        let prose = if recipe.keeps_prose { "kept" } else { "stripped" };
        push_entry(&mut text, "agent", agent);
        push_entry(&mut text, "version", version);
        push_entry(&mut text, "date", self.date);
        push_entry(&mut text, "licence", recipe.licence);
        push_entry(&mut text, "descriptions", prose);
        push(
            &mut text,
            format_args!(
                "watch = [{}]\n",
                recipe.watched.iter().map(|name| quoted(name)).collect::<Vec<_>>().join(", ")
            ),
        );
        push_list(&mut text, "files", recipe.files);
        push_list(&mut text, "extracted", recipe.steps);
        if let Some((package, version)) = &self.described_agent {
            text.push_str("\n# The agent whose wire these types describe.\n[pull.describes]\n");
            push_entry(&mut text, "package", package);
            push_entry(&mut text, "version", version);
        }
        if let Some(binary) = &self.binary {
            text.push_str(
                "\n# The program that printed the schema; on another platform it is another package.\n[pull.binary]\n",
            );
            push_entry(&mut text, "package", &binary.package);
            push_entry(&mut text, "version", &binary.version);
            push_entry(&mut text, "integrity", &binary.integrity);
        }
        for (package, resolved) in &self.packages {
            push(&mut text, format_args!("\n[package.{}]\n", toml_key(package.name)));
            push_entry(&mut text, "version", &resolved.version);
            push_entry(&mut text, "integrity", &resolved.integrity);
            if let Some(licence) = &resolved.licence {
                push_entry(&mut text, "licence", licence);
            }
            push_entry(&mut text, "role", package.role);
        }
        text
    }
}

fn push(text: &mut String, arguments: std::fmt::Arguments<'_>) {
    // Writing to a String cannot fail.
    let _ = text.write_fmt(arguments);
}

fn push_entry(text: &mut String, name: &str, value: &str) {
    push(text, format_args!("{name} = {}\n", quoted(value)));
}

/// Writes a list of one value on one line, and any other with one line per value.
fn push_list(text: &mut String, name: &str, values: &[&str]) {
    if let [only] = values {
        push(text, format_args!("{name} = [{}]\n", quoted(only)));
        return;
    }
    push(text, format_args!("{name} = [\n"));
    for value in values {
        push(text, format_args!("  {},\n", quoted(value)));
    }
    text.push_str("]\n");
}

fn quoted(value: &str) -> String {
    Value::from(value).to_string()
}

/// `name` as a TOML key, quoted if necessary.
fn toml_key(name: &str) -> String {
    let is_bare = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    if !name.is_empty() && name.chars().all(is_bare) { name.to_owned() } else { quoted(name) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolved(version: &str, integrity: &str) -> ResolvedPackage {
        ResolvedPackage {
            version: version.to_owned(),
            integrity: integrity.to_owned(),
            licence: Some("MIT".to_owned()),
        }
    }

    fn provenance(date: &str) -> Provenance<'_> {
        Provenance {
            agent: Agent::OpenCode,
            date,
            packages: vec![(&recipe(Agent::OpenCode).packages[0], resolved("1.18.33", "sha512-a"))],
            described_agent: None,
            binary: Some(NativeProgram {
                package: "opencode-linux-x64".to_owned(),
                version: "1.18.33".to_owned(),
                integrity: "sha512-b".to_owned(),
            }),
        }
    }

    /// Unusual spacing, comments, quotes, and a table that we do not know. All of it must be kept.
    const MANUAL_PART: &str = "\n# why these\n[types]\nroots   = [ 'Event',\n  \"Part\" ] # two\n\n\n[other]\nx=1";

    #[test]
    fn the_manual_part_is_kept_byte_for_byte() {
        let before = format!("[package.opencode-ai]\nversion = \"1.1.34\"\n{MARKER}\n{MANUAL_PART}");
        let source = SourceFile::parse(before).unwrap();
        assert_eq!(source.pins["opencode-ai"], "1.1.34");
        let after = source.render_with(&provenance("2026-11-16"));
        assert!(after.ends_with(&format!("\n{MARKER}\n{MANUAL_PART}")), "{after}");
    }

    #[test]
    fn a_written_file_is_read_and_written_again_unchanged() {
        let first = SourceFile::default().render_with(&provenance("2026-11-16"));
        let source = SourceFile::parse(first.clone()).unwrap();
        assert_eq!(source.version.as_deref(), Some("1.18.33"));
        assert_eq!(source.date.as_deref(), Some("2026-11-16"));
        assert_eq!(source.binary, provenance("").binary);
        assert_eq!(source.pins["opencode-ai"], "1.18.33");
        assert_eq!(source.render_with(&provenance("2026-11-16")), first);
        assert!(first.ends_with("\n[types]\n"), "{first}");
    }

    #[test]
    fn scoped_packages_get_quoted_keys() {
        assert_eq!(toml_key("zod"), "zod");
        assert_eq!(toml_key("@openai/codex"), "\"@openai/codex\"");
    }

    #[test]
    fn a_file_without_the_marker_is_invalid() {
        let error = SourceFile::parse("[types]\nroots = []\n".to_owned()).unwrap_err();
        assert!(error.to_string().contains(MARKER), "{error}");
    }

    #[test]
    fn another_hash_of_the_pinned_version_is_an_error_and_another_version_is_not() {
        let text = SourceFile::default().render_with(&provenance("2026-11-16"));
        let source = SourceFile::parse(text).unwrap();
        assert!(source.check_integrity("opencode-ai", &resolved("1.18.33", "sha512-a")).is_ok());
        assert!(source.check_integrity("opencode-ai", &resolved("1.18.34", "sha512-c")).is_ok());
        let error = source.check_integrity("opencode-ai", &resolved("1.18.33", "sha512-c")).unwrap_err();
        assert!(
            error.to_string().starts_with("the registry serves opencode-ai@1.18.33 with the integrity sha512-c, but"),
            "{error}"
        );
    }
}
