import { linkAbort } from "./abort.js";
import { ConnectionError, InterlinguaError, isTransient, ProtocolError, TimeoutError } from "./errors.js";
import type { Problem } from "./generated/types.js";
import { retryDelay, RetryDeadline } from "./retry.js";

/** Time after which a request without an answer fails. */
const DEFAULT_TIMEOUT_MS = 60_000;
/** Time without any byte after which a stream counts as dead. The server sends a comment every 15 seconds. */
const DEFAULT_IDLE_TIMEOUT_MS = 45_000;
/** Time for which a lost connection is tried again. */
const DEFAULT_RECONNECT_TIMEOUT_MS = 120_000;
/** Time for which a call that may be repeated is. Streams and turns are tried for longer. */
const CALL_RETRY_MS = 3_000;
/** How much of an unexpected answer an error shows. */
const MAX_EXCERPT_LENGTH = 200;

/** How to reach a server. */
export interface ConnectOptions {
  /** Address of the server, such as `http://127.0.0.1:2468`. A path before `/v1` is kept. */
  baseUrl: string | URL;
  /** Token of the server. Not needed if it was started with `--no-token`. */
  token?: string | undefined;
  /** Used instead of the global `fetch`. */
  fetch?: typeof globalThis.fetch | undefined;
  /** Headers that are sent with every request. */
  headers?: HeadersInit | undefined;
  /** Time after which a request without an answer fails: 60 seconds if absent. Streams have no such limit. */
  timeoutMs?: number | undefined;
  /**
   * Time for which a lost connection is tried again: 2 minutes if absent; `Infinity` never gives up. A server that was
   * never reached is not tried again.
   */
  reconnectTimeoutMs?: number | undefined;
  /** Time without any byte after which a stream counts as dead and is opened again: 45 seconds if absent. */
  idleTimeoutMs?: number | undefined;
}

/** What every call takes. */
export interface CallOptions {
  /** Cancels the call. */
  signal?: AbortSignal | undefined;
}

/** Values of a query string. What is absent is left out, a list is repeated. */
export type Query = Record<string, string | number | boolean | readonly string[] | undefined>;

/** @internal */
export interface RequestOptions extends CallOptions {
  query?: Query | undefined;
  /** Sent as JSON. */
  body?: unknown;
  /** Sent as it is. */
  content?: BodyInit | undefined;
  headers?: Record<string, string>;
  /** Whether the request may be sent again when the connection breaks before the answer. */
  repeatable?: boolean;
  timeoutMs?: number;
}

/** @internal Sends requests and turns what goes wrong into errors of one kind. */
export class Transport {
  readonly baseUrl: string;
  readonly idleTimeoutMs: number;
  readonly reconnectTimeoutMs: number;
  readonly #fetch: typeof globalThis.fetch;
  readonly #headers: Headers;
  readonly #timeoutMs: number;
  #reached = false;

  constructor(options: ConnectOptions) {
    this.baseUrl = normaliseBaseUrl(options.baseUrl);
    this.#fetch = options.fetch ?? ((input, init) => globalThis.fetch(input, init));
    this.#headers = new Headers(options.headers);
    if (options.token !== undefined) this.#headers.set("authorization", `Bearer ${options.token}`);
    this.#timeoutMs = options.timeoutMs ?? DEFAULT_TIMEOUT_MS;
    this.idleTimeoutMs = options.idleTimeoutMs ?? DEFAULT_IDLE_TIMEOUT_MS;
    this.reconnectTimeoutMs = options.reconnectTimeoutMs ?? DEFAULT_RECONNECT_TIMEOUT_MS;
  }

  /** Whether the server has answered before. Only then a lost connection is worth another try. */
  get reached(): boolean {
    return this.#reached;
  }

