//! How each agent's schema is pulled: the packages that declare its wire, and how the schema is extracted from them.
//!
//! The versions are pinned in `agent-schemas/<agent>/source.toml`.

use clap::builder::{PossibleValuesParser, TypedValueParser};
use interlingua_agents::Agent;

/// Parses the id of an agent. `--help` and error messages list all ids.
pub(crate) fn agent_parser() -> impl TypedValueParser<Value = Agent> {
    PossibleValuesParser::new(Agent::ALL.map(Agent::id)).try_map(|id| id.parse::<Agent>())
}

/// One npm package that a pull needs.
#[derive(Debug)]
pub(crate) struct Package {
    /// Name in the registry.
    pub(crate) name: &'static str,
    /// What the package is used for. Written to `source.toml`.
    pub(crate) role: &'static str,
    /// When its pin changes.
    pub(crate) pin_policy: PinPolicy,
    /// The packages that it is installed with.
    pub(crate) group: InstallGroup,
}

/// When the pin of a package changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PinPolicy {
    /// With `--version` and `--latest`: the version of this package is the version of the agent.
    FollowsAgent,
    /// With `--version` and `--latest`: to the newest release that is not newer than the agent.
    NotNewerThanAgent,
    /// Only with `--latest`: to the newest version that the agent's package accepts.
    Latest,
    /// Only with `--latest`: to the newest version of which this platform package is published.
    LatestWith(&'static str),
    /// Only by editing `source.toml`, so that a new tool and a new agent never come in one diff.
    Manual,
}

/// Packages that are installed into one folder, because one refers to the types of the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum InstallGroup {
    /// The agent with its native program for this platform (an optional dependency in npm).
    Native,
    /// Type declarations only, without native programs.
    Types,
    /// The tool that turns TypeScript into JSON Schema.
    Tool,
}

/// How an agent's schema is pulled.
#[derive(Debug)]
pub(crate) struct Recipe {
    /// The packages. The first is the agent's own.
    pub(crate) packages: &'static [Package],
    /// Packages of which a new version is a reason for an update. `.github/drift/newest-version` looks them up.
    pub(crate) watched: &'static [&'static str],
    /// Names of the schema files, beside `source.toml`.
    pub(crate) files: &'static [&'static str],
    /// The licence of the schema.
    pub(crate) licence: &'static str,
    /// Whether the licence allows us to commit the vendor's descriptions, or only names and types.
    pub(crate) keeps_prose: bool,
    /// The steps of the extraction, for readers of `source.toml`.
    pub(crate) steps: &'static [&'static str],
}

const SCHEMA_GENERATOR: Package = Package {
    name: "ts-json-schema-generator",
    role: "turns the TypeScript declarations into JSON Schema",
    pin_policy: PinPolicy::Manual,
    group: InstallGroup::Tool,
};

const TYPESCRIPT: Package = Package {
    name: "typescript",
    role: "the TypeScript compiler that the generator uses",
    pin_policy: PinPolicy::Manual,
    group: InstallGroup::Tool,
};

const fn types_package(name: &'static str, role: &'static str, pin_policy: PinPolicy) -> Package {
    Package { name, role, pin_policy, group: InstallGroup::Types }
}

static CLAUDE: Recipe = Recipe {
    packages: &[
        types_package("@anthropic-ai/claude-agent-sdk", "declares the wire in sdk.d.ts", PinPolicy::FollowsAgent),
        types_package("@anthropic-ai/sdk", "declares the messages that the wire carries", PinPolicy::Latest),
        types_package("@modelcontextprotocol/sdk", "peer dependency of the declarations", PinPolicy::Latest),
        types_package("zod", "peer dependency of the declarations", PinPolicy::Latest),
        SCHEMA_GENERATOR,
        TYPESCRIPT,
    ],
    watched: &["@anthropic-ai/claude-agent-sdk"],
    files: &["schema.json"],
    licence: "proprietary, (c) Anthropic PBC; names and types only",
    keeps_prose: false,
    steps: &[
        "take sdk.d.ts; drop the prefix `coreTypes.`, export every declared type",
        "replace types: JSONRPCMessage by Record<string, unknown>, NonNullableUsage by BetaUsage, UUID by string",
        "add StdinMessage, the union of the messages that a host may write (the SDK declares only its members)",
        "ts-json-schema-generator for StdoutMessage, StdinMessage, PermissionResult, HookJSONOutput and every SDKControl…Response",
        "inline generic instances (Record<…>), remove all prose",
    ],
};

