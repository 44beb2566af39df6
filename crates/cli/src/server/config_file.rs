//! `--config FILE`: the options of the server in a file.
//!
//! The file is TOML; its keys are the names of the options of `interlingua server`. Each value is handed to the parser of the
//! command line, so that a value means the same in both places. An option on the command line wins.

use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use clap::error::ErrorKind;
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Command, CommandFactory as _, FromArgMatches as _};
use interlingua_server::nearest_name;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::Args;
use crate::Cli;

/// Name of the command whose options the file has.
const COMMAND: &str = "server";

/// Options that make no sense in the file.
const NOT_IN_FILE: [&str; 3] = ["config", "help", "version"];

/// The option whose value is secret.
const TOKEN: &str = "token";

/// The options of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ConfigFile {
    path: PathBuf,
    options: Vec<FileOption>,
}

/// An option of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
struct FileOption {
    key: String,
    line: usize,
    /// The option as on the command line.
    arguments: Vec<String>,
}

/// What is wrong in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ConfigError {
    path: PathBuf,
    /// `None` if it concerns the file as a whole.
    line: Option<usize>,
    detail: String,
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:", self.path.display())?;
        if let Some(line) = self.line {
            write!(f, "{line}:")?;
        }
        write!(f, " {}", self.detail)
    }
}

/// The options of this process: those of the command line, and those of the file that it names.
pub(super) fn load_args(args: Args) -> anyhow::Result<(Args, Option<ConfigFile>)> {
    let Some(path) = args.config.clone() else { return Ok((args, None)) };
    let command_line: Vec<OsString> = std::env::args_os().collect();
    let file = match ConfigFile::read(&path)? {
        Ok(file) => file,
        Err(errors) => {
            let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
            bail!("{}", errors.join("; "));
        }
    };
    let args = file.add_to(&command_line)?;
    Ok((args, Some(file)))
}

impl ConfigFile {
    /// Reads a file. The inner result has everything that is wrong in it.
    pub(crate) fn read(path: &Path) -> anyhow::Result<Result<Self, Vec<ConfigError>>> {
        let text = std::fs::read_to_string(path).with_context(|| format!("cannot read --config {}", path.display()))?;
        Ok(Self::parse(path, &text))
    }

