//! The programs of Postgres, and the user that runs them.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where Debian installs Postgres: a folder per version.
const DEBIAN_FOLDER: &str = "/usr/lib/postgresql";

/// The programs of Postgres.
#[derive(Clone, Debug)]
pub struct Programs {
    folder: PathBuf,
    /// User and group that run them, if this process is root.
    user: Option<(u32, u32)>,
}

impl Programs {
    /// Options that make the user of Postgres the owner of what is mounted.
    pub(crate) fn mount_options(&self) -> String {
        self.user.map_or_else(String::new, |(user, group)| format!(",uid={user},gid={group},mode=700"))
    }

    /// Whether this process is root, so that it can change what Postgres sees.
    pub(crate) fn is_root(&self) -> bool {
        self.user.is_some()
    }

    /// Finds the newest version that is installed.
    #[must_use]
    pub fn find() -> Option<Self> {
        let named = std::env::var_os("POSTGRES_BIN").map(PathBuf::from);
        let folder = named.or_else(newest_of_debian).filter(|folder| folder.join("postgres").exists())?;
        // Only root can read another owner's `/proc/self`; the owner of one's own is oneself.
        let is_root = fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0);
        let user = if is_root { Some(find_user("postgres").or_else(|| find_user("nobody"))?) } else { None };
        Some(Self { folder, user })
    }

    /// A command with one of the programs, run by a user that Postgres accepts.
    #[must_use]
    pub fn command(&self, program: &str) -> Command {
        self.command_after(&[], program)
    }

    /// As [`command`](Self::command), after a command that runs what follows it as this user.
    pub(crate) fn command_after(&self, first: &[&OsStr], program: &str) -> Command {
        let program = self.folder.join(program);
        let mut command = match self.user {
            Some((user, group)) => {
                let (user, group) = (format!("--reuid={user}"), format!("--regid={group}"));
                let words = ["setpriv", &user, &group, "--clear-groups", "--"].map(OsStr::new);
                let mut words = first.iter().copied().chain(words).chain([program.as_os_str()]);
                let mut command = Command::new(words.next().unwrap_or_default());
                command.args(words);
                command
            }
            None => Command::new(program),
        };
        // The current directory may be one that the user cannot read.
        command.current_dir("/").env("LC_ALL", "C");
        command
    }

    /// Makes the user of Postgres the owner of a folder, which this process can use too.
    pub(crate) fn give_folder(&self, folder: &Path) -> io::Result<()> {
        self.give_file(folder)?;
        fs::set_permissions(folder, fs::Permissions::from_mode(0o755))
    }

    /// Makes the user of Postgres the owner of a file.
    ///
    /// # Errors
    ///
    /// If the file does not exist.
    pub fn give_file(&self, file: &Path) -> io::Result<()> {
        match self.user {
            Some((user, group)) => chown(file, Some(user), Some(group)),
            None => Ok(()),
        }
    }
}

fn newest_of_debian() -> Option<PathBuf> {
    let versions = fs::read_dir(DEBIAN_FOLDER).ok()?.filter_map(Result::ok);
    let version = |path: &PathBuf| path.file_name().and_then(|name| name.to_str()?.parse::<u32>().ok());
    let newest = versions.map(|entry| entry.path()).filter(|path| version(path).is_some()).max_by_key(version)?;
    Some(newest.join("bin"))
}

/// Ids of a user and its group.
fn find_user(name: &str) -> Option<(u32, u32)> {
    let users = fs::read_to_string("/etc/passwd").ok()?;
    users.lines().find_map(|line| {
        let mut fields = line.split(':');
        let is_wanted = fields.next()? == name;
        let (user, group) = (fields.nth(1)?.parse().ok()?, fields.next()?.parse().ok()?);
        is_wanted.then_some((user, group))
    })
}
