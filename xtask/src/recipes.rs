//! How each agent's schema is pulled: which packages say what its wire looks like, and how it is got out of them.
//!
//! Versions are not here: they are pinned in `agent-schemas/<agent>/source.toml`.

use clap::builder::{PossibleValuesParser, TypedValueParser};
use interlingua_agents::Agent;

/// Parses an agent's id; `--help` and errors list all of them.
pub(crate) fn agent_parser() -> impl TypedValueParser<Value = Agent> {
    PossibleValuesParser::new(Agent::ALL.map(Agent::id)).try_map(|id| id.parse::<Agent>())
}

/// One npm package that a pull needs.
#[derive(Debug)]
pub(crate) struct Package {
    /// Its name in the registry.
    pub(crate) name: &'static str,
    /// What it is to us, for `source.toml`.
    pub(crate) role: &'static str,
    /// What moves its pin.
    pub(crate) moves: Moves,
    /// Which installation it belongs to.
    pub(crate) group: Group,
}

/// What moves the pin of a package.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Moves {
    /// `--version` and `--latest`: this package's version is the agent's.
    WithAgent,
    /// Whatever moves the agent: to the newest release that is not newer than the agent's.
    BehindAgent,
    /// `--latest` only: to the newest version that the agent's package accepts.
    WithLatest,
    /// Only an edit of `source.toml`, so that a new tool and a new agent never arrive in one diff.
    ByHand,
}

/// Packages that are installed side by side, because one refers to the types of the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Group {
    /// The agent with its native binary for this platform (npm's optional dependencies).
    Native,
    /// Type declarations only: the native binaries are left out.
    Types,
    /// The tool that turns TypeScript into JSON Schema.
    Tool,
}

/// How an agent's schema comes to be.
#[derive(Debug)]
pub(crate) struct Recipe {
    /// Every package of the pull; the first is the agent's own.
    pub(crate) packages: &'static [Package],
    /// The files that are written beside `source.toml`.
    pub(crate) files: &'static [&'static str],
    /// The licence under which the vendor gives the schema.
    pub(crate) licence: &'static str,
    /// Whether that licence lets us commit the vendor's prose, or names and types only.
    pub(crate) keeps_prose: bool,
    /// How the schema is got out of the packages, one step per entry.
    pub(crate) steps: &'static [&'static str],
    /// The types whose values the agent sends and we read.
    pub(crate) read: &'static [&'static str],
}

const GENERATOR: Package = Package {
    name: "ts-json-schema-generator",
    role: "turns the TypeScript declarations into JSON Schema",
    moves: Moves::ByHand,
    group: Group::Tool,
};

const COMPILER: Package = Package {
    name: "typescript",
    role: "the compiler that the generator reads declarations with",
    moves: Moves::ByHand,
    group: Group::Tool,
};

const fn types(name: &'static str, role: &'static str, moves: Moves) -> Package {
    Package { name, role, moves, group: Group::Types }
}

static CLAUDE: Recipe = Recipe {
    packages: &[
        types("@anthropic-ai/claude-agent-sdk", "declares the wire in sdk.d.ts", Moves::WithAgent),
        types("@anthropic-ai/sdk", "declares the messages that the wire carries", Moves::WithLatest),
        types("@modelcontextprotocol/sdk", "peer of the declarations", Moves::WithLatest),
        types("zod", "peer of the declarations", Moves::WithLatest),
        GENERATOR,
        COMPILER,
    ],
    files: &["schema.json"],
    licence: "proprietary, (c) Anthropic PBC; names and types only",
    keeps_prose: false,
    steps: &[
        "take sdk.d.ts; drop the prefix `coreTypes.`, export every declared type",
        "stand-ins: JSONRPCMessage is Record<string, unknown>, NonNullableUsage is BetaUsage, UUID is string",
        "add StdinMessage, the union of what a host may write (declared one by one, never as a union)",
        "ts-json-schema-generator for StdoutMessage, StdinMessage, PermissionResult, HookJSONOutput and every SDKControl…Response",
        "put generic instances (Record<…>) in place, strip all prose",
    ],
    read: &["StdoutMessage", "SDKMessage"],
};

static CODEX: Recipe = Recipe {
    packages: &[
        Package {
            name: "@openai/codex",
            role: "generates the app-server schema",
            moves: Moves::WithAgent,
            group: Group::Native,
        },
        types(
            "@openai/codex-sdk",
            "declares the events of `codex exec --json`; not every release of the agent has one, \
             so this is the newest that is not newer than the agent",
            Moves::BehindAgent,
        ),
        types("@modelcontextprotocol/sdk", "declares the content of an MCP result", Moves::WithLatest),
        GENERATOR,
        COMPILER,
    ],
    files: &["schema.json", "exec.schema.json"],
    licence: "Apache-2.0",
    keeps_prose: true,
    steps: &[
        "schema.json: codex app-server generate-json-schema --experimental; the flat v2 bundle, and from the other files what it lacks",
        "exec.schema.json: ts-json-schema-generator for ThreadEvent of the codex-sdk's index.d.ts, ContentBlock taken from the MCP SDK's spec.types",
    ],
    read: &["ServerNotification", "ServerRequest", "ThreadItem", "exec::ThreadEvent", "exec::ThreadItem"],
};

static OPENCODE: Recipe = Recipe {
    packages: &[Package {
        name: "opencode-ai",
        role: "generates its own OpenAPI document",
        moves: Moves::WithAgent,
        group: Group::Native,
    }],
    files: &["schema.json"],
    licence: "MIT",
    keeps_prose: true,
    steps: &["opencode generate, without x-codeSamples"],
    read: &["Event", "Part"],
};

static AMP: Recipe = Recipe {
    packages: &[
        types("@sourcegraph/amp-sdk", "declares the wire in types.d.ts", Moves::WithAgent),
        types("@sourcegraph/amp", "the agent itself; its wire is newer than the declarations", Moves::WithLatest),
        types("zod", "the declared input is inferred from its types", Moves::WithLatest),
        GENERATOR,
        COMPILER,
    ],
    files: &["schema.json"],
    licence: "proprietary, (c) Sourcegraph Inc.; names and types only",
    keeps_prose: false,
    steps: &[
        "ts-json-schema-generator for StreamMessage and UserInputMessage of dist/types.d.ts",
        "put generic instances (Record<…>, z.infer<…>) in place, strip all prose",
    ],
    read: &["StreamMessage"],
};

/// How an agent's schema comes to be.
pub(crate) fn recipe(agent: Agent) -> &'static Recipe {
    match agent {
        Agent::Claude => &CLAUDE,
        Agent::Codex => &CODEX,
        Agent::OpenCode => &OPENCODE,
        Agent::Amp => &AMP,
    }
}

impl Recipe {
    /// The package whose version is the agent's.
    pub(crate) fn main(&self) -> &Package {
        &self.packages[0]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_agent_has_exactly_one_package_that_gives_its_version_and_it_comes_first() {
        for agent in Agent::ALL {
            let packages = recipe(agent).packages;
            assert_eq!(packages[0].moves, Moves::WithAgent, "{agent:?}");
            assert_eq!(packages.iter().filter(|p| p.moves == Moves::WithAgent).count(), 1, "{agent:?}");
        }
    }
}
