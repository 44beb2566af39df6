//! Decodes what `codex app-server` writes into generated types.
//!
//! ```console
//! $ cargo run -p interlingua-examples --bin decode_codex < snapshots/transcripts/recorded/codex/0.169.0/command-succeeds.jsonl
//! ```

use std::io::{self, BufReader};

use interlingua_native::CodexServerLine;
use interlingua_native::codex::{ServerNotification, ThreadItem};
use interlingua_wirelog::{Entry, Input, Reader};

fn main() -> anyhow::Result<()> {
    let mut reader = Reader::new(BufReader::new(io::stdin().lock()))?;
    while let Some(entry) = reader.next()? {
        let Entry::Record(record) = entry else { continue };
        let Input::Received(line) = record.input else { continue };
        let decoded = CodexServerLine::decode(&line)?;
        let notification = match decoded.value {
            CodexServerLine::Notification(notification) => notification.message,
            CodexServerLine::Request(request) => {
                println!("the agent asks, with id {}", request.id);
                continue;
            }
            // Answers to the host's own requests.
            CodexServerLine::Response(_) | CodexServerLine::Error(_) => continue,
        };
        match notification {
            ServerNotification::ItemCompleted(completed) => match completed.item {
                Some(ThreadItem::CommandExecution(command)) => {
                    println!("command {} exited with {:?}", command.command.unwrap_or_default(), command.exit_code);
                }
                Some(ThreadItem::AgentMessage(message)) => println!("message {:?}", message.text.unwrap_or_default()),
                _ => {}
            },
            ServerNotification::TurnCompleted(_) => println!("turn completed"),
            // A notification that this version of the types does not know keeps its payload.
            ServerNotification::Unknown { tag, raw } => {
                println!("unknown notification {tag}: {} bytes", raw.get().len());
            }
            _ => {}
        }
        // Values of known types that did not fit were left out and are listed here.
        for (path, reason) in decoded.losses.iter() {
            eprintln!("left out {path}: {reason}");
        }
    }
    Ok(())
}
