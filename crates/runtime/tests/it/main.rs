//! The runtime from the outside: sessions with the mock agent, and every driver with stand-ins for the real agents.

mod agents;
mod sessions;

use agents::cast;
use sessions::stage;
