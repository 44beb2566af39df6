//! The server's token, and protection of its memory.

use std::fs::File;
use std::io::Read as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use anyhow::{Context as _, anyhow, bail};
use interlingua_server::{Access, Token, TokenFile};

use super::Args;
use crate::data_dir::resolve_data_dir;

/// Permissions of users other than the owner and the group.
const OTHERS: u32 = 0o007;

/// Who may use the server, according to the command line and the environment.
pub(super) fn access(args: &Args) -> anyhow::Result<Access> {
    if args.no_token {
        return Ok(Access::Loopback);
    }
    let token = match (&args.token, &args.token_file) {
        (Some(token), _) => {
            tracing::warn!(
                "other users of this machine can read the value of --token in the process list; use INTERLINGUA_TOKEN or \
                 --token-file"
            );
            Some((token.clone(), "--token".to_owned()))
        }
        (None, Some(file)) => Some((read_token_file(file)?, format!("--token-file {}", file.display()))),
        (None, None) => std::env::var("INTERLINGUA_TOKEN").ok().map(|token| (token, "INTERLINGUA_TOKEN".to_owned())),
    };
    let Some((token, source)) = token else {
        let data_dir = resolve_data_dir(args.data_dir.clone())?;
        if !TokenFile::new(&data_dir).load()?.is_empty() {
            return Ok(Access::NamedTokens);
        }
        bail!(
            "no token; make one with `interlingua tokens add NAME --data-dir {}`, or set INTERLINGUA_TOKEN or --token-file, or \
             use --no-token to allow every process on this machine",
            data_dir.display()
        );
    };
    let token = Token::new(token).map_err(|error| {
        anyhow!("cannot use {source}: {error}; set it to a secret such as the output of `openssl rand -hex 24`")
    })?;
    Ok(Access::Token(token))
}

/// Reads a token from a file that other users cannot read. A pipe, such as the one of `<(command)`, has no other readers.
pub(super) fn read_token_file(path: &Path) -> anyhow::Result<String> {
    let name = path.display();
    let cannot_read = || format!("cannot read --token-file {name}");
    let mut file = File::open(path).with_context(cannot_read)?;
    let metadata = file.metadata().with_context(cannot_read)?;
    if metadata.is_file() && metadata.permissions().mode() & OTHERS != 0 {
        bail!("every user of this machine can use --token-file {name}; run `chmod 600 {name}`, and change the token");
    }
    let mut text = String::new();
    file.read_to_string(&mut text).with_context(cannot_read)?;
    Ok(text.trim().to_owned())
}

/// Keeps other processes of the same user, such as agents, from reading the memory and environment of this process.
/// It also writes no core dumps.
pub(super) fn protect_memory() {
    #[cfg(target_os = "linux")]
    if let Err(error) = rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable) {
        tracing::warn!(%error, "cannot protect the memory of the server; agents may be able to read its token");
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_token_file_that_others_can_read_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        fs::write(&path, "s3cret\n").unwrap();
        for (mode, is_allowed) in [(0o600, true), (0o640, true), (0o400, true), (0o644, false), (0o602, false)] {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            match read_token_file(&path) {
                Ok(token) => assert!(is_allowed && token == "s3cret", "{mode:o}"),
                Err(error) => {
                    assert!(!is_allowed && error.to_string().contains("chmod 600"), "{mode:o}: {error}");
                    assert!(!error.to_string().contains("s3cret"));
                }
            }
        }
    }
}
