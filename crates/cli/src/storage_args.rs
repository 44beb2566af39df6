//! Arguments that limit how much a server stores.

use interlingua_store::StoreOptions;

#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct StorageArgs {
    /// Maximum size of a session's stored events, such as 500MB or 2GiB: its turn then fails, and further messages are
    /// refused with status 507
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    max_session_bytes: Option<u64>,
    /// Maximum size of the database, without its write-ahead log (up to 128 MiB): events and messages beyond it are
    /// refused with status 507; sessions can still be read, terminated and deleted
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    max_store_bytes: Option<u64>,
}

impl StorageArgs {
    pub(crate) fn apply(&self, options: StoreOptions) -> StoreOptions {
        options.max_session_bytes(self.max_session_bytes).max_store_bytes(self.max_store_bytes)
    }
}

/// Parses a number of bytes with an optional unit.
fn parse_size(text: &str) -> Result<u64, String> {
    let digits = text.trim_end_matches(|letter: char| !letter.is_ascii_digit());
    let factor: u64 = match text[digits.len()..].trim().to_ascii_uppercase().as_str() {
        "" | "B" => 1,
        "K" | "KB" => 1000,
        "KIB" => 1 << 10,
        "M" | "MB" => 1_000_000,
        "MIB" => 1 << 20,
        "G" | "GB" => 1_000_000_000,
        "GIB" => 1 << 30,
        "T" | "TB" => 1_000_000_000_000,
        "TIB" => 1 << 40,
        unit => return Err(format!("unknown unit `{unit}`: expected B, KB, MB, GB, TB, KiB, MiB, GiB or TiB")),
    };
    let number: u64 = digits.parse().map_err(|_| "expected a number of bytes, such as 500MB or 2GiB".to_owned())?;
    number.checked_mul(factor).filter(|bytes| *bytes > 0).ok_or_else(|| "the size is zero or too large".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_is_a_number_with_a_unit() {
        for (text, bytes) in [("1", 1), ("500MB", 500_000_000), ("2 GiB", 2 << 30), ("3k", 3000), ("1tib", 1 << 40)] {
            assert_eq!(parse_size(text), Ok(bytes), "{text}");
        }
        for text in ["", "MB", "-1", "1.5GB", "5XB", "0", "99999999999TB", "ä"] {
            assert!(parse_size(text).is_err(), "{text}");
        }
    }
}
