//! Named tokens: who may use the server, and for what.
//!
//! The tokens are in a file that only its owner can read. It has their names, scopes and hashes; the tokens themselves are
//! shown once, when they are made. A server reads the file again when it changes, so that tokens are added and revoked
//! while it runs.

use std::collections::BTreeSet;
use std::fmt;
use std::fs::{self, DirBuilder, File};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

use crate::file_version::FileVersion;

/// Name of the file in the data directory.
const FILE_NAME: &str = "tokens.json";

/// Start of every token, by which people and secret scanners recognise one.
const PREFIX: &str = "il_";

/// Number of random bytes in a token.
const SECRET_BYTES: usize = 32;

/// Maximum length of the name of a token.
const MAX_NAME_BYTES: usize = 64;

/// What a token may be used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// Reading: every GET request but `/metrics`.
    Read,
    /// Running agents: sessions, messages and answers.
    Drive,
    /// Everything, also installing agents, deleting sessions and reading the metrics.
    Admin,
}

impl Scope {
    /// All scopes.
    pub const ALL: [Self; 3] = [Self::Read, Self::Drive, Self::Admin];

    /// Name of the scope.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Drive => "drive",
            Self::Admin => "admin",
        }
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Scope {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let known = Self::ALL.map(Self::name).join(", ");
        let found = Self::ALL.into_iter().find(|scope| scope.name() == text);
        found.ok_or_else(|| format!("unknown scope {text:?}; expected one of {known}"))
    }
}

/// A token as it is stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct NamedToken {
    /// Name of the token, which logs and events show.
    pub name: String,
    /// What it may be used for.
    pub scopes: BTreeSet<Scope>,
    /// Time at which it was made, in seconds since 1970.
    pub created_at: u64,
    /// SHA-256 of the token, as hexadecimal digits. A token has 32 random bytes, so a fast hash protects it.
    sha256: String,
}

/// Why the file with the tokens cannot be used or changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TokenFileError {
    /// The file cannot be read or written.
    #[error("cannot use the tokens in {}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The file does not contain tokens.
    #[error("{} does not contain tokens: {reason}; restore it from a backup, or remove it to revoke all tokens", path.display())]
    Invalid {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// Other users could have read or changed the file.
    #[error("other users can use {0}; run `chmod 600 {0}`, and replace the tokens in it", path.display())]
    OpenToOthers {
        /// The file.
        path: PathBuf,
    },
    /// A token with this name exists.
    #[error("there is a token {0:?} already; revoke it first, or choose another name")]
    NameTaken(String),
    /// There is no token with this name.
    #[error("there is no token {0:?}; `interlingua tokens list` shows all")]
    NotFound(String),
    /// The name cannot be used.
    #[error("invalid name {0:?}: expected 1 to {MAX_NAME_BYTES} letters, digits, `-`, `_` and `.`")]
    InvalidName(String),
    /// A token without scopes is useless.
    #[error("a token needs at least one scope")]
    NoScopes,
}

/// The file with the named tokens of a data directory.
#[derive(Clone, Debug)]
pub struct TokenFile {
    path: PathBuf,
}

#[derive(Default, Serialize, Deserialize)]
struct TokenList {
    tokens: Vec<NamedToken>,
}

impl TokenFile {
    /// The file of a data directory. It need not exist.
    #[must_use]
    pub fn new(data_dir: &Path) -> Self {
        Self { path: data_dir.join(FILE_NAME) }
    }

    /// The tokens, in the order in which they were made. None if the file does not exist.
    ///
    /// # Errors
    ///
    /// If the file cannot be read, is damaged, or may have been changed by other users.
    pub fn load(&self) -> Result<Vec<NamedToken>, TokenFileError> {
        let mut file = match File::open(&self.path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(self.io_error(error)),
        };
        let mode = file.metadata().map_err(|error| self.io_error(error))?.mode();
        if mode & 0o077 != 0 {
            return Err(TokenFileError::OpenToOthers { path: self.path.clone() });
        }
        let mut text = String::new();
        file.read_to_string(&mut text).map_err(|error| self.io_error(error))?;
        let list: TokenList = serde_json::from_str(&text)
            .map_err(|error| TokenFileError::Invalid { path: self.path.clone(), reason: error.to_string() })?;
        Ok(list.tokens)
    }

