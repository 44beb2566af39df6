//! Many rows in one statement.
//!
//! Events come by the hundred, each with a payload. A statement that inserts one row has to find its way to the end of
//! the table every time; one that inserts many stays there.

use rusqlite::{Connection, Statement};

/// So many rows go into one statement.
const AT_ONCE: usize = 16;

/// Inserts rows. `into` is the statement up to the values, `values` is one row of them, and `bind` gives a row its
/// values, the first of which has this number.
pub(crate) fn insert<T>(
    connection: &Connection,
    into: &str,
    values: &str,
    rows: &[T],
    bind: impl Fn(&mut Statement<'_>, usize, &T) -> rusqlite::Result<()>,
) -> rusqlite::Result<()> {
    let columns = values.matches('?').count();
    let chunks = rows.chunks_exact(AT_ONCE);
    let rest = chunks.remainder();
    if rows.len() >= AT_ONCE {
        let mut many = connection.prepare_cached(&format!("{into} VALUES {}", vec![values; AT_ONCE].join(", ")))?;
        for chunk in chunks {
            for (number, row) in chunk.iter().enumerate() {
                bind(&mut many, number * columns + 1, row)?;
            }
            many.raw_execute()?;
        }
    }
    if !rest.is_empty() {
        let mut one = connection.prepare_cached(&format!("{into} VALUES {values}"))?;
        for row in rest {
            bind(&mut one, 1, row)?;
            one.raw_execute()?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_goes_in_however_many_there_are() {
        for count in [0, 1, AT_ONCE - 1, AT_ONCE, AT_ONCE + 1, 3 * AT_ONCE + 5] {
            let connection = Connection::open_in_memory().unwrap();
            connection.execute_batch("CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT)").unwrap();
            let rows: Vec<(i64, String)> = (0..).map(|number| (number, format!("row {number}"))).take(count).collect();
            insert(&connection, "INSERT INTO t (a, b)", "(?, ?)", &rows, |statement, first, (a, b)| {
                statement.raw_bind_parameter(first, a)?;
                statement.raw_bind_parameter(first + 1, b)
            })
            .unwrap();
            let mut all = connection.prepare("SELECT a, b FROM t ORDER BY a").unwrap();
            let found: rusqlite::Result<Vec<(i64, String)>> =
                all.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap().collect();
            assert_eq!(found.unwrap(), rows);
        }
    }
}
