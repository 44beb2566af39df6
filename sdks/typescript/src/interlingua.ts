import type {
  AgentInfo,
  AgentList,
  CreateSession,
  Created,
  Health,
  HistoryList,
  HistorySessionInfo,
  ImportInfo,
  ImportProgressInfo,
  ImportRequest,
  ImportResultInfo,
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
import { FileSystem } from "./file-system.js";
import { newId } from "./ids.js";
import { labelParameters } from "./labels.js";
import { Session } from "./session.js";
import { type CallOptions, type ConnectOptions, segment, Transport } from "./transport.js";

/** Number of sessions that one request reads. */
const PAGE_SESSIONS = 200;
/** Interval at which the state of an installation or an import is read. */
const JOB_POLL_MS = 300;

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

/** Which sessions on the disk of the server's machine to list. All conditions have to hold. */
export interface HistoryFilter extends CallOptions {
  agent?: string | undefined;
  /** Working directory of the agent. */
  directory?: string | undefined;
  /** Only sessions that have changed since. */
  since?: Date | undefined;
}

/** Which sessions to import. At least one condition is needed; `all` is one. */
export interface ImportOptions extends Omit<ImportRequest, "since">, CallOptions {
  /** Only sessions that have changed since. */
  since?: Date | undefined;
  /** Called while the import runs. */
  onProgress?: ((progress: ImportProgressInfo) => void) | undefined;
}

/** A client of one server. */
export class Interlingua {
  /** Connects to a server. This sends no request: `health()` does. */
  static connect(options: ConnectOptions): Interlingua {
    return new Interlingua(options);
  }

  /** Files in the roots of the server. `session.fs` has those of a session. */
  readonly fs: FileSystem;
  readonly #transport: Transport;

  /** @internal */
  protected constructor(options: ConnectOptions) {
    this.#transport = new Transport(options);
    this.fs = new FileSystem(this.#transport);
  }

  /** Address of the server. */
  get baseUrl(): string {
    return this.#transport.baseUrl;
  }

  /** Checks that the server is up. Needs no token. */
  health(options: CallOptions = {}): Promise<Health> {
    const expected = ["version", "string"] as const;
    return this.#transport.json<Health>("GET", "/v1/health", expected, { ...options, repeatable: true });
  }

  /** The agents, whether they are installed, and what they can do. */
  async agents(options: CallOptions = {}): Promise<AgentInfo[]> {
    const expected = ["agents", "array"] as const;
    const list = await this.#transport.json<AgentList>("GET", "/v1/agents", expected, { ...options, repeatable: true });
    return list.agents;
  }

  /** Installs an agent, and waits until it is installed. The installation goes on if the signal is aborted. */
  async installAgent(agent: string, { signal, onProgress, ...body }: InstallOptions = {}): Promise<void> {
    const path = `/v1/agents/${segment(agent)}/install`;
    const headers = { prefer: "respond-async" };
    if ((await this.#transport.status("POST", path, [202, 204], { signal, body, headers })) === 204) return;
    for (;;) {
      const info = await this.installation(agent, { signal });
      if (info.state === "running") {
        if (info.progress != null) onProgress?.(info.progress.bytes);
        await sleep(JOB_POLL_MS, signal);
      } else if (info.state === "done") {
        return;
      } else if (info.state === "failed" || info.state === "none") {
        throw new InterlinguaError({
          type: "urn:interlingua:error:install_failed",
          title: "Installation failed",
          status: 502,
          detail: info.message ?? `the server was restarted while it installed ${agent}; install it again`,
          agent,
        });
      } else {
        throw new ProtocolError(`the installation of ${agent} is in the unknown state ${JSON.stringify(info.state)}`, 200);
      }
    }
  }

  /** The last installation of the agent since the server was started: whether one runs, and what it has written so far. */
  installation(agent: string, options: CallOptions = {}): Promise<InstallInfo> {
    const path = `/v1/agents/${segment(agent)}/install`;
    return this.#transport.json<InstallInfo>("GET", path, ["state", "string"], { ...options, repeatable: true });
  }

  /** The modes that a session of the agent can be created with. */
  async modes(agent: string, options: CallOptions = {}): Promise<ModeInfo[]> {
    const path = `/v1/agents/${segment(agent)}/modes`;
    const expected = ["modes", "array"] as const;
    const list = await this.#transport.json<ModeList>("GET", path, expected, { ...options, repeatable: true });
    return list.modes;
  }

  /** The models that a session of the agent can be created with. */
  models(agent: string, options: CallOptions = {}): Promise<ModelList> {
    const path = `/v1/agents/${segment(agent)}/models`;
    return this.#transport.json<ModelList>("GET", path, ["models", "array"], { ...options, repeatable: true });
  }

  /** The sessions that agents keep on the disk of the server's machine and that fit, newest first. Reads them page by page. */
  async *sessionsOnDisk(filter: HistoryFilter = {}): AsyncGenerator<HistorySessionInfo, void, void> {
    const { agent, directory, since, signal } = filter;
    let cursor: string | undefined;
    do {
      const page: HistoryList = await this.#transport.json<HistoryList>("GET", "/v1/history", ["sessions", "array"], {
        query: { agent, directory, since: since?.getTime(), limit: PAGE_SESSIONS, cursor },
        signal,
        repeatable: true,
      });
      yield* page.sessions;
      cursor = page.nextCursor ?? undefined;
    } while (cursor !== undefined);
  }

  /**
   * Imports sessions from the disk of the server's machine, and waits until they are imported. Then they can be read,
   * searched and continued. The import goes on if the signal is aborted.
   */
  async importSessions({ signal, onProgress, since, ...conditions }: ImportOptions): Promise<ImportResultInfo> {
    const path = "/v1/history/import";
    const body = { ...conditions, since: since?.getTime() };
    const headers = { prefer: "respond-async" };
    let info = await this.#transport.json<ImportInfo>("POST", path, ["state", "string"], { signal, body, headers });
    while (info.state === "running") {
      if (info.progress != null) onProgress?.(info.progress);
      await sleep(JOB_POLL_MS, signal);
      info = await this.#transport.json<ImportInfo>("GET", path, ["state", "string"], {
        query: { id: info.id },
        signal,
        repeatable: true,
      });
    }
    if (info.result == null) {
      throw new InterlinguaError({
        type: "urn:interlingua:error:internal_error",
        title: "Import failed",
        status: 500,
        detail: info.message ?? "the import failed",
      });
    }
    return info.result;
  }

  /** All sessions that fit, newest first. Reads them page by page. */
  async *sessions(filter: SessionFilter = {}): AsyncGenerator<SessionInfo, void, void> {
    const { agent, state, labels, directory, since, search, signal } = filter;
    const label = labelParameters(labels);
    let cursor: string | undefined;
    do {
      const page = await this.#transport.json<SessionList>("GET", "/v1/sessions", ["sessions", "array"], {
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
    const options = { query, signal, repeatable: true };
    return this.#transport.json<SearchResults>("GET", "/v1/search", ["results", "array"], options);
  }

  /** Creates a session. The agent is started by the first message. */
  async createSession({ id = newId("ses_"), signal, ...body }: CreateSessionOptions): Promise<Session> {
    const session = new Session(this.#transport, id);
    await this.#transport.json<Created>("POST", `/v1/sessions/${segment(id)}`, ["healthy", "boolean"], { signal, body });
    return session;
  }

  /** A session that exists. This sends no request. */
  session(id: string): Session {
    return new Session(this.#transport, id);
  }
}
