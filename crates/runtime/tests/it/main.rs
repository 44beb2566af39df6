//! The runtime through its public interface: sessions of the mock agent, and every driver with a stand-in for its agent.

mod agents;
mod sessions;

use agents::stand_in;
use sessions::test_runtime;
