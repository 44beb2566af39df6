/**
 * The methods of `sandbox-agent` 0.1 over the client of Interlingua, so that its users change one import. A server that
 * runs with `--compat sandbox-agent` also speaks that API's values. The methods for files are not here, because the
 * server has no file API yet.
 *
 * @module
 */
import { InterlinguaError } from "./errors.js";
import type {
  AgentList,
  CreateSession,
  Created,
  EventPage,
  Health,
  InstallRequest,
  ModelList,
  ModeList,
  ReplyPermission,
  ReplyQuestion,
  SendMessage,
  SessionList,
  UniversalEvent,
} from "./generated/types.js";
import { Interlingua } from "./interlingua.js";
import type { Server } from "./start.js";
import { type ConnectOptions, type Query, segment, Transport } from "./transport.js";

export { InterlinguaError as SandboxAgentError };
export type * from "./generated/types.js";

/** How to reach a server. */
export type SandboxAgentConnectOptions = ConnectOptions;

/** How to start a server. It always listens on loopback. */
export interface SandboxAgentSpawnOptions {
  /** Has to be true or absent: `connect` uses a server that runs. */
  enabled?: boolean | undefined;
  host?: string | undefined;
  port?: number | undefined;
  token?: string | undefined;
  binaryPath?: string | undefined;
  timeoutMs?: number | undefined;
  log?: "inherit" | "pipe" | "silent" | undefined;
  env?: Record<string, string> | undefined;
}

/** How to start a server and connect to it. */
export interface SandboxAgentStartOptions {
  spawn?: SandboxAgentSpawnOptions | boolean | undefined;
  fetch?: typeof globalThis.fetch | undefined;
  headers?: HeadersInit | undefined;
}

/** Which events to read. */
export interface EventsQuery {
  /** The last sequence that is already known. */
  offset?: number | undefined;
  limit?: number | undefined;
  includeRaw?: boolean | undefined;
}

/** What the stream of a turn contains. */
export interface TurnStreamQuery {
  includeRaw?: boolean | undefined;
}

/** Events after which the stream of a turn ends: the turn is over, or waits for the user. */
const TURN_STREAM_END: ReadonlySet<string> = new Set([
  "turn.ended",
  "session.ended",
  "permission.requested",
  "question.requested",
]);

/** A client with the methods of `sandbox-agent` 0.1. */
export class SandboxAgent {
  readonly #client: Interlingua;
  readonly #transport: Transport;
  readonly #server: Server | undefined;

  private constructor(options: ConnectOptions, server?: Server) {
    this.#transport = new Transport(options);
    this.#client = server ?? Interlingua.connect(options);
    this.#server = server;
  }

  /** Connects to a server. */
  static async connect(options: SandboxAgentConnectOptions): Promise<SandboxAgent> {
    return new SandboxAgent(options);
  }

  /** Starts a server, which ends with this process or with `dispose`, and connects to it. Only in Node. */
  static async start(options: SandboxAgentStartOptions = {}): Promise<SandboxAgent> {
    const spawn = typeof options.spawn === "object" ? options.spawn : { enabled: options.spawn ?? true };
    if (spawn.enabled === false) {
      throw new TypeError("start() with `spawn` disabled has no server; use connect({ baseUrl })");
    }
    const { fetch, headers } = options;
    const { host, port, token, binaryPath, timeoutMs, log, env } = spawn;
    if (host !== undefined && !["127.0.0.1", "localhost"].includes(host)) {
      throw new TypeError(`start() listens on 127.0.0.1, not on ${host}; run \`interlingua server --host\` and use connect()`);
    }
    const { start } = await import("./start.js");
    const server = await start({ port, token, binary: binaryPath, timeoutMs, log, env, fetch, headers });
    return new SandboxAgent({ baseUrl: server.baseUrl, token: server.token, fetch, headers }, server);
  }

  /** Address of the server. */
  get baseUrl(): string {
    return this.#client.baseUrl;
  }

  getHealth(): Promise<Health> {
    return this.#client.health();
  }

  listAgents(): Promise<AgentList> {
    return this.#transport.json("GET", "/v1/agents");
  }

  installAgent(agent: string, request: InstallRequest = {}): Promise<void> {
    return this.#client.installAgent(agent, request);
  }

