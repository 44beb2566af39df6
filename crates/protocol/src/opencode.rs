//! OpenCode: requests over HTTP.
