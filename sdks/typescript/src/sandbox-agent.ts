/**
 * The methods of `sandbox-agent` 0.1 over the client of Interlingua, so that its users change one import. A server that
 * runs with `--compat sandbox-agent` also speaks that API's values, and one that runs with `--fs` has the files.
 *
 * @module
 */
import { InterlinguaError } from "./errors.js";
import type {
  AgentList,
  CreateSession,
  Created,
  EventPage,
  FsActionResponse,
  FsEntry,
  FsMoveRequest,
  FsMoveResponse,
  FsStat,
  FsUploadBatchResponse,
  FsWriteResponse,
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
import { FileSystem } from "./file-system.js";
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

/** A session whose directory paths are relative to; the first root of the server if absent. */
export interface FsSessionQuery {
  session_id?: string | null | undefined;
}

/** A path of a file or directory. */
export interface FsPathQuery extends FsSessionQuery {
  path: string;
}

/** A directory to list. */
export interface FsEntriesQuery extends FsSessionQuery {
  path?: string | null | undefined;
}

/** An entry to delete. */
export interface FsDeleteQuery extends FsPathQuery {
  recursive?: boolean | null | undefined;
}

/** Where to unpack an archive. */
export type FsUploadBatchQuery = FsEntriesQuery;

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
    return this.#transport.json<AgentList>("GET", "/v1/agents", ["agents", "array"]);
  }

  installAgent(agent: string, request: InstallRequest = {}): Promise<void> {
    return this.#client.installAgent(agent, request);
  }

  getAgentModes(agent: string): Promise<ModeList> {
    return this.#transport.json<ModeList>("GET", `/v1/agents/${segment(agent)}/modes`, ["modes", "array"]);
  }

  getAgentModels(agent: string): Promise<ModelList> {
    return this.#client.models(agent);
  }

  createSession(sessionId: string, request: CreateSession): Promise<Created> {
    return this.#transport.json<Created>("POST", sessionPath(sessionId), ["healthy", "boolean"], { body: request });
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
    return this.#transport.open("POST", path, { body: request, query: toQuery(query), signal });
  }

  /** One page of stored events. */
  getEvents(sessionId: string, query: EventsQuery = {}): Promise<EventPage> {
    const path = `${sessionPath(sessionId)}/events`;
    return this.#transport.json<EventPage>("GET", path, ["events", "array"], { query: toQuery(query) });
  }

  /** The answer with the events of a session as server-sent events: an empty stream if the session has ended with them. */
  async getEventsSse(sessionId: string, query: EventsQuery = {}, signal?: AbortSignal): Promise<Response> {
    const path = `${sessionPath(sessionId)}/events/sse`;
    const response = await this.#transport.open("GET", path, { query: toQuery(query), signal });
    // Callers of sandbox-agent read the body.
    if (response.status !== 204) return response;
    return new Response("", { headers: { "content-type": "text/event-stream" } });
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

  /** The entries of a directory. */
  listFsEntries(query: FsEntriesQuery = {}): Promise<FsEntry[]> {
    return this.#files(query).list(query.path ?? ".");
  }

  /** The content of a file. */
  readFsFile(query: FsPathQuery): Promise<Uint8Array> {
    return this.#files(query).read(query.path);
  }

  writeFsFile(query: FsPathQuery, body: BodyInit): Promise<FsWriteResponse> {
    return this.#files(query).write(query.path, body);
  }

  deleteFsEntry(query: FsDeleteQuery): Promise<FsActionResponse> {
    return this.#files(query).delete(query.path, { recursive: query.recursive ?? undefined });
  }

  mkdirFs(query: FsPathQuery): Promise<FsActionResponse> {
    return this.#files(query).mkdir(query.path);
  }

  moveFs(request: FsMoveRequest, query: FsSessionQuery = {}): Promise<FsMoveResponse> {
    return this.#files(query).move(request.from, request.to, { overwrite: request.overwrite ?? undefined });
  }

  statFs(query: FsPathQuery): Promise<FsStat> {
    return this.#files(query).stat(query.path);
  }

  /** Unpacks a tar archive into a directory. */
  uploadFsBatch(body: BodyInit, query: FsUploadBatchQuery = {}): Promise<FsUploadBatchResponse> {
    return this.#files(query).upload(body, query.path ?? ".");
  }

  #files({ session_id }: FsSessionQuery): FileSystem {
    return new FileSystem(this.#transport, session_id ?? undefined);
  }

  /** Stops the server if `start` has started it. */
  async dispose(): Promise<void> {
    await this.#server?.stop();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.dispose();
  }
}

/** What the server's web page needs to reach the server. */
export interface InspectorUrlOptions {
  baseUrl: string;
  token?: string | undefined;
  /** Headers that the page sends with every request, for a proxy before the server. */
  headers?: Record<string, string> | undefined;
}

/** Address of the server's web page. Token and headers are in the fragment, which browsers do not send. */
export function buildInspectorUrl({ baseUrl, token, headers }: InspectorUrlOptions): string {
  const parameters = [
    ...(token === undefined ? [] : [`token=${encodeURIComponent(token)}`]),
    ...(headers === undefined ? [] : [`headers=${encodeURIComponent(JSON.stringify(headers))}`]),
  ];
  const page = `${baseUrl.replace(/\/+$/, "")}/ui/`;
  return parameters.length === 0 ? page : `${page}#${parameters.join("&")}`;
}

function sessionPath(sessionId: string): string {
  return `/v1/sessions/${segment(sessionId)}`;
}

function toQuery({ offset, limit, includeRaw }: EventsQuery): Query {
  return { offset, limit, include_raw: includeRaw };
}
