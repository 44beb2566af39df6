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

/**
 * @internal A field that an answer has, and its type, or `array` for an answer that is an array itself. Another answer
 * comes from a server of another kind. The elements of an array are objects.
 */
export type Expected<T> = readonly [field: keyof T & string, type: "array" | "boolean" | "string"] | "array";

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
    this.#headers = toHeaders(options.headers);
    if (options.token !== undefined && options.token !== "") {
      checkToken(options.token);
      this.#headers.set("authorization", `Bearer ${options.token}`);
    }
    this.#timeoutMs = options.timeoutMs ?? DEFAULT_TIMEOUT_MS;
    this.idleTimeoutMs = options.idleTimeoutMs ?? DEFAULT_IDLE_TIMEOUT_MS;
    this.reconnectTimeoutMs = options.reconnectTimeoutMs ?? DEFAULT_RECONNECT_TIMEOUT_MS;
  }

  /** Whether the server has answered before. Only then a lost connection is worth another try. */
  get reached(): boolean {
    return this.#reached;
  }

  /** Sends a request and reads an answer in JSON, which has the expected field. */
  async json<T>(method: string, path: string, expected: Expected<T>, options: RequestOptions = {}): Promise<T> {
    return this.#repeat(options, async (linked) => {
      const response = await this.#send(method, path, options, "application/json", linked);
      const text = await this.#read(response, path, linked);
      const type = response.headers.get("content-type") ?? "";
      if (!type.includes("json")) throw unexpected(this.#url(path), response.status, type, text);
      let answer: unknown;
      try {
        answer = JSON.parse(text);
      } catch (cause) {
        throw new ProtocolError(`the answer of ${this.#url(path)} is not complete JSON: ${excerpt(text)}`, 200, { cause });
      }
      if (!isExpected(answer, expected)) throw unexpected(this.#url(path), response.status, type, text);
      return answer as T;
    });
  }

  /** Sends a request whose answer has no content. */
  async empty(method: string, path: string, options: RequestOptions = {}): Promise<void> {
    await this.#repeat(options, (linked) => this.#status(method, path, options, [204], linked));
  }

  /** Sends a request whose answer matters only by its status, which is one of these. Returns it. */
  async status(method: string, path: string, statuses: readonly number[], options: RequestOptions = {}): Promise<number> {
    return this.#repeat(options, (linked) => this.#status(method, path, options, statuses, linked));
  }

  async #status(
    method: string,
    path: string,
    options: RequestOptions,
    statuses: readonly number[],
    linked: Deadline,
  ): Promise<number> {
    const response = await this.#send(method, path, options, "application/json", linked);
    const text = await this.#read(response, path, linked);
    const { status, headers } = response;
    if (!statuses.includes(status)) throw unexpected(this.#url(path), status, headers.get("content-type") ?? "", text);
    return status;
  }

  /** Requests a file, whose content is read from the answer. The signal counts until the end of the body. */
  async file(path: string, options: RequestOptions = {}): Promise<Response> {
    const linked = this.#deadline(options);
    try {
      const response = await this.#send("GET", path, options, "application/octet-stream", linked);
      linked.answered();
      return releaseAtEnd(response, linked);
    } catch (error) {
      linked.release();
      throw error;
    }
  }

  /** Opens a stream of server-sent events, whose answer may also be 204. The signal counts until the end of the body. */
  async open(method: string, path: string, options: RequestOptions = {}): Promise<Response> {
    const linked = this.#deadline(options);
    try {
      const response = await this.#stream(method, path, options, linked);
      linked.answered();
      return releaseAtEnd(response, linked);
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
    try {
      const response = await this.#stream(method, path, options, linked);
      return response.status === 204 ? null : response;
    } finally {
      linked.release();
    }
  }

  async #stream(method: string, path: string, options: RequestOptions, linked: Deadline): Promise<Response> {
    const response = await this.#send(method, path, options, "text/event-stream", linked);
    const type = response.headers.get("content-type") ?? "";
    if (response.status === 204 || (type.startsWith("text/event-stream") && response.body !== null)) return response;
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
      // Node sends a stream only if the answer may come before its end.
      if (options.content instanceof ReadableStream) Object.assign(init, { duplex: "half" });
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
    // The body of the answer that the error has can be read again.
    const text = await this.#read(response.clone(), path, linked);
    const problem = parseProblem(text);
    if (problem === undefined) {
      return unexpected(this.#url(path), response.status, response.headers.get("content-type") ?? "", text);
    }
    this.#reached = true;
    const seconds = Number(response.headers.get("retry-after") ?? Number.NaN);
    return new InterlinguaError(problem, Number.isFinite(seconds) ? seconds * 1000 : undefined, response);
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
  if (url.username !== "" || url.password !== "") {
    throw new TypeError("baseUrl must not contain a user name or password; use the options `token` or `headers`");
  }
  return `${url.origin}${url.pathname}`.replace(/\/+$/, "").replace(/\/v1$/, "");
}

/** The headers for every request. Errors do not show their values, which may be secrets. */
function toHeaders(init: HeadersInit | undefined): Headers {
  try {
    return new Headers(init);
  } catch {
    throw new TypeError("headers has a name or a value that HTTP does not allow");
  }
}

/** Refuses a token that no header can carry. The error does not show it. */
export function checkToken(token: string): void {
  if (!/^[\x21-\x7e]+$/.test(token)) {
    throw new TypeError("token must be printable ASCII without spaces; one that was read from a file may end with a line break");
  }
}

/** @internal */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}

function isExpected<T>(answer: unknown, expected: Expected<T>): boolean {
  if (expected === "array") return Array.isArray(answer) && answer.every(isObject);
  if (!isObject(answer)) return false;
  const [field, type] = expected;
  const value = answer[field];
  return type === "array" ? Array.isArray(value) && value.every(isObject) : typeof value === type;
}

/** The same answer, which stops following the caller's signal at the end of its body. */
function releaseAtEnd(response: Response, linked: Deadline): Response {
  if (response.body === null) {
    linked.release();
    return response;
  }
  const reader = response.body.getReader();
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const { done, value } = await reader.read();
          if (!done) return controller.enqueue(value);
          controller.close();
        } catch (error) {
          controller.error(error);
        }
        linked.release();
      },
      cancel(reason) {
        linked.release();
        return reader.cancel(reason);
      },
    },
    { highWaterMark: 0 },
  );
  const { status, statusText, headers } = response;
  return new Response(body, { status, statusText, headers });
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