static CODEX: Recipe = Recipe {
    packages: &[
        Package {
            name: "@openai/codex",
            role: "generates the app-server schema",
            pin_policy: PinPolicy::FollowsAgent,
            group: InstallGroup::Native,
        },
        types_package(
            "@openai/codex-sdk",
            "declares the events of `codex exec --json`; not every release of the agent has one, \
             so this is the newest that is not newer than the agent",
            PinPolicy::NotNewerThanAgent,
        ),
        types_package("@modelcontextprotocol/sdk", "declares the content of an MCP result", PinPolicy::Latest),
        SCHEMA_GENERATOR,
        TYPESCRIPT,
    ],
    watched: &["@openai/codex"],
    files: &["schema.json", "exec.schema.json"],
    licence: "Apache-2.0",
    keeps_prose: true,
    steps: &[
        "schema.json: codex app-server generate-json-schema --experimental; the flat v2 bundle, completed from the other files",
        "exec.schema.json: ts-json-schema-generator for ThreadEvent of the codex-sdk's index.d.ts, ContentBlock taken from the MCP SDK's spec.types",
    ],
};

static OPENCODE: Recipe = Recipe {
    packages: &[Package {
        name: "opencode-ai",
        role: "generates its own OpenAPI document",
        pin_policy: PinPolicy::FollowsAgent,
        group: InstallGroup::Native,
    }],
    watched: &["opencode-ai"],
    files: &["schema.json"],
    licence: "MIT",
    keeps_prose: true,
    steps: &["opencode generate, without x-codeSamples"],
};

static AMP: Recipe = Recipe {
    packages: &[
        types_package("@sourcegraph/amp-sdk", "declares the wire in types.d.ts", PinPolicy::FollowsAgent),
        types_package(
            "@sourcegraph/amp",
            "the agent itself; its wire is newer than the declarations",
            PinPolicy::Latest,
        ),
        types_package(
            "@ampcode/cli",
            "the agent itself under its other name",
            PinPolicy::LatestWith("@ampcode/cli-linux-x64"),
        ),
        types_package("zod", "the declared input is inferred from its types", PinPolicy::Latest),
        SCHEMA_GENERATOR,
        TYPESCRIPT,
    ],
    watched: &["@sourcegraph/amp-sdk", "@sourcegraph/amp", "@ampcode/cli"],
    files: &["schema.json"],
    licence: "proprietary, (c) Sourcegraph Inc.; names and types only",
    keeps_prose: false,
    steps: &[
        "ts-json-schema-generator for StreamMessage and UserInputMessage of dist/types.d.ts",
        "inline generic instances (Record<…>, z.infer<…>), remove all prose",
    ],
};

static ACP: Recipe = Recipe {
    packages: &[types_package(
        "@agentclientprotocol/sdk",
        "publishes the schema of protocol version 1",
        PinPolicy::FollowsAgent,
    )],
    watched: &["@agentclientprotocol/sdk"],
    files: &["schema.json"],
    licence: "Apache-2.0",
    keeps_prose: true,
    steps: &[
        "take schema/v1/schema.unstable.json: version 1 with the types that are not stable yet",
        "make requests and notifications unions by `method`, from `x-side` and `x-method` of their parameters",
        "remove the alternatives titled `other` for objects: generated unions accept unknown tags anyway",
    ],
};

/// The recipe of an agent.
pub(crate) fn recipe(agent: Agent) -> &'static Recipe {
    match agent {
        Agent::Claude => &CLAUDE,
        Agent::Codex => &CODEX,
        Agent::OpenCode => &OPENCODE,
        Agent::Amp => &AMP,
        Agent::Acp => &ACP,
    }
}

impl Recipe {
    /// The package whose version is the version of the agent.
    pub(crate) fn main_package(&self) -> &Package {
        &self.packages[0]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exactly_the_first_package_of_every_agent_defines_its_version() {
        for agent in Agent::ALL {
            let packages = recipe(agent).packages;
            assert_eq!(packages[0].pin_policy, PinPolicy::FollowsAgent, "{agent:?}");
            assert_eq!(packages.iter().filter(|p| p.pin_policy == PinPolicy::FollowsAgent).count(), 1, "{agent:?}");
            let watched = recipe(agent).watched;
            assert!(watched.contains(&packages[0].name), "{agent:?}");
            assert!(watched.iter().all(|name| packages.iter().any(|package| package.name == *name)), "{agent:?}");
        }
    }
}
