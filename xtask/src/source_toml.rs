//! `agent-schemas/<agent>/source.toml`: where the schema beside it comes from, and what is generated from it.
//!
//! The file has two halves with a marker line between them. Above it stands what the pull knows (written by
//! `refresh-schemas`; its versions are the pins of the next pull), below it what people decide (the roots and so on,
//! read by the generator). The lower half is never parsed and re-printed, only carried over as text.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Context as _, Result, bail};
use toml::{Table, Value};

use crate::cache::Resolved;
use interlingua_agents::Agent;

use crate::recipes::{Package, recipe};

/// The line between the halves.
pub(crate) const MARKER: &str = "# ---- Below this line: written by hand, kept byte for byte. ----";

/// What a folder without a `source.toml` starts with below the marker.
const FIRST_HAND: &str = "\n[types]\n";

/// The native program that printed a schema.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Binary {
    /// Its folder under `node_modules`.
    pub(crate) package: String,
    /// The exact version; some vendors put the platform in it.
    pub(crate) version: String,
    /// The hash that npm checked the download against.
    pub(crate) integrity: String,
}

/// A `source.toml` as it is on disk.
#[derive(Debug, Default)]
pub(crate) struct Source {
    /// The whole file; `None` when there is none.
    pub(crate) text: Option<String>,
    /// Everything after the marker line.
    hand: Option<String>,
    /// Package → pinned version.
    pub(crate) pins: BTreeMap<String, String>,
    /// Package → integrity of that version.
    integrity: BTreeMap<String, String>,
    /// The agent's version when it was last pulled.
    pub(crate) version: Option<String>,
    /// When the schema or a version last changed.
    pub(crate) date: Option<String>,
    /// The native program that printed the schema then.
    pub(crate) binary: Option<Binary>,
    /// The package and version of the agent whose wire the types describe, where that is another package.
    pub(crate) describes: Option<(String, String)>,
}

/// The upper half, to be written.
pub(crate) struct Provenance<'a> {
    pub(crate) agent: Agent,
    pub(crate) date: &'a str,
    /// Each package with what npm resolved it to, the agent's own first.
    pub(crate) packages: Vec<(&'static Package, Resolved)>,
    /// The package and version of the agent whose wire the types describe, where that is another package.
    pub(crate) describes: Option<(String, String)>,
    pub(crate) binary: Option<Binary>,
}

impl Source {
    /// Reads the file at `path`. There need not be one; if there is one it must be TOML with the marker line.
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
        Self::parse(text).with_context(|| format!("{} cannot be used", path.display()))
    }

    fn parse(text: String) -> Result<Self> {
        let table: Table = text.parse()?;
        let Some((_, hand)) = text.split_once(MARKER) else {
            bail!("the line that parts the pulled from the hand-written half is missing: {MARKER}");
        };
        let hand = hand.strip_prefix("\r\n").or_else(|| hand.strip_prefix('\n')).unwrap_or(hand).to_owned();
        let pull = table.get("pull").and_then(Value::as_table);
        let packages = table.get("package").and_then(Value::as_table);
        let of_packages = |key: &str| {
            let entries = packages.into_iter().flatten();
            entries.filter_map(|(name, entry)| Some((name.clone(), string(entry.as_table()?, key)?))).collect()
        };
        Ok(Self {
            hand: Some(hand),
            pins: of_packages("version"),
            integrity: of_packages("integrity"),
            version: pull.and_then(|pull| string(pull, "version")),
            date: pull.and_then(|pull| string(pull, "date")),
            binary: pull.and_then(|pull| binary(pull.get("binary")?.as_table()?)),
            describes: pull.and_then(|pull| {
                let described = pull.get("describes")?.as_table()?;
                Some((string(described, "package")?, string(described, "version")?))
            }),
            text: Some(text),
        })
    }

    /// Fails when the registry serves a pinned version with another hash than the one recorded for it.
    pub(crate) fn check_integrity(&self, name: &str, now: &Resolved) -> Result<()> {
        let same_version = self.pins.get(name) == Some(&now.version);
        match self.integrity.get(name) {
            Some(recorded) if same_version && *recorded != now.integrity => bail!(
                "{name}@{} is not what was pinned: its integrity is {} and source.toml records {recorded}; \
                 find out why before removing that line",
                now.version,
                now.integrity
            ),
            _ => Ok(()),
        }
    }

    /// The whole file with `provenance` as its upper half.
    pub(crate) fn rewritten(&self, provenance: &Provenance<'_>) -> String {
        format!("{}\n{MARKER}\n{}", provenance.render(), self.hand.as_deref().unwrap_or(FIRST_HAND))
    }
}

fn string(table: &Table, key: &str) -> Option<String> {
    table.get(key)?.as_str().map(str::to_owned)
}

fn binary(table: &Table) -> Option<Binary> {
    Some(Binary {
        package: string(table, "package")?,
        version: string(table, "version")?,
        integrity: string(table, "integrity")?,
    })
}