  /** Sends a request and reads an answer in JSON. */
  async json<T>(method: string, path: string, options: RequestOptions = {}): Promise<T> {
    return this.#repeat(options, async (linked) => {
      const response = await this.#send(method, path, options, "application/json", linked);
      const text = await this.#read(response, path, linked);
      const type = response.headers.get("content-type") ?? "";
      if (!type.includes("json")) throw unexpected(this.#url(path), response.status, type, text);
      try {
        return JSON.parse(text) as T;
      } catch (cause) {
        throw new ProtocolError(`the answer of ${this.#url(path)} is not complete JSON: ${excerpt(text)}`, 200, { cause });
      }
    });
  }

  /** Sends a request whose answer has no content. */
  async empty(method: string, path: string, options: RequestOptions = {}): Promise<void> {
    return this.#repeat(options, async (linked) => {
      const response = await this.#send(method, path, options, "application/json", linked);
      const text = await this.#read(response, path, linked);
      if (text !== "") {
        throw unexpected(this.#url(path), response.status, response.headers.get("content-type") ?? "", text);
      }
    });
  }

  /** Sends a request and returns the answer with its body unread, which the signal cancels. */
  async open(method: string, path: string, accept: string, options: RequestOptions = {}): Promise<Response> {
    const linked = this.#deadline(options);
    try {
      const response = await this.#send(method, path, options, accept, linked);
      linked.answered();
      return response;
    } catch (error) {
      linked.release();
      throw error;
    }
  }

  /**
   * Opens a stream of server-sent events. Returns `null` if the server says that nothing will come. The signal counts
   * until the answer begins: who reads the body cancels it.
   */
  async stream(method: string, path: string, options: RequestOptions = {}): Promise<Response | null> {
    const linked = this.#deadline(options);
    let response: Response;
    try {
      response = await this.#send(method, path, options, "text/event-stream", linked);
    } finally {
      linked.release();
    }
    if (response.status === 204) return null;
    const type = response.headers.get("content-type") ?? "";
    if (type.startsWith("text/event-stream") && response.body !== null) return response;
    await response.body?.cancel();
    throw unexpected(this.#url(path), response.status, type, "");
  }

  #url(path: string, query: Query = {}): string {
    const parameters = new URLSearchParams();
    for (const [name, value] of Object.entries(query)) {
      if (Array.isArray(value)) for (const single of value) parameters.append(name, single as string);
      else if (value !== undefined) parameters.set(name, String(value));
    }
    const text = parameters.toString();
    return `${this.baseUrl}${path}${text === "" ? "" : `?${text}`}`;
  }

  /** Runs a request, again if it may be repeated and failed for a reason that passes. */
  async #repeat<T>(options: RequestOptions, attempt: (linked: Deadline) => Promise<T>): Promise<T> {
    const deadline = new RetryDeadline(Math.min(CALL_RETRY_MS, this.reconnectTimeoutMs));
    for (let failures = 0; ; failures += 1) {
      const linked = this.#deadline(options);
      try {
        return await attempt(linked);
      } catch (error) {
        if (options.repeatable !== true || !this.#reached || error instanceof TimeoutError || !isTransient(error)) {
          throw error;
        }
        if (deadline.passed()) throw error;
        await retryDelay(failures, error, options.signal);
      } finally {
        linked.release();
      }
    }
  }

  #deadline(options: RequestOptions): Deadline {
    options.signal?.throwIfAborted();
    return new Deadline(options.signal, options.timeoutMs ?? this.#timeoutMs);
  }

  async #send(method: string, path: string, options: RequestOptions, accept: string, linked: Deadline): Promise<Response> {
    const url = this.#url(path, options.query);
    const headers = new Headers(this.#headers);
    headers.set("accept", accept);
    for (const [name, value] of Object.entries(options.headers ?? {})) headers.set(name, value);
    const init: RequestInit = { method, headers, signal: linked.signal, cache: "no-store" };
    if (options.body !== undefined) {
      headers.set("content-type", "application/json");
      init.body = JSON.stringify(options.body);
    } else if (options.content !== undefined) {
      init.body = options.content;
    }
    let response: Response;
    try {
      response = await this.#fetch(url, init);
    } catch (error) {
      throw linked.explain(error, `cannot reach ${this.baseUrl}`);
    }
    if (response.ok) {
      this.#reached = true;
      return response;
    }
    throw await this.#problem(response, path, linked);
  }

  async #read(response: Response, path: string, linked: Deadline): Promise<string> {
    try {
      return await response.text();
    } catch (error) {
      throw linked.explain(error, `the answer of ${this.#url(path)} was cut off`);
    }
  }

  async #problem(response: Response, path: string, linked: Deadline): Promise<Error> {
    const text = await this.#read(response, path, linked);
    const problem = parseProblem(text);
    if (problem === undefined) {
      return unexpected(this.#url(path), response.status, response.headers.get("content-type") ?? "", text);
    }
    this.#reached = true;
    const seconds = Number(response.headers.get("retry-after") ?? Number.NaN);
    return new InterlinguaError(problem, Number.isFinite(seconds) ? seconds * 1000 : undefined);
  }
}

