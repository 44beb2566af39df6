import type { Problem } from "./generated/types.js";

/** Prefix of the type of a problem document. The kind follows. */
const PROBLEM_PREFIX = /^urn:[a-z-]+:error:/;

type KindOf<Type> = Type extends `urn:interlingua:error:${infer Kind}` ? Kind : never;

/** Kind of a problem that the server reports. A newer server may report other kinds. */
export type ProblemKind = KindOf<Problem["type"]> | (string & {});

/** The server refused a request, and says why in a problem document (RFC 9457). */
export class InterlinguaError extends Error {
  override readonly name = "InterlinguaError";
  /** HTTP status. */
  readonly status: number;
  /** Kind of the problem, the last part of its `type`. */
  readonly kind: ProblemKind;
  readonly title: string;
  readonly detail: string;
  readonly sessionId?: string;
  readonly agent?: string;
  /** The problem document as it came. */
  readonly problem: Problem;
  /** Further data, such as the name of the field that is wrong. */
  readonly details?: unknown;
  /** After how many milliseconds the server asks to try again. */
  readonly retryAfterMs?: number;
  /** The answer with the problem; absent if the problem was found without one. */
  declare readonly response?: Response;

  constructor(problem: Problem, retryAfterMs?: number, response?: Response) {
    const detail = typeof problem.detail === "string" ? problem.detail : "";
    super(detail === "" ? `${problem.title} (${problem.status})` : detail);
    this.problem = problem;
    this.status = problem.status;
    this.kind = problem.type.replace(PROBLEM_PREFIX, "");
    this.title = problem.title;
    this.detail = detail;
    if (problem.sessionId != null) this.sessionId = problem.sessionId;
    if (problem.agent != null) this.agent = problem.agent;
    if (problem.details != null) this.details = problem.details;
    if (retryAfterMs !== undefined) this.retryAfterMs = retryAfterMs;
    // Not shown when the error is logged.
    if (response !== undefined) Object.defineProperty(this, "response", { value: response });
  }
}

/** The server cannot be reached, or the connection broke. `cause` is the error of `fetch`. */
export class ConnectionError extends Error {
  override readonly name = "ConnectionError";
}

/** No answer came in time. */
export class TimeoutError extends Error {
  override readonly name = "TimeoutError";
}

/** The answer is not one of Interlingua's API: another server, a proxy's error page, a damaged answer. */
export class ProtocolError extends Error {
  override readonly name = "ProtocolError";
  /** HTTP status of the answer. */
  readonly status: number;

  constructor(message: string, status: number, options?: ErrorOptions) {
    super(message, options);
    this.status = status;
  }
}

/** Events are missing from a stream. The server promises that this cannot happen: please report it. */
export class GapError extends Error {
  override readonly name = "GapError";
  /** The sequence that had to come next. */
  readonly expected: number;
  /** The sequence that came. */
  readonly found: number;

  constructor(sessionId: string, expected: number, found: number) {
    super(
      `session ${sessionId}: expected the event with sequence ${expected}, found ${found}; this is a bug in Interlingua, please report it`,
    );
    this.expected = expected;
    this.found = found;
  }
}

/** The server that `start` runs did not start, or is not found. `stderr` has the end of what it printed. */
export class StartError extends Error {
  override readonly name = "StartError";
  readonly stderr: string;
  /** Exit code of the server, if it exited. */
  readonly exitCode: number | null;

  constructor(message: string, stderr = "", exitCode: number | null = null, options?: ErrorOptions) {
    super(stderr.trim() === "" ? message : `${message}\n${stderr.trimEnd()}`, options);
    this.stderr = stderr;
    this.exitCode = exitCode;
  }
}

/** Whether the same request may succeed later: the server restarts, or something between us and it failed. */
export function isTransient(error: unknown): boolean {
  if (error instanceof ConnectionError || error instanceof TimeoutError) return true;
  if (error instanceof ProtocolError) return [429, 502, 503, 504].includes(error.status);
  if (error instanceof InterlinguaError) {
    return error.status === 429 || error.kind === "unavailable" || error.kind === "stream_error";
  }
  return false;
}
