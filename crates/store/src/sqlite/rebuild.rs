//! Rebuilding a database whose pages are damaged: everything that can be read is copied to a new file.

use std::fs;
use std::path::{Path, PathBuf};

use rusqlite::types::Value;
use rusqlite::{Connection, params_from_iter};

use crate::sqlite::{database, log_marker};
use crate::{OpenError, StoreOptions};

/// Copies what can be read to a new database, which takes the place of the damaged one. The damaged one is kept under
/// another name, which is returned.
pub(crate) fn rebuild(damaged: Connection, file: &Path) -> Result<(Connection, PathBuf), OpenError> {
    let rebuilt_file = with_suffix(file, ".rebuilt");
    // The file of an earlier repair may be the only place of something.
    let suffixes = std::iter::once(".damaged".to_owned()).chain((2..).map(|number| format!(".damaged-{number}")));
    let mut kept_files = suffixes.map(|suffix| with_suffix(file, &suffix)).filter(|kept| !kept.exists());
    let kept_file = kept_files.next().unwrap_or_else(|| with_suffix(file, ".damaged"));
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |source| OpenError::File { path, source }
    };
    remove_database(&rebuilt_file).map_err(failed(&rebuilt_file))?;
    let rebuilt = database::open_file(&rebuilt_file, StoreOptions::default())?;
    let rebuilt_error = |error| OpenError::from_sqlite(&rebuilt_file, error);
    for table in copied_tables(&rebuilt).map_err(rebuilt_error)? {
        copy_table(&damaged, &rebuilt, &table).map_err(rebuilt_error)?;
    }
    log_marker::end_log(&rebuilt, log_marker::CLOSE_TIMEOUT).map_err(rebuilt_error)?;
    rebuilt.close().map_err(|(_, error)| rebuilt_error(error))?;
    // Moves the damaged log along, if it cannot be copied to the file.
    drop(damaged);
    let (log, kept_log) = (log_marker::log_file(file), log_marker::log_file(&kept_file));
    if log.exists() {
        fs::rename(&log, kept_log).map_err(failed(&log))?;
    }
    fs::rename(file, &kept_file).map_err(failed(file))?;
    fs::rename(&rebuilt_file, file).map_err(failed(&rebuilt_file))?;
    Ok((database::open_file(file, StoreOptions::default())?, kept_file))
}

fn with_suffix(file: &Path, suffix: &str) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

fn remove_database(file: &Path) -> std::io::Result<()> {
    for file in [file.to_owned(), with_suffix(file, "-wal"), with_suffix(file, "-shm")] {
        if let Err(error) = fs::remove_file(&file)
            && error.kind() != std::io::ErrorKind::NotFound
        {
            return Err(error);
        }
    }
    Ok(())
}

/// Names of the tables whose rows are copied. Virtual tables are indices, which are filled again.
fn copied_tables(connection: &Connection) -> rusqlite::Result<Vec<String>> {
    let mut statement = connection.prepare(
        "SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table' AND name NOT LIKE 'sqlite_%' \
         AND name <> 'store_state'",
    )?;
    statement.query_map([], |row| row.get(0))?.collect()
}

/// Copies the rows before the first damaged page, and those after the last one.
fn copy_table(from: &Connection, to: &Connection, table: &str) -> rusqlite::Result<()> {
    let transaction = to.unchecked_transaction()?;
    for direction in ["", "DESC"] {
        let Ok(mut statement) = from.prepare(&format!("SELECT * FROM \"{table}\" ORDER BY rowid {direction}")) else {
            tracing::warn!(table, "cannot read a table of the damaged database");
            break;
        };
        // By name: a migrated table has its columns in another order than a new one.
        let names = statement.column_names().collect::<Vec<_>>().join(", ");
        let columns = statement.column_count();
        let marks = vec!["?"; columns].join(", ");
        let insert = format!("INSERT OR IGNORE INTO \"{table}\" ({names}) VALUES ({marks})");
        let mut rows = statement.query([])?;
        let is_complete = loop {
            match rows.next() {
                Ok(Some(row)) => {
                    let values: Result<Vec<Value>, _> = (0..columns).map(|column| row.get(column)).collect();
                    // A value that is not text although it should be.
                    let Ok(values) = values else { continue };
                    transaction.prepare_cached(&insert)?.execute(params_from_iter(values))?;
                }
                Ok(None) => break true,
                Err(error) => {
                    tracing::warn!(%error, table, "cannot read all rows of the damaged database");
                    break false;
                }
            }
        };
        if is_complete {
            break;
        }
    }
    transaction.commit()
}
