//! `interlingua sessions export`.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use interlingua_client::{Client, ExportFormat};

use super::print;
use super::server_args::client_error;
use crate::Outcome;
use crate::output::Output;

/// What to export, and where to.
#[derive(Debug, clap::Args)]
pub(super) struct ExportArgs {
    /// Session id
    #[arg(value_name = "ID")]
    id: String,
    /// Format of the file [default: jsonl, or that of the extension of FILE]
    #[arg(long, value_name = "FORMAT")]
    format: Option<Format>,
    /// File to write instead of standard output; an existing file is replaced
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// The events, one JSON object per line
    Jsonl,
    /// A transcript in Markdown
    Markdown,
    /// A transcript as one HTML file that opens without a server
    Html,
}

impl Format {
    fn of_file(file: &Path) -> Option<Self> {
        match file.extension()?.to_str()? {
            "jsonl" | "ndjson" => Some(Self::Jsonl),
            "md" | "markdown" => Some(Self::Markdown),
            "html" | "htm" => Some(Self::Html),
            _ => None,
        }
    }
}

impl From<Format> for ExportFormat {
    fn from(format: Format) -> Self {
        match format {
            Format::Jsonl => Self::JsonLines,
            Format::Markdown => Self::Markdown,
            Format::Html => Self::Html,
        }
    }
}

pub(super) async fn export(client: &Client, args: ExportArgs, json: bool) -> anyhow::Result<Outcome> {
    let Some(file) = &args.output else {
        write(client, &args, Output::new()).await?;
        return Ok(Outcome::Success);
    };
    // Under another name until it is complete, so that a part is not taken for the whole.
    let mut partial = file.clone().into_os_string();
    partial.push(".partial");
    let create = File::create(&partial).with_context(|| format!("cannot write {}", file.display()))?;
    let written = write(client, &args, io::BufWriter::new(create)).await;
    let written = written.and_then(|bytes| std::fs::rename(&partial, file).map(|()| bytes).map_err(Into::into));
    if written.is_err() {
        // Only a part of the export.
        let _ = std::fs::remove_file(&partial);
    }
    let bytes = written.with_context(|| format!("cannot export {} to {}", args.id, file.display()))?;
    if json {
        return print(&serde_json::json!({ "file": file, "bytes": bytes }).to_string());
    }
    print(&format!("exported {} to {} ({bytes} bytes)", args.id, file.display()))
}

/// Writes the export piece by piece. Returns its size.
async fn write(client: &Client, args: &ExportArgs, mut output: impl Write) -> anyhow::Result<u64> {
    let format = args.format.or_else(|| Format::of_file(args.output.as_deref()?)).unwrap_or(Format::Jsonl);
    let mut response = client.export_session(&args.id, format.into()).await.map_err(client_error)?;
    let mut bytes = 0;
    while let Some(piece) = response.chunk().await.context("the connection to the server was lost")? {
        output.write_all(&piece)?;
        bytes += piece.len() as u64;
    }
    output.flush()?;
    Ok(bytes)
}
