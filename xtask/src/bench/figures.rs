//! Instructions per line: those of the last release, and how others compare with them.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use anyhow::{Context as _, Result};
use serde::{Deserialize, Serialize};

/// Maximum growth of the instructions per line, in percent.
const MAX_GROWTH_PERCENT: u64 = 3;

/// The first lines of the file.
const FILE_HEADER: &str = "\
# Instructions per line of the last release, as callgrind counts them. Written by `cargo xtask bench --save`.

";

/// What a benchmark counted for one agent.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Measured {
    benchmark: String,
    agent: String,
    /// Versions of the agent whose recordings were read.
    versions: Vec<String>,
    #[serde(flatten)]
    figure: Figure,
}

/// Instructions per line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Figure {
    lines: u64,
    instructions: u64,
}

/// The figures of a release.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Figures {
    /// The version of the compiler.
    pub(super) compiler: String,
    /// The figures of each agent.
    agents: BTreeMap<String, AgentFigures>,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct AgentFigures {
    /// The versions whose recordings are read. Those of later versions are not, so that the figures stay comparable.
    versions: Vec<String>,
    /// One figure per benchmark.
    benchmarks: BTreeMap<String, Figure>,
}

/// How measured figures compare with saved ones.
pub(super) struct Comparison {
    pub(super) table: String,
    pub(super) issues: Vec<String>,
}

impl Figures {
    /// The figures that benchmarks counted.
    pub(super) fn new(compiler: String, measured: Vec<Measured>) -> Self {
        let mut agents: BTreeMap<String, AgentFigures> = BTreeMap::new();
        for Measured { benchmark, agent, versions, figure } in measured {
            let agent = agents.entry(agent).or_default();
            agent.versions = versions;
            agent.benchmarks.insert(benchmark, figure);
        }
        Self { compiler, agents }
    }

    /// Parses the file.
    pub(super) fn parse(text: &str) -> Result<Self> {
        Ok(toml::from_str(text)?)
    }

    /// The text of the file.
    pub(super) fn to_toml(&self) -> Result<String> {
        Ok(format!("{FILE_HEADER}{}", toml::to_string(self)?))
    }

    /// The versions to read, such as `codex/0.98.0`.
    pub(super) fn versions(&self) -> Vec<String> {
        let versions = self
            .agents
            .iter()
            .flat_map(|(agent, figures)| figures.versions.iter().map(move |version| format!("{agent}/{version}")));
        versions.collect()
    }

    /// Compares what benchmarks counted with these figures.
    #[allow(clippy::cast_precision_loss, reason = "far below 2^52")]
    pub(super) fn compare(&self, measured: &[Measured]) -> Comparison {
        let mut table =
            format!("{:<10} {:<10} {:>14} {:>14} {:>8}\n", "benchmark", "agent", "last release", "now", "growth");
        let mut issues = Vec::new();
        for Measured { benchmark, agent, figure: now, .. } in measured {
            let saved = self.agents.get(agent).and_then(|agent| agent.benchmarks.get(benchmark));
            let Some(saved) = saved else {
                issues.push(format!(
                    "no figures of `{benchmark}` with {agent} are saved; run `cargo xtask bench --save`"
                ));
                continue;
            };
            if saved.lines != now.lines {
                issues.push(format!(
                    "the recordings of {agent} have {} lines instead of {}, so `{benchmark}` cannot be compared; run \
                     `cargo xtask bench --save` on the last release with these recordings",
                    now.lines, saved.lines
                ));
                continue;
            }
            let growth = (now.instructions as f64 / saved.instructions.max(1) as f64 - 1.0) * 100.0;
            // Writing to a string does not fail.
            let _ = writeln!(
                table,
                "{benchmark:<10} {agent:<10} {:>14} {:>14} {growth:>+7.1}%",
                saved.instructions, now.instructions
            );
            if now.instructions * 100 > saved.instructions * (100 + MAX_GROWTH_PERCENT) {
                issues.push(format!(
                    "`{benchmark}` of {agent} takes {growth:.1} % more instructions per line than in the last release; \
                     at most {MAX_GROWTH_PERCENT} % are allowed"
                ));
            }
        }
        Comparison { table, issues }
    }
}

/// Parses the lines that benchmarks print with `--figures`.
pub(super) fn parse_measured(output: &[u8]) -> Result<Vec<Measured>> {
    let lines = std::str::from_utf8(output).context("the output of the benchmarks is not text")?.lines();
    let parse = |line| serde_json::from_str(line).with_context(|| format!("a benchmark printed `{line}`"));
    lines.filter(|line| !line.trim().is_empty()).map(parse).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(instructions: u64, lines: u64) -> Vec<Measured> {
        let line = format!(
            r#"{{"benchmark":"decode","agent":"codex","versions":["0.98.0"],"lines":{lines},"instructions":{instructions}}}"#
        );
        parse_measured(format!("\n{line}\n").as_bytes()).unwrap()
    }

    #[test]
    fn growth_of_more_than_three_percent_is_an_issue() {
        let saved = Figures::new("rustc 1.90.0".to_owned(), measured(1000, 7));
        for (instructions, is_issue) in [(900, false), (1030, false), (1031, true)] {
            let comparison = saved.compare(&measured(instructions, 7));
            assert_eq!(!comparison.issues.is_empty(), is_issue, "{instructions}: {:?}", comparison.issues);
        }
        assert!(saved.compare(&measured(1500, 7)).table.contains("+50.0%"));
    }

    #[test]
    fn other_recordings_cannot_be_compared() {
        let saved = Figures::new("rustc 1.90.0".to_owned(), measured(1000, 7));
        assert!(saved.compare(&measured(1000, 8)).issues[0].contains("8 lines instead of 7"));
        let empty = Figures::new("rustc 1.90.0".to_owned(), Vec::new());
        assert!(empty.compare(&measured(1000, 7)).issues[0].contains("--save"));
    }

    #[test]
    fn saved_figures_are_read_again() {
        let saved = Figures::new("rustc 1.90.0".to_owned(), measured(1000, 7));
        let text = saved.to_toml().unwrap();
        let read = Figures::parse(&text).unwrap();
        assert_eq!(read.versions(), ["codex/0.98.0"]);
        assert!(read.compare(&measured(1000, 7)).issues.is_empty(), "{text}");
    }

    #[test]
    fn output_that_is_not_a_figure_is_an_error() {
        assert!(parse_measured(b"running 0 tests").unwrap_err().to_string().contains("running 0 tests"));
    }
}
