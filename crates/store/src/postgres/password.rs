//! The password of the database from the environment, as libpq finds it: `PGPASSWORD`, or a line of the file that
//! `PGPASSFILE` names (else `~/.pgpass`).

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use tokio_postgres::Config;
use tokio_postgres::config::Host;

/// The password for a database; `None` if there is none. The error never has the password.
pub(crate) fn find(config: &Config) -> Result<Option<String>, String> {
    if let Ok(password) = std::env::var("PGPASSWORD")
        && !password.is_empty()
    {
        return Ok(Some(password));
    }
    let named = std::env::var_os("PGPASSFILE").filter(|file| !file.is_empty()).map(PathBuf::from);
    let file = match (&named, std::env::home_dir()) {
        (Some(file), _) => file.clone(),
        (None, Some(home)) => home.join(".pgpass"),
        (None, None) => return Ok(None),
    };
    if named.is_none() && !file.exists() {
        return Ok(None);
    }
    let lines =
        read_private(&file).map_err(|reason| format!("cannot use the password file {}: {reason}", file.display()))?;
    Ok(find_line(&lines, &Wanted::new(config)))
}

/// Reads a file that other users cannot read.
fn read_private(file: &Path) -> Result<String, String> {
    let metadata = std::fs::metadata(file).map_err(|error| error.to_string())?;
    if metadata.permissions().mode() & 0o077 != 0 {
        return Err("other users may read it; run `chmod 600` on it".to_owned());
    }
    std::fs::read_to_string(file).map_err(|error| error.to_string())
}

/// What a line of a password file must match.
struct Wanted {
    host: String,
    port: String,
    database: String,
    user: String,
}

impl Wanted {
    fn new(config: &Config) -> Self {
        let host = match config.get_hosts().first() {
            Some(Host::Tcp(name)) => name.clone(),
            Some(Host::Unix(_)) | None => "localhost".to_owned(),
        };
        let port = config.get_ports().first().copied().unwrap_or(5432).to_string();
        let user = config.get_user().unwrap_or_default().to_owned();
        let database = config.get_dbname().unwrap_or(&user).to_owned();
        Self { host, port, database, user }
    }
}

/// The password of the first line that matches: `host:port:database:user:password`, where `*` matches everything, and a
/// backslash comes before `:` and `\`.
fn find_line(lines: &str, wanted: &Wanted) -> Option<String> {
    lines.lines().filter(|line| !line.starts_with('#')).find_map(|line| {
        let fields = split_fields(line);
        let [host, port, database, user, password] = fields.as_slice() else { return None };
        let matches = |pattern: &String, value: &String| pattern == "*" || pattern == value;
        let is_match = matches(host, &wanted.host)
            && matches(port, &wanted.port)
            && matches(database, &wanted.database)
            && matches(user, &wanted.user);
        is_match.then(|| password.clone())
    })
}

fn split_fields(line: &str) -> Vec<String> {
    let mut fields = vec![String::new()];
    let mut characters = line.chars();
    while let Some(character) = characters.next() {
        match character {
            ':' if fields.len() < 5 => fields.push(String::new()),
            '\\' => fields.last_mut().into_iter().for_each(|field| field.extend(characters.next())),
            other => fields.last_mut().into_iter().for_each(|field| field.push(other)),
        }
    }
    fields
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(url: &str) -> Wanted {
        Wanted::new(&url.parse().unwrap())
    }

    #[test]
    fn the_first_line_that_matches_has_the_password() {
        let lines = "# comment\nother:5432:*:*:wrong\ndb:6432:events:*:a\\:b\\\\c:d\n*:*:*:me:last\nbroken\n";
        let find = |url| find_line(lines, &wanted(url));
        assert_eq!(find("postgres://u@db:6432/events").as_deref(), Some("a:b\\c:d"));
        assert_eq!(find("postgres://me@db:5432/events").as_deref(), Some("last"));
        assert_eq!(find("postgres://you@db:5432/events"), None);
        assert_eq!(
            find_line("localhost:5432:me:me:x", &wanted("postgres:///?host=/run&user=me")).as_deref(),
            Some("x")
        );
    }

    #[test]
    fn a_file_that_others_can_read_is_refused() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "*:*:*:*:s3cret").unwrap();
        std::fs::set_permissions(file.path(), std::fs::Permissions::from_mode(0o640)).unwrap();
        let error = read_private(file.path()).unwrap_err();
        assert!(error.contains("chmod 600") && !error.contains("s3cret"), "{error}");
        std::fs::set_permissions(file.path(), std::fs::Permissions::from_mode(0o600)).unwrap();
        assert_eq!(read_private(file.path()).unwrap(), "*:*:*:*:s3cret");
    }
}
