//! `cargo xtask picture`: draws the terminal picture of the README from a real run of the CLI.

use std::fmt::Write as _;
use std::process::ExitCode;

use anyhow::{Context as _, Result, bail};
use clap::Args as ClapArgs;

use interlingua_agents::Agent;

use crate::atomic_write::write_files;
use crate::pins::version_numbers;
use crate::repository::Repository;
use crate::{cargo, console};

/// The picture, relative to the root of the repository.
const FILE: &str = "docs/terminal.svg";
/// The agents whose newest recordings of one scenario are shown: the streams are the same.
const AGENTS: [Agent; 2] = [Agent::Claude, Agent::Codex];
const SCENARIO: &str = "edits-a-file.jsonl";
const FOLDER: &str = "snapshots/transcripts/recorded";

const FONT_SIZE: usize = 14;
const LINE_HEIGHT: usize = 19;
const CHAR_WIDTH: f64 = 8.43;
const PADDING: usize = 18;
const BAR_HEIGHT: usize = 30;
const BACKGROUND: &str = "#16181d";
const FOREGROUND: &str = "#d7dae0";

/// Draw docs/terminal.svg from a real run of `interlingua show`
///
/// Runs the CLI on recordings of the same scenario with two agents, with colours, and draws what it prints.
#[derive(ClapArgs)]
pub(crate) struct Args {}

/// Runs the command.
pub(crate) fn run(_: &Args) -> Result<ExitCode> {
    let mut lines = Vec::new();
    let repository = Repository::find()?;
    for agent in AGENTS {
        let recording = newest_recording(&repository, agent)?;
        if !lines.is_empty() {
            lines.push(String::new());
        }
        lines.push(format!("\u{1b}[32m$\u{1b}[0m interlingua show {recording}"));
        let path = format!("{FOLDER}/{recording}");
        let Some(output) = cargo::capture_in_colour("interlingua", "interlingua", &["show", &path])? else {
            bail!("`interlingua show {path}` failed");
        };
        let output = String::from_utf8(output).context("the output is not UTF-8")?;
        // The last line sums up a session of one turn once more.
        lines.extend(output.lines().filter(|line| !line.contains("1 turn:")).map(str::to_owned));
    }
    let path = repository.root().join(FILE);
    write_files([(path.as_path(), draw(&lines).as_str())])?;
    console::print(format_args!("wrote {FILE}"));
    Ok(ExitCode::SUCCESS)
}

/// The newest recording of the scenario, relative to [`FOLDER`].
fn newest_recording(repository: &Repository, agent: Agent) -> Result<String> {
    let folder = repository.root().join(FOLDER).join(agent.id());
    let entries = std::fs::read_dir(&folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let versions = entries.flatten().filter(|entry| entry.path().join(SCENARIO).is_file());
    let versions = versions.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let newest = versions.max_by_key(|version| version_numbers(version));
    let newest = newest.with_context(|| format!("no version of {agent} has a recording {SCENARIO}"))?;
    Ok(format!("{agent}/{newest}/{SCENARIO}"))
}

/// Draws lines of terminal output, with their colours, as an SVG document.
fn draw(lines: &[String]) -> String {
    let columns = lines.iter().map(|line| plain_width(line)).max().unwrap_or_default();
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss, reason = "a screen")]
    let width = (columns as f64 * CHAR_WIDTH) as usize + 2 * PADDING;
    let height = lines.len() * LINE_HEIGHT + 2 * PADDING + BAR_HEIGHT;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\">\n\
         <!-- Written by `cargo xtask picture` from a real run. -->\n\
         <rect width=\"{width}\" height=\"{height}\" rx=\"8\" fill=\"{BACKGROUND}\"/>\n\
         <circle cx=\"20\" cy=\"16\" r=\"5\" fill=\"#ff5f57\"/><circle cx=\"38\" cy=\"16\" r=\"5\" fill=\"#febc2e\"/>\
         <circle cx=\"56\" cy=\"16\" r=\"5\" fill=\"#28c840\"/>\n\
         <g font-family=\"ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace\" \
         font-size=\"{FONT_SIZE}\" fill=\"{FOREGROUND}\" xml:space=\"preserve\">\n"
    );
    for (row, line) in lines.iter().enumerate() {
        let y = BAR_HEIGHT + PADDING + row * LINE_HEIGHT + FONT_SIZE / 2;
        let _ = writeln!(svg, "<text x=\"{PADDING}\" y=\"{y}\">{}</text>", spans(line));
    }
    svg.push_str("</g>\n</svg>\n");
    svg
}

/// Text of a line as `tspan` elements, one per run of the same style.
fn spans(line: &str) -> String {
    let mut out = String::new();
    let mut style = String::new();
    for (index, piece) in line.split("\u{1b}[").enumerate() {
        let text = match piece.split_once('m') {
            Some((codes, text)) if index > 0 => {
                for code in codes.split(';') {
                    apply(&mut style, code);
                }
                text
            }
            _ => piece,
        };
        if text.is_empty() {
            continue;
        }
        // Few fonts have the symbol for a tool call.
        let text = text.replace('⏺', "●").replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        if style.is_empty() {
            out.push_str(&text);
        } else {
            let _ = write!(out, "<tspan{style}>{text}</tspan>");
        }
    }
    out
}

/// Adds an SGR code to the attributes of the current style.
fn apply(style: &mut String, code: &str) {
    let attribute = match code {
        "1" => " font-weight=\"bold\"",
        "2" => " fill-opacity=\"0.6\"",
        "3" => " font-style=\"italic\"",
        "31" => " fill=\"#f07178\"",
        "32" => " fill=\"#9ece6a\"",
        "33" => " fill=\"#e6c07b\"",
        "34" => " fill=\"#7aa2f7\"",
        "36" => " fill=\"#7dcfff\"",
        _ => return style.clear(),
    };
    style.push_str(attribute);
}

/// Number of characters of a line without its escape codes.
fn plain_width(line: &str) -> usize {
    line.split("\u{1b}[")
        .enumerate()
        .map(|(index, piece)| if index > 0 { piece.split_once('m').map_or(piece, |(_, text)| text) } else { piece })
        .map(|text| text.chars().count())
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_become_attributes_and_markup_is_escaped() {
        assert_eq!(spans("a<b"), "a&lt;b");
        assert_eq!(
            spans("\u{1b}[1m\u{1b}[34mRun\u{1b}[0m ls"),
            "<tspan font-weight=\"bold\" fill=\"#7aa2f7\">Run</tspan> ls"
        );
        assert_eq!(plain_width("\u{1b}[1m\u{1b}[34mRun\u{1b}[0m ls"), 6);
    }
}