impl Provenance<'_> {
    fn render(&self) -> String {
        let recipe = recipe(self.agent);
        let agent = self.agent.id();
        let mut half = format!(
            "# Where the schema in this folder comes from. Written by `cargo xtask refresh-schemas {agent}`.\n\
             # The versions are the pins of the next pull: move them with --version or --latest, or edit them here.\n\n\
             [pull]\n"
        );
        let version = self.packages.first().map_or("", |(_, resolved)| resolved.version.as_str());
        let prose = if recipe.keeps_prose { "kept" } else { "stripped" };
        entry(&mut half, "agent", agent);
        entry(&mut half, "version", version);
        entry(&mut half, "date", self.date);
        entry(&mut half, "licence", recipe.licence);
        entry(&mut half, "descriptions", prose);
        list(&mut half, "files", recipe.files);
        list(&mut half, "extracted", recipe.steps);
        if let Some((package, version)) = &self.describes {
            half.push_str("\n# The agent whose wire these types describe.\n[pull.describes]\n");
            entry(&mut half, "package", package);
            entry(&mut half, "version", version);
        }
        if let Some(binary) = &self.binary {
            half.push_str(
                "\n# The program that printed the schema; on another platform it is another package.\n[pull.binary]\n",
            );
            entry(&mut half, "package", &binary.package);
            entry(&mut half, "version", &binary.version);
            entry(&mut half, "integrity", &binary.integrity);
        }
        for (package, resolved) in &self.packages {
            push(&mut half, format_args!("\n[package.{}]\n", key(package.name)));
            entry(&mut half, "version", &resolved.version);
            entry(&mut half, "integrity", &resolved.integrity);
            if let Some(licence) = &resolved.licence {
                entry(&mut half, "licence", licence);
            }
            entry(&mut half, "role", package.role);
        }
        half
    }
}

fn push(half: &mut String, text: std::fmt::Arguments<'_>) {
    // Writing to a String cannot fail.
    let _ = half.write_fmt(text);
}

fn entry(half: &mut String, name: &str, value: &str) {
    push(half, format_args!("{name} = {}\n", quoted(value)));
}

/// One value on its line, more than one each on a line of its own.
fn list(half: &mut String, name: &str, values: &[&str]) {
    if let [only] = values {
        push(half, format_args!("{name} = [{}]\n", quoted(only)));
        return;
    }
    push(half, format_args!("{name} = [\n"));
    for value in values {
        push(half, format_args!("  {},\n", quoted(value)));
    }
    half.push_str("]\n");
}

fn quoted(value: &str) -> String {
    Value::from(value).to_string()
}

/// `name` as a key of a table header, in quotes where TOML wants them.
fn key(name: &str) -> String {
    let bare = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    if !name.is_empty() && name.chars().all(bare) { name.to_owned() } else { quoted(name) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolved(version: &str, integrity: &str) -> Resolved {
        Resolved { version: version.to_owned(), integrity: integrity.to_owned(), licence: Some("MIT".to_owned()) }
    }

    fn provenance(date: &str) -> Provenance<'_> {
        Provenance {
            agent: Agent::OpenCode,
            date,
            packages: vec![(&recipe(Agent::OpenCode).packages[0], resolved("1.18.33", "sha512-a"))],
            describes: None,
            binary: Some(Binary {
                package: "opencode-linux-x64".to_owned(),
                version: "1.18.33".to_owned(),
                integrity: "sha512-b".to_owned(),
            }),
        }
    }

    /// Odd spacing, comments, quoting and a table of a name we do not know: all of it somebody's.
    const HAND: &str = "\n# why these\n[types]\nroots   = [ 'Event',\n  \"Part\" ] # two\n\n\n[other]\nx=1";

    #[test]
    fn the_hand_written_half_is_kept_byte_for_byte() {
        let before = format!("[package.opencode-ai]\nversion = \"1.1.34\"\n{MARKER}\n{HAND}");
        let source = Source::parse(before).unwrap();
        assert_eq!(source.pins["opencode-ai"], "1.1.34");
        let after = source.rewritten(&provenance("2026-11-16"));
        assert!(after.ends_with(&format!("\n{MARKER}\n{HAND}")), "{after}");
    }

    #[test]
    fn what_is_written_is_read_back_and_written_the_same() {
        let first = Source::default().rewritten(&provenance("2026-11-16"));
        let source = Source::parse(first.clone()).unwrap();
        assert_eq!(source.version.as_deref(), Some("1.18.33"));
        assert_eq!(source.date.as_deref(), Some("2026-11-16"));
        assert_eq!(source.binary, provenance("").binary);
        assert_eq!(source.pins["opencode-ai"], "1.18.33");
        assert_eq!(source.rewritten(&provenance("2026-11-16")), first);
        assert!(first.ends_with("\n[types]\n"), "{first}");
    }

    #[test]
    fn scoped_packages_get_quoted_keys() {
        assert_eq!(key("zod"), "zod");
        assert_eq!(key("@openai/codex"), "\"@openai/codex\"");
    }

    #[test]
    fn a_file_without_the_marker_is_refused() {
        let error = Source::parse("[types]\nroots = []\n".to_owned()).unwrap_err();
        assert!(error.to_string().contains(MARKER), "{error}");
    }

    #[test]
    fn another_hash_for_the_pinned_version_is_refused_and_another_version_is_not() {
        let text = Source::default().rewritten(&provenance("2026-11-16"));
        let source = Source::parse(text).unwrap();
        assert!(source.check_integrity("opencode-ai", &resolved("1.18.33", "sha512-a")).is_ok());
        assert!(source.check_integrity("opencode-ai", &resolved("1.18.34", "sha512-c")).is_ok());
        let error = source.check_integrity("opencode-ai", &resolved("1.18.33", "sha512-c")).unwrap_err();
        assert!(error.to_string().starts_with("opencode-ai@1.18.33 is not what was pinned"), "{error}");
    }
}
