//! Starting the server.

/// The variable that sets the password of the server.
pub const PASSWORD_VARIABLE: &str = "OPENCODE_SERVER_PASSWORD";
/// The variable that sets the user who has the password.
pub const USERNAME_VARIABLE: &str = "OPENCODE_SERVER_USERNAME";
/// The user who has the password if no other is set.
pub const DEFAULT_USERNAME: &str = "opencode";

/// What the server writes to its standard output when it listens, before the URL.
const LISTENING: &str = "listening on ";

/// The arguments of a server that only this machine can reach. With port 0 it chooses one.
#[must_use]
pub fn serve_arguments(port: u16) -> Vec<String> {
    ["serve", "--hostname", "127.0.0.1", "--port"].map(str::to_owned).into_iter().chain([port.to_string()]).collect()
}

/// The URL of the server, if this line of its standard output says that it listens. Connections that are made before it
/// says so are never answered.
#[must_use]
pub fn find_listening_url(line: &str) -> Option<&str> {
    line.split_once(LISTENING).map(|(_, url)| url.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_server_says_where_it_listens() {
        let line = "opencode server listening on http://127.0.0.1:4096\n";
        assert_eq!(find_listening_url(line), Some("http://127.0.0.1:4096"));
        assert_eq!(find_listening_url("Warning: OPENCODE_SERVER_PASSWORD is not set"), None);
    }
}
