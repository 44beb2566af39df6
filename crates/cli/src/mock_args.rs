//! Options of the mock agent, shared by several commands.

use std::path::PathBuf;
use std::time::Duration;

use interlingua_runtime::mock::{MockDriver, MockScenario};

/// Options of the mock agent.
#[derive(Debug, Clone, clap::Args)]
#[command(next_help_heading = "Mock agent")]
pub(crate) struct MockArgs {
    /// Scenario that the mock agent plays (docs/mock.md) instead of its built-in commands
    #[arg(long, value_name = "FILE")]
    mock_scenario: Option<PathBuf>,
    /// Delay in milliseconds between two lines of the mock agent
    #[arg(long, value_name = "MS", default_value_t = 0)]
    mock_pace: u64,
}

impl MockArgs {
    pub(crate) fn driver(&self) -> anyhow::Result<MockDriver> {
        let mock = MockDriver::new().pace(Duration::from_millis(self.mock_pace));
        Ok(match &self.mock_scenario {
            Some(file) => mock.scenario(MockScenario::read(file)?),
            None => mock,
        })
    }
}