    /// Makes a token. Returns its text, which is not stored.
    ///
    /// # Errors
    ///
    /// If the name is taken or invalid, there is no scope, or the file cannot be changed.
    pub fn add(&self, name: &str, scopes: BTreeSet<Scope>) -> Result<String, TokenFileError> {
        let is_valid = |name: &str| {
            let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
            (1..=MAX_NAME_BYTES).contains(&name.len()) && name.bytes().all(is_allowed)
        };
        if !is_valid(name) {
            return Err(TokenFileError::InvalidName(name.to_owned()));
        }
        if scopes.is_empty() {
            return Err(TokenFileError::NoScopes);
        }
        let _lock = self.lock()?;
        let mut tokens = self.load()?;
        if tokens.iter().any(|token| token.name == name) {
            return Err(TokenFileError::NameTaken(name.to_owned()));
        }
        let text = generate_token().map_err(|error| self.io_error(error))?;
        let created_at = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs();
        tokens.push(NamedToken { name: name.to_owned(), scopes, created_at, sha256: hash(&text) });
        self.store(tokens)?;
        Ok(text)
    }

    /// Revokes a token: a running server refuses it from the next request on.
    ///
    /// # Errors
    ///
    /// If there is no token with this name, or the file cannot be changed.
    pub fn revoke(&self, name: &str) -> Result<(), TokenFileError> {
        let _lock = self.lock()?;
        let mut tokens = self.load()?;
        let count = tokens.len();
        tokens.retain(|token| token.name != name);
        if tokens.len() == count {
            return Err(TokenFileError::NotFound(name.to_owned()));
        }
        self.store(tokens)
    }

    /// Keeps other commands from changing the file until the lock is dropped.
    fn lock(&self) -> Result<File, TokenFileError> {
        let path = self.path.with_extension("lock");
        let lock = || {
            if let Some(folder) = path.parent() {
                // Sessions are private, and this may be the first command on a machine.
                DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
            }
            let file = File::options().create(true).truncate(false).write(true).mode(0o600).open(&path)?;
            file.lock()?;
            Ok(file)
        };
        lock().map_err(|source| TokenFileError::Io { path: path.clone(), source })
    }

    /// Replaces the file in one step.
    fn store(&self, tokens: Vec<NamedToken>) -> Result<(), TokenFileError> {
        let new = self.path.with_extension("new");
        let write = || {
            let mut text = serde_json::to_vec_pretty(&TokenList { tokens })?;
            text.push(b'\n');
            let mut file = File::options().create(true).truncate(true).write(true).mode(0o600).open(&new)?;
            file.write_all(&text)?;
            file.sync_all()?;
            fs::rename(&new, &self.path)
        };
        write().map_err(|error| self.io_error(error))
    }

    fn io_error(&self, source: io::Error) -> TokenFileError {
        TokenFileError::Io { path: self.path.clone(), source }
    }
}

/// The named tokens of a running server.
#[derive(Clone, Debug)]
pub struct NamedTokens(Arc<Loaded>);

#[derive(Debug)]
struct Loaded {
    file: TokenFile,
    state: Mutex<(Option<FileVersion>, Vec<NamedToken>)>,
}

impl NamedTokens {
    /// Loads the tokens.
    ///
    /// # Errors
    ///
    /// If the file cannot be read, is damaged, or may have been changed by other users.
    pub fn load(file: TokenFile) -> Result<Self, TokenFileError> {
        let version = FileVersion::read(&file.path);
        let tokens = file.load()?;
        Ok(Self(Arc::new(Loaded { file, state: Mutex::new((version, tokens)) })))
    }

