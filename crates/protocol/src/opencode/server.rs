//! Starting the server.

/// The variable with the server's password.
pub const PASSWORD_VARIABLE: &str = "OPENCODE_SERVER_PASSWORD";
/// The variable with the user name for the password.
pub const USERNAME_VARIABLE: &str = "OPENCODE_SERVER_USERNAME";
/// The user name if the variable is not set.
pub const DEFAULT_USERNAME: &str = "opencode";

/// What the server prints before its URL when it listens.
const LISTENING: &str = "listening on ";

/// The arguments of a server that listens on the loopback interface. With port 0, it chooses a free one.
#[must_use]
pub fn serve_arguments(port: u16) -> Vec<String> {
    ["serve", "--hostname", "127.0.0.1", "--port"].map(str::to_owned).into_iter().chain([port.to_string()]).collect()
}

/// The server's URL, if this line of its standard output reports that it listens. Connections before that are never
/// answered.
#[must_use]
pub fn find_listening_url(line: &str) -> Option<&str> {
    line.split_once(LISTENING).map(|(_, url)| url.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_url_is_found_in_the_output() {
        let line = "opencode server listening on http://127.0.0.1:4096\n";
        assert_eq!(find_listening_url(line), Some("http://127.0.0.1:4096"));
        assert_eq!(find_listening_url("Warning: OPENCODE_SERVER_PASSWORD is not set"), None);
    }
}
