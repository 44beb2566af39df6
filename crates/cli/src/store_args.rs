//! Arguments that choose the store: a `SQLite` database in the data directory, or a Postgres database that servers share.

mod shared_home;

use std::convert::Infallible;
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use anyhow::{Context as _, bail};
use interlingua_store::{ANY_SERVER, PostgresOptions, ServerIdentity, Store, StoreOptions};

use shared_home::SharedHome;

/// Variable with the address of the database.
const STORE_VARIABLE: &str = "INTERLINGUA_STORE";
/// Address that stands for the database in the data directory.
const SQLITE: &str = "sqlite";

#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct StoreArgs {
    /// Share sessions with other servers in a Postgres database, e.g. `postgres://user@host/database`; `sqlite` is a database
    /// in the data directory [default: $`INTERLINGUA_STORE`, or sqlite]
    #[arg(long, value_name = "URL", help_heading = "Options of a shared store")]
    store: Option<HiddenText>,
    /// Maximum number of connections to the Postgres database, at least 6 [default: 10]
    #[arg(
        long,
        value_name = "N",
        value_parser = clap::value_parser!(u16).range(6..),
        help_heading = "Options of a shared store"
    )]
    store_connections: Option<u16>,
    /// Name of this server for the others that share its store [default: the name of this machine]
    #[arg(long, value_name = "NAME", help_heading = "Options of a shared store")]
    server_name: Option<String>,
    /// Directory that all servers share, with the home directory of the agents: any server can then resume any session;
    /// can be repeated
    #[arg(long, value_name = "DIR", help_heading = "Options of a shared store")]
    resume_home: Vec<PathBuf>,
}

/// A text that may contain a password, which is not shown.
#[derive(Clone)]
struct HiddenText(String);

impl FromStr for HiddenText {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(Self(text.to_owned()))
    }
}

impl fmt::Debug for HiddenText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("…")
    }
}

impl StoreArgs {
    /// The address of the shared store; `None` for a database in the data directory.
    fn address(&self) -> Option<String> {
        let given = self.store.as_ref().map(|store| store.0.clone());
        let address = given.or_else(|| std::env::var(STORE_VARIABLE).ok());
        address.filter(|address| !address.is_empty() && address != SQLITE)
    }

    /// Whether servers share the store.
    pub(crate) fn is_shared(&self) -> bool {
        self.address().is_some()
    }

    /// Refuses a command that needs the database in the data directory.
    pub(crate) fn refuse_shared(command: &str, instead: &str) -> anyhow::Result<()> {
        if Self::default().address().is_some() {
            bail!(
                "{command} is for a store in a data directory, but {STORE_VARIABLE} names a Postgres database: {instead}"
            );
        }
        Ok(())
    }

    /// Opens the store for a server, which can own sessions.
    pub(crate) async fn open_for_server(&self, data_dir: &Path, options: StoreOptions) -> anyhow::Result<Store> {
        let Some(address) = self.address() else {
            self.refuse_options_of_fleet()?;
            return Ok(Store::open(data_dir, options)?);
        };
        let home = SharedHome::find(&self.resume_home)?;
        let name = self.name()?;
        if let Some(home) = &home {
            tracing::info!(
                server = name,
                resume_home = %home.directory.display(),
                "this server can resume sessions of other servers with the same --resume-home"
            );
        } else {
            tracing::info!(
                server = name,
                "this server cannot resume sessions of other servers, because their files are not here; see --resume-home"
            );
        }
        let server = ServerIdentity::new(name).home(home.map(|home| home.id));
        let store = Store::connect(self.postgres_options(&address, data_dir, options)?.server(server)).await?;
        Ok(store)
    }

    /// Opens the store for a command that adds sessions, beside servers that may run.
    pub(crate) async fn open_for_import(&self, data_dir: &Path, options: StoreOptions) -> anyhow::Result<Store> {
        match self.address() {
            None => Store::open(data_dir, options)
                .with_context(|| format!("cannot open the store in {}", data_dir.display())),
            Some(address) => Ok(Store::connect(self.postgres_options(&address, data_dir, options)?).await?),
        }
    }

    /// Where the agents of sessions run whose files are on this machine: the placement, and the shared home. Both `None`
    /// without a shared store.
    pub(crate) fn placement(&self) -> anyhow::Result<(Option<String>, Option<String>)> {
        if !self.is_shared() {
            return Ok((None, None));
        }
        Ok(match SharedHome::find(&self.resume_home)? {
            Some(home) => (Some(ANY_SERVER.to_owned()), Some(home.id)),
            None => (Some(self.name()?), None),
        })
    }

    /// The name of this server.
    fn name(&self) -> anyhow::Result<String> {
        self.server_name.clone().map_or_else(machine_name, Ok)
    }

    fn postgres_options(
        &self,
        address: &str,
        data_dir: &Path,
        options: StoreOptions,
    ) -> anyhow::Result<PostgresOptions> {
        let postgres = PostgresOptions::new(address.parse()?, data_dir)
            .max_session_bytes(options.max_session_bytes)
            .max_store_bytes(options.max_store_bytes);
        Ok(match self.store_connections {
            Some(connections) => postgres.connections(connections.into()),
            None => postgres,
        })
    }

    /// Refuses options that have no meaning without a shared store.
    fn refuse_options_of_fleet(&self) -> anyhow::Result<()> {
        let given = [
            (self.store_connections.is_some(), "--store-connections"),
            (self.server_name.is_some(), "--server-name"),
            (!self.resume_home.is_empty(), "--resume-home"),
        ];
        match given.iter().find(|(is_given, _)| *is_given) {
            Some((_, option)) => {
                bail!("{option} needs servers that share a store; give its address with --store or {STORE_VARIABLE}")
            }
            None => Ok(()),
        }
    }

    /// Whether the address was given on the command line with a password, which other users can see.
    pub(crate) fn shows_password(&self) -> bool {
        let has_password = |address: &str| {
            let authority =
                address.split_once("://").map_or("", |(_, rest)| rest.split(['/', '?']).next().unwrap_or(""));
            authority.rsplit_once('@').is_some_and(|(user, _)| user.contains(':')) || address.contains("password=")
        };
        self.store.as_ref().is_some_and(|store| has_password(&store.0))
    }
}

/// The name of this machine.
fn machine_name() -> anyhow::Result<String> {
    let system = rustix::system::uname();
    let name =
        system.nodename().to_str().context("the name of this machine is not UTF-8; choose one with --server-name")?;
    Ok(name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(store: &str) -> StoreArgs {
        StoreArgs { store: Some(HiddenText(store.to_owned())), ..StoreArgs::default() }
    }

    #[test]
    fn a_password_on_the_command_line_is_noticed_and_not_shown() {
        for shown in ["postgres://u:secret@h/d", "postgres://u:@h", "postgres://h/d?password=secret"] {
            assert!(args(shown).shows_password(), "{shown}");
            assert!(!format!("{:?}", args(shown)).contains("secret"));
        }
        for hidden in ["postgres://u@h:5432/d", "postgres://h/d?user=u", "sqlite", "postgres:///d?host=/run"] {
            assert!(!args(hidden).shows_password(), "{hidden}");
        }
    }

    #[test]
    fn options_of_a_fleet_need_a_shared_store() {
        let args = StoreArgs { server_name: Some("a".to_owned()), ..args(SQLITE) };
        assert_eq!(args.address(), None);
        let error = args.refuse_options_of_fleet().unwrap_err().to_string();
        assert!(error.contains("--server-name needs servers that share a store"), "{error}");
    }
}