    /// Whether there are no tokens.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner).1.is_empty()
    }

    /// Finds the token with this text. Reads the file again if it has changed. While it cannot be read, no token is valid.
    pub(crate) fn find(&self, text: &str) -> Option<NamedToken> {
        let mut state = self.0.state.lock().unwrap_or_else(PoisonError::into_inner);
        let version = FileVersion::read(&self.0.file.path);
        if state.0 != version {
            let tokens = self.0.file.load().unwrap_or_else(|error| {
                tracing::error!(%error, "refusing all named tokens");
                Vec::new()
            });
            tracing::info!(count = tokens.len(), "loaded the named tokens, because their file has changed");
            *state = (version, tokens);
        }
        let hash = hash(text);
        let is_equal = |token: &&NamedToken| bool::from(token.sha256.as_bytes().ct_eq(hash.as_bytes()));
        state.1.iter().find(is_equal).cloned()
    }
}

/// Makes the text of a token that cannot be guessed.
///
/// # Errors
///
/// If the system has no random numbers.
pub fn generate_token() -> io::Result<String> {
    let mut secret = [0; SECRET_BYTES];
    File::open("/dev/urandom")?.read_exact(&mut secret)?;
    Ok(format!("{PREFIX}{}", to_hex(&secret)))
}

fn hash(text: &str) -> String {
    to_hex(&Sha256::digest(text.as_bytes()))
}

fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a `String` does not fail.
        let _ = fmt::Write::write_fmt(&mut text, format_args!("{byte:02x}"));
        text
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn scopes(scopes: impl IntoIterator<Item = Scope>) -> BTreeSet<Scope> {
        scopes.into_iter().collect()
    }

    #[test]
    fn a_token_is_found_by_its_text_until_it_is_revoked() {
        let folder = tempfile::tempdir().unwrap();
        let file = TokenFile::new(folder.path());
        let tokens = NamedTokens::load(file.clone()).unwrap();
        assert!(tokens.is_empty() && tokens.find("").is_none());
        let text = file.add("ci", scopes([Scope::Read, Scope::Drive])).unwrap();
        let other = file.add("admin", scopes([Scope::Admin])).unwrap();
        assert_ne!(text, other);
        let found = tokens.find(&text).unwrap();
        assert_eq!((found.name.as_str(), &found.scopes), ("ci", &scopes([Scope::Read, Scope::Drive])));
        assert!(tokens.find(&text[1..]).is_none() && tokens.find(&format!("{text}0")).is_none());
        let stored = fs::read_to_string(folder.path().join(FILE_NAME)).unwrap();
        assert!(!stored.contains(&text) && !stored.contains(&text[PREFIX.len()..]), "{stored}");
        file.revoke("ci").unwrap();
        assert!(tokens.find(&text).is_none());
        assert_eq!(tokens.find(&other).unwrap().name, "admin");
    }

    #[test]
    fn names_are_unique_and_can_be_written_to_a_log() {
        let folder = tempfile::tempdir().unwrap();
        let file = TokenFile::new(folder.path());
        file.add("ci", scopes([Scope::Read])).unwrap();
        assert!(matches!(file.add("ci", scopes([Scope::Read])), Err(TokenFileError::NameTaken(_))));
        for name in ["", "two words", "line\nbreak", "naïve", &"x".repeat(MAX_NAME_BYTES + 1)] {
            assert!(matches!(file.add(name, scopes([Scope::Read])), Err(TokenFileError::InvalidName(_))), "{name:?}");
        }
        assert!(matches!(file.add("none", scopes([])), Err(TokenFileError::NoScopes)));
        assert!(matches!(file.revoke("other"), Err(TokenFileError::NotFound(_))));
    }

    #[test]
    fn a_file_that_is_damaged_or_open_to_others_makes_all_tokens_invalid() {
        let folder = tempfile::tempdir().unwrap();
        let file = TokenFile::new(folder.path());
        let text = file.add("ci", scopes([Scope::Read])).unwrap();
        let tokens = NamedTokens::load(file.clone()).unwrap();
        assert!(tokens.find(&text).is_some());
        let path = folder.path().join(FILE_NAME);
        let stored = fs::read_to_string(&path).unwrap();
        fs::write(&path, "{").unwrap();
        assert!(tokens.find(&text).is_none());
        assert!(matches!(file.load(), Err(TokenFileError::Invalid { .. })));
        fs::write(&path, format!("{stored}\n")).unwrap();
        assert!(tokens.find(&text).is_some());
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        assert!(matches!(file.load(), Err(TokenFileError::OpenToOthers { .. })));
    }
}