  getAgentModes(agent: string): Promise<ModeList> {
    return this.#transport.json("GET", `/v1/agents/${segment(agent)}/modes`);
  }

  getAgentModels(agent: string): Promise<ModelList> {
    return this.#transport.json("GET", `/v1/agents/${segment(agent)}/models`);
  }

  createSession(sessionId: string, request: CreateSession): Promise<Created> {
    return this.#transport.json("POST", sessionPath(sessionId), { body: request });
  }

  /** All sessions, newest first. */
  async listSessions(): Promise<SessionList> {
    const sessions = [];
    for await (const session of this.#client.sessions()) sessions.push(session);
    return { sessions, total: sessions.length };
  }

  /** Queues a message for the agent. */
  postMessage(sessionId: string, request: SendMessage): Promise<void> {
    return this.#transport.empty("POST", `${sessionPath(sessionId)}/messages`, { body: request });
  }

  /** Sends a message, and returns the answer with the events of its turn as server-sent events. */
  postMessageStream(
    sessionId: string,
    request: SendMessage,
    query: TurnStreamQuery = {},
    signal?: AbortSignal,
  ): Promise<Response> {
    const path = `${sessionPath(sessionId)}/messages/stream`;
    return this.#transport.open("POST", path, "text/event-stream", { body: request, query: toQuery(query), signal });
  }

  /** One page of stored events. */
  getEvents(sessionId: string, query: EventsQuery = {}): Promise<EventPage> {
    return this.#transport.json("GET", `${sessionPath(sessionId)}/events`, { query: toQuery(query) });
  }

  /** The answer with the events of a session as server-sent events. */
  getEventsSse(sessionId: string, query: EventsQuery = {}, signal?: AbortSignal): Promise<Response> {
    const path = `${sessionPath(sessionId)}/events/sse`;
    return this.#transport.open("GET", path, "text/event-stream", { query: toQuery(query), signal });
  }

  /** Follows the events of a session until it ends, across lost connections. */
  streamEvents(sessionId: string, query: EventsQuery = {}, signal?: AbortSignal): AsyncGenerator<UniversalEvent> {
    return this.#client.session(sessionId).events({ after: query.offset, raw: query.includeRaw, signal });
  }

  /** Sends a message and follows its turn, until it ends or waits for the user. */
  async *streamTurn(
    sessionId: string,
    request: SendMessage,
    query: TurnStreamQuery = {},
    signal?: AbortSignal,
  ): AsyncGenerator<UniversalEvent> {
    const { message, attachments } = request;
    const turn = this.#client.session(sessionId).send(message, {
      attachments: attachments ?? undefined,
      raw: query.includeRaw,
      signal,
    });
    for await (const event of turn) {
      yield event;
      if (TURN_STREAM_END.has(event.type)) return;
    }
  }

  replyQuestion(sessionId: string, questionId: string, request: ReplyQuestion): Promise<void> {
    const path = `${sessionPath(sessionId)}/questions/${segment(questionId)}/reply`;
    return this.#transport.empty("POST", path, { body: request });
  }

  rejectQuestion(sessionId: string, questionId: string): Promise<void> {
    return this.#client.session(sessionId).rejectQuestion(questionId);
  }

  replyPermission(sessionId: string, permissionId: string, request: ReplyPermission): Promise<void> {
    return this.#client.session(sessionId).replyPermission(permissionId, request.reply);
  }

  terminateSession(sessionId: string): Promise<void> {
    return this.#client.session(sessionId).terminate();
  }

  /** Stops the server if `start` has started it. */
  async dispose(): Promise<void> {
    await this.#server?.stop();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.dispose();
  }
}

/** Address of the server's web page. The token is in the fragment, which browsers do not send. */
export function buildInspectorUrl({ baseUrl, token }: { baseUrl: string; token?: string | undefined }): string {
  const page = `${baseUrl.replace(/\/+$/, "")}/ui/`;
  return token === undefined ? page : `${page}#token=${encodeURIComponent(token)}`;
}

function sessionPath(sessionId: string): string {
  return `/v1/sessions/${segment(sessionId)}`;
}

function toQuery({ offset, limit, includeRaw }: EventsQuery): Query {
  return { offset, limit, include_raw: includeRaw };
}