/** The time limit and the caller's signal of one request. */
class Deadline {
  readonly #linked;
  readonly #timer: ReturnType<typeof setTimeout> | undefined;
  readonly #timeoutMs: number;
  #timedOut = false;

  constructor(parent: AbortSignal | undefined, timeoutMs: number) {
    this.#linked = linkAbort(parent);
    this.#timeoutMs = timeoutMs;
    // Timers cannot be longer than 2^31 ms.
    if (timeoutMs < 2 ** 31) {
      this.#timer = setTimeout(() => {
        this.#timedOut = true;
        this.#linked.abort();
      }, timeoutMs);
    }
  }

  get signal(): AbortSignal {
    return this.#linked.signal;
  }

  /** Ends the time limit, because the answer has begun. The caller's signal still counts. */
  answered(): void {
    clearTimeout(this.#timer);
  }

  release(): void {
    clearTimeout(this.#timer);
    this.#linked.release();
  }

  /** The error for what `fetch` threw. */
  explain(error: unknown, what: string): unknown {
    if (this.#timedOut) return new TimeoutError(`${what}: no answer within ${this.#timeoutMs} ms`, { cause: error });
    if (this.#linked.signal.aborted) return this.#linked.signal.reason;
    return new ConnectionError(`${what}: ${causeText(error)}`, { cause: error });
  }
}

/** `fetch` of Node says `fetch failed` and hides the reason in `cause`. */
export function causeText(error: unknown): string {
  const cause = error instanceof Error ? error.cause : undefined;
  if (cause instanceof Error) {
    const code = (cause as { code?: unknown }).code;
    const message = cause.message === "" && typeof code === "string" ? code : cause.message;
    return message === "" ? String(error) : message;
  }
  return error instanceof Error ? error.message : String(error);
}

function normaliseBaseUrl(baseUrl: string | URL): string {
  let url: URL;
  try {
    url = new URL(baseUrl);
  } catch (cause) {
    throw new TypeError(`baseUrl must be a URL such as http://127.0.0.1:2468, found ${JSON.stringify(String(baseUrl))}`, {
      cause,
    });
  }
  if (url.protocol !== "http:" && url.protocol !== "https:") {
    throw new TypeError(`baseUrl must begin with http:// or https://, found ${JSON.stringify(String(baseUrl))}`);
  }
  return `${url.origin}${url.pathname}`.replace(/\/+$/, "").replace(/\/v1$/, "");
}

function parseProblem(text: string): Problem | undefined {
  try {
    const problem = JSON.parse(text) as Partial<Problem> | null;
    if (
      typeof problem?.type === "string" &&
      /^urn:[a-z-]+:error:/.test(problem.type) &&
      typeof problem.status === "number" &&
      typeof problem.title === "string"
    ) {
      return problem as Problem;
    }
  } catch {
    // Not JSON, so not a problem document.
  }
  return undefined;
}

function unexpected(url: string, status: number, type: string, text: string): ProtocolError {
  const what = type === "" ? "no content type" : type.split(";")[0];
  const hint = "check that baseUrl is the address of an Interlingua server";
  const body = text.trim() === "" ? "" : `: ${excerpt(text)}`;
  return new ProtocolError(`unexpected answer of ${url}: status ${status}, ${what}; ${hint}${body}`, status);
}

function excerpt(text: string): string {
  const line = text.replace(/\s+/g, " ").trim();
  return line.length > MAX_EXCERPT_LENGTH ? `${line.slice(0, MAX_EXCERPT_LENGTH)}…` : line;
}

/** A part of a path. Dots would be resolved by the URL parser. */
export function segment(id: string): string {
  if (id === "" || id === "." || id === "..") {
    throw new TypeError(`${JSON.stringify(id)} cannot be an id`);
  }
  return encodeURIComponent(id);
}