    fn parse(path: &Path, text: &str) -> Result<Self, Vec<ConfigError>> {
        let line_at = |offset: usize| text[..offset.min(text.len())].matches('\n').count() + 1;
        let error = |line, detail: String| ConfigError { path: path.to_owned(), line, detail };
        let table = DeTable::parse(text).map_err(|failure| {
            let line = failure.span().map(|span| line_at(span.start));
            vec![error(line, failure.message().to_owned())]
        })?;
        let mut entries: Vec<(&Spanned<_>, &Spanned<DeValue<'_>>)> = table.get_ref().iter().collect();
        entries.sort_by_key(|(key, _)| key.span().start);
        let command = server_command();
        let (mut options, mut errors) = (Vec::new(), Vec::new());
        for (key, value) in entries {
            let line = line_at(key.span().start);
            let name: &str = key.get_ref();
            match to_arguments(&command, name, value.get_ref()) {
                Ok(arguments) => options.push(FileOption { key: name.to_owned(), line, arguments }),
                Err(detail) => errors.push(error(Some(line), detail)),
            }
        }
        let file = Self { path: path.to_owned(), options };
        if errors.is_empty()
            && let Err(failure) = parse_command_line(file.command_line(&[]))
        {
            errors.push(error(None, first_line(&failure)));
        }
        if errors.is_empty() { Ok(file) } else { Err(errors) }
    }

    /// The options of the command line with those of the file that it does not have.
    fn add_to(&self, command_line: &[OsString]) -> anyhow::Result<Args> {
        let failed = |error: &clap::Error| anyhow::anyhow!("{}: {}", self.path.display(), first_line(error));
        let given = given_options(command_line).map_err(|error| failed(&error))?;
        let rest = self.options.iter().filter(|option| !given.contains(&option.key));
        let more = rest.flat_map(|option| &option.arguments).map(OsString::from);
        let matches = parse_command_line(command_line.iter().cloned().chain(more)).map_err(|error| failed(&error))?;
        Ok(Args::from_arg_matches(&matches)?)
    }

    /// A command line with only these options of the file.
    fn command_line(&self, without: &[&str]) -> Vec<OsString> {
        let options = self.options.iter().filter(|option| !without.contains(&option.key.as_str()));
        let arguments = options.flat_map(|option| &option.arguments).map(OsString::from);
        [COMMAND; 2].into_iter().map(OsString::from).chain(arguments).collect()
    }

    /// The options of the file alone.
    pub(crate) fn to_args(&self) -> anyhow::Result<Args> {
        Ok(Args::from_arg_matches(&parse_command_line(self.command_line(&[]))?)?)
    }

    /// An error in an option of the file.
    pub(crate) fn error(&self, key: &str, detail: impl fmt::Display) -> ConfigError {
        let line = self.options.iter().find(|option| option.key == key).map(|option| option.line);
        ConfigError { path: self.path.clone(), line, detail: format!("`{key}`: {detail}") }
    }

    /// The options that differ between two versions of the file.
    pub(super) fn changed_keys(&self, other: &Self) -> Vec<String> {
        let find = |file: &Self, key: &str| {
            file.options.iter().find(|option| option.key == key).map(|option| option.arguments.clone())
        };
        let keys = self.options.iter().chain(&other.options).map(|option| option.key.as_str());
        let mut changed: Vec<String> =
            keys.filter(|key| find(self, key) != find(other, key)).map(str::to_owned).collect();
        changed.sort();
        changed.dedup();
        changed
    }
}

/// The command whose options the file has.
fn server_command() -> Command {
    let mut command = Cli::command();
    command.build();
    command.find_subcommand(COMMAND).cloned().unwrap_or_default()
}

/// Parses a command line whose second word is the command.
fn parse_command_line(words: impl IntoIterator<Item = OsString>) -> Result<ArgMatches, clap::Error> {
    let matches = Cli::command().try_get_matches_from(words)?;
    Ok(matches.subcommand_matches(COMMAND).cloned().unwrap_or_default())
}

/// Names of the options that a command line has, and of those that cannot be used together with them.
fn given_options(command_line: &[OsString]) -> Result<Vec<String>, clap::Error> {
    let matches = parse_command_line(command_line.iter().cloned())?;
    let command = server_command();
    let is_given = |arg: &&Arg| matches.value_source(arg.get_id().as_str()) == Some(ValueSource::CommandLine);
    let given: Vec<&Arg> = command.get_arguments().filter(is_given).collect();
    let conflicts = given.iter().flat_map(|arg| command.get_arg_conflicts_with(arg));
    let names = given.iter().copied().chain(conflicts).filter_map(Arg::get_long);
    Ok(names.map(str::to_owned).collect())
}

/// An option of the file as on the command line. Says what is wrong with its name or its value.
fn to_arguments(command: &Command, key: &str, value: &DeValue<'_>) -> Result<Vec<String>, String> {
    if key == TOKEN {
        return Err("`token`: a token does not belong into this file; put it into one of its own, and name that as `token-file`".to_owned());
    }
    let find = |name: &str| command.get_arguments().find(|arg| arg.get_long() == Some(name));
    let Some(arg) = find(key).filter(|_| !NOT_IN_FILE.contains(&key)) else {
        let known = command.get_arguments().filter_map(Arg::get_long);
        let known: Vec<&str> = known.filter(|name| !NOT_IN_FILE.contains(name) && *name != TOKEN).collect();
        return Err(match nearest_name(key, &known) {
            Some(nearest) => format!("unknown key `{key}`; did you mean `{nearest}`?"),
            None => format!("unknown key `{key}`; expected one of {}", known.join(", ")),
        });
    };
    let values = match (arg.get_action(), value) {
        (ArgAction::SetTrue, DeValue::Boolean(true)) => return Ok(vec![format!("--{key}")]),
        (ArgAction::SetTrue, DeValue::Boolean(false)) => return Ok(Vec::new()),
        (ArgAction::SetTrue, _) => return Err(format!("`{key}`: expected true or false")),
        (ArgAction::Append, DeValue::Array(values)) => {
            let texts = values.iter().map(|value| to_text(value.get_ref()));
            texts.collect::<Option<_>>().ok_or_else(|| format!("`{key}`: expected a list of strings"))?
        }
        (_, value) => vec![to_text(value).ok_or_else(|| format!("`{key}`: expected a string or a number"))?],
    };
    let arguments: Vec<String> = values.iter().map(|value| format!("--{key}={value}")).collect();
    check_values(&arguments).map_err(|detail| format!("`{key}`: {detail}"))?;
    Ok(arguments)
}

fn to_text(value: &DeValue<'_>) -> Option<String> {
    match value {
        DeValue::String(text) => Some(text.to_string()),
        DeValue::Integer(number) => Some(number.to_string()),
        _ => None,
    }
}

/// Checks the values of one option, whatever else it needs.
fn check_values(arguments: &[String]) -> Result<(), String> {
    let words = [COMMAND; 2].into_iter().map(OsString::from).chain(arguments.iter().map(OsString::from));
    match parse_command_line(words) {
        Err(error) if matches!(error.kind(), ErrorKind::InvalidValue | ErrorKind::ValueValidation) => {
            Err(first_line(&error))
        }
        _ => Ok(()),
    }
}

/// The first line of an error of the command line, without its prefix.
fn first_line(error: &clap::Error) -> String {
    let text = error.to_string();
    let mut lines = text.lines().map(str::trim);
    let first = lines.next().unwrap_or_default().trim_start_matches("error: ").to_owned();
    // Values that are possible, or arguments that are missing, follow.
    match lines.next().filter(|line| !line.is_empty()) {
        Some(second) => format!("{first} {second}"),
        None => first,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<ConfigFile, Vec<String>> {
        let parsed = ConfigFile::parse(Path::new("server.toml"), text);
        parsed.map_err(|errors| errors.iter().map(ToString::to_string).collect())
    }

    fn args(text: &str, command_line: &[&str]) -> Args {
        let words = ["interlingua", "server"].into_iter().chain(command_line.iter().copied()).map(OsString::from);
        parse(text).unwrap().add_to(&words.collect::<Vec<_>>()).unwrap()
    }

    #[test]
    fn keys_are_the_names_of_options() {
        let text = "mock-pace = 7\nno-token = true\nprint-address = false\nretain = \"30d\"\n\
                    listen = [\"tcp://127.0.0.1:1\", \"unix:/a\"]\ncors-allow-origin = \"https://a.example\"\n";
        let args = args(text, &[]);
        assert_eq!((args.no_token, args.print_address), (true, false));
        assert_eq!((args.listen.len(), args.cors_allow_origin.len()), (2, 1));
        assert_eq!(args.retain, Some(std::time::Duration::from_secs(30 * 86400)));
    }

    #[test]
    fn the_command_line_wins() {
        let text = "port = 1\nhost = \"::1\"\nno-token = true\n";
        let given = args(text, &["--port", "2", "--token-file", "t"]);
        assert_eq!((given.port, given.host.as_str(), given.no_token), (2, "::1", false));
        assert!(given.token_file.is_some());
        // What cannot be used together with an option of the command line is left out.
        assert!(args(text, &["--listen", "unix:/a"]).no_token);
    }

    #[test]
    fn errors_name_file_line_key_and_the_nearest_one() {
        for (text, expected) in [
            ("port = 1\nretian = \"3d\"\n", "server.toml:2: unknown key `retian`; did you mean `retain`?"),
            ("\n\nport = \"high\"\n", "server.toml:3: `port`: invalid value 'high' for '--port <PORT>'"),
            ("drain = \"10 minutes\"", "server.toml:1: `drain`: invalid value"),
            ("sync = \"always\"", "[possible values: normal, full]"),
            ("no-token = \"yes\"", "server.toml:1: `no-token`: expected true or false"),
            ("port = [1]", "server.toml:1: `port`: expected a string or a number"),
            ("listen = [1.5]", "server.toml:1: `listen`: expected a list of strings"),
            ("listen = \"http://x\"", "expected tcp://HOST:PORT or unix:PATH"),
            ("token = \"s3cret\"", "server.toml:1: `token`: a token does not belong into this file"),
            ("config = \"x\"", "server.toml:1: unknown key `config`"),
            ("port = 1\nport = 2\n", "server.toml:2: duplicate key"),
            ("port 1", "server.toml:1: "),
            ("[server]\nport = 1\n", "server.toml:1: unknown key `server`"),
            ("no-token = true\ntoken-file = \"t\"\n", "server.toml: the argument"),
            ("tls-cert = \"c\"\n", "server.toml: the following required arguments were not provided: --tls-key <FILE>"),
        ] {
            let errors = parse(text).unwrap_err();
            assert!(errors[0].contains(expected), "{text}: {errors:?}");
            assert!(!errors[0].contains("s3cret"), "{errors:?}");
        }
        assert_eq!(parse("a = 1\nport = \"x\"\nb = 2\n").unwrap_err().len(), 3);
    }

    #[test]
    fn changed_options_are_known() {
        let (old, new) = (parse("port = 1\nretain = \"1d\"\nfs = true\n"), parse("retain = \"1d\"\nport = 2\n"));
        assert_eq!(old.unwrap().changed_keys(&new.unwrap()), ["fs", "port"]);
    }
}
