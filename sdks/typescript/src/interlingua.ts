import type {
  AgentInfo,
  AgentList,
  CreateSession,
  Created,
  Health,
  InstallInfo,
  InstallRequest,
  ModeInfo,
  ModeList,
  ModelList,
  SearchResults,
  SessionInfo,
  SessionList,
} from "./generated/types.js";
import { sleep } from "./abort.js";
import { AllEvents, type AllEventsOptions } from "./all-events.js";
import { InterlinguaError, ProtocolError } from "./errors.js";
import { newId } from "./ids.js";
import { labelParameters } from "./labels.js";
import { Session } from "./session.js";
import { type CallOptions, type ConnectOptions, segment, Transport } from "./transport.js";

/** Number of sessions that one request reads. */
const PAGE_SESSIONS = 200;
/** Interval at which the state of an installation is read. */
const INSTALL_POLL_MS = 300;

/** Which sessions to list. All conditions have to hold. */
export interface SessionFilter extends CallOptions {
  agent?: string | undefined;
  state?: SessionInfo["state"] | undefined;
  /** Labels and their values; `null` for any value. */
  labels?: Record<string, string | null> | undefined;
  /** Working directory of the agent. */
  directory?: string | undefined;
  /** Only sessions that have changed since. */
  since?: Date | undefined;
  /** Text of the id, the title or the directory. */
  search?: string | undefined;
}

/** What limits a search. */
export interface SearchOptions extends CallOptions {
  agent?: string | undefined;
  /** Only events since. */
  since?: Date | undefined;
  /** Maximum number of results, 200 at most: 20 if absent. */
  limit?: number | undefined;
}

/** A session to create. */
export interface CreateSessionOptions extends CreateSession, CallOptions {
  /** Id of the session, 1 to 256 bytes; generated if absent. */
  id?: string | undefined;
}

/** Which version of an agent to install. */
export interface InstallOptions extends InstallRequest, CallOptions {
  /** Called with the number of bytes that are on disk, while the installation runs. */
  onProgress?: ((bytes: number) => void) | undefined;
}

/** A client of one server. */
export class Interlingua {
  /** Connects to a server. This sends no request: `health()` does. */
  static connect(options: ConnectOptions): Interlingua {
    return new Interlingua(options);
  }

  readonly #transport: Transport;

  /** @internal */
  protected constructor(options: ConnectOptions) {
    this.#transport = new Transport(options);
  }

  /** Address of the server. */
  get baseUrl(): string {
    return this.#transport.baseUrl;
  }

  /** Checks that the server is up. Needs no token. */
  async health(options: CallOptions = {}): Promise<Health> {
    const health = await this.#transport.json<Health>("GET", "/v1/health", { ...options, repeatable: true });
    if (typeof health?.version !== "string") {
      throw new ProtocolError(`the server at ${this.baseUrl} is not an Interlingua server`, 200);
    }
    return health;
  }

  /** The agents, whether they are installed, and what they can do. */
  async agents(options: CallOptions = {}): Promise<AgentInfo[]> {
    const { agents } = await this.#transport.json<AgentList>("GET", "/v1/agents", { ...options, repeatable: true });
    return agents;
  }

  /** Installs an agent, and waits until it is installed. The installation goes on if the signal is aborted. */
  async installAgent(agent: string, { signal, onProgress, ...body }: InstallOptions = {}): Promise<void> {
    const path = `/v1/agents/${segment(agent)}/install`;
    const headers = { prefer: "respond-async" };
    const accepted = await this.#transport.open("POST", path, "application/json", { signal, body, headers });
    await accepted.body?.cancel();
    if (accepted.status === 204) return;
    for (let polls = 0; ; polls += 1) {
      const info = await this.#transport.json<InstallInfo>("GET", path, { signal, repeatable: true });
      if (info.state === "running") {
        if (info.progress != null) onProgress?.(info.progress.bytes);
        await sleep(INSTALL_POLL_MS, signal);
      } else if (info.state === "failed" || (info.state === "none" && polls > 0)) {
        throw new InterlinguaError({
          type: "urn:interlingua:error:install_failed",
          title: "Installation failed",
          status: 502,
          detail: info.message ?? `the server was restarted while it installed ${agent}; install it again`,
          agent,
        });
      } else {
        return;
      }
    }
  }

  /** The modes that a session of the agent can be created with. */
  async modes(agent: string, options: CallOptions = {}): Promise<ModeInfo[]> {
    const path = `/v1/agents/${segment(agent)}/modes`;
    const { modes } = await this.#transport.json<ModeList>("GET", path, { ...options, repeatable: true });
    return modes;
  }

  /** The models that a session of the agent can be created with. */
  models(agent: string, options: CallOptions = {}): Promise<ModelList> {
    return this.#transport.json("GET", `/v1/agents/${segment(agent)}/models`, { ...options, repeatable: true });
  }

  /** All sessions that fit, newest first. Reads them page by page. */
  async *sessions(filter: SessionFilter = {}): AsyncGenerator<SessionInfo, void, void> {
    const { agent, state, labels, directory, since, search, signal } = filter;
    const label = labelParameters(labels);
    let cursor: string | undefined;
    do {
      const page: SessionList = await this.#transport.json("GET", "/v1/sessions", {
        query: { agent, state, label, directory, since: since?.getTime(), q: search, limit: PAGE_SESSIONS, cursor },
        signal,
        repeatable: true,
      });
      yield* page.sessions;
      cursor = page.nextCursor ?? undefined;
    } while (cursor !== undefined);
  }

  /** Follows the events of all sessions over one connection, or of those that fit. */
  allEvents(options: AllEventsOptions = {}): AllEvents {
    return new AllEvents(this.#transport, options);
  }

  /**
   * Finds events by the words in their text, newest first. All words must occur; words in double quotes must follow each
   * other, and `word*` matches the beginnings of words.
   */
  search(text: string, { agent, since, limit, signal }: SearchOptions = {}): Promise<SearchResults> {
    const query = { q: text, agent, since: since?.getTime(), limit };
    return this.#transport.json("GET", "/v1/search", { query, signal, repeatable: true });
  }

  /** Creates a session. The agent is started by the first message. */
  async createSession({ id = newId("ses_"), signal, ...body }: CreateSessionOptions): Promise<Session> {
    const session = new Session(this.#transport, id);
    await this.#transport.json<Created>("POST", `/v1/sessions/${segment(id)}`, { signal, body });
    return session;
  }

  /** A session that exists. This sends no request. */
  session(id: string): Session {
    return new Session(this.#transport, id);
  }
}
