//! Claude Code: lines of JSON both ways, and a control protocol among them.
