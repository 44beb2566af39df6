import { ConnectionError, GapError, isTransient, ProtocolError, TimeoutError } from "./errors.js";
import type { UniversalEvent } from "./generated/types.js";
import { retryDelay, RetryDeadline } from "./retry.js";
import { SseDecoder, type SseFrame } from "./sse.js";
import { causeText, isObject, type Transport } from "./transport.js";

/** How often a frame that is not JSON is requested again. */
const MAX_DAMAGED_FRAMES = 3;

/** Frames that have arrived together, and the position after them. */
interface Frames {
  frames: SseFrame[];
  position: string | undefined;
}

/** Reads the frames of one answer. Cancels its body when the consumer stops. */
async function* readFrames(response: Response, idleTimeoutMs: number, signal?: AbortSignal): AsyncGenerator<Frames> {
  const reader = (response.body as ReadableStream<Uint8Array>).getReader();
  const decoder = new SseDecoder();
  let idle = false;
  let timer: ReturnType<typeof setTimeout> | undefined;
  // Cancelling resolves a read that waits.
  const stop = () => void reader.cancel(signal?.reason).catch(() => {});
  signal?.addEventListener("abort", stop, { once: true });
  try {
    for (;;) {
      signal?.throwIfAborted();
      timer = setTimeout(() => {
        idle = true;
        void reader.cancel().catch(() => {});
      }, idleTimeoutMs);
      let chunk;
      try {
        chunk = await reader.read();
      } catch (cause) {
        signal?.throwIfAborted();
        throw new ConnectionError(`the event stream broke: ${causeText(cause)}`, { cause });
      } finally {
        clearTimeout(timer);
      }
      signal?.throwIfAborted();
      if (idle) throw new TimeoutError(`the event stream was silent for ${idleTimeoutMs} ms`);
      if (chunk.done) return;
      const frames = decoder.push(chunk.value);
      // An empty list tells that the connection is alive.
      yield { frames, position: decoder.lastEventId };
    }
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", stop);
    // Do not wait for the peer.
    void reader.cancel().catch(() => {});
  }
}

/** @internal */
export interface ReconnectOptions<T> {
  transport: Transport;
  signal?: AbortSignal | undefined;
  /** Opens the stream at the current position. `null`: nothing will come. */
  open: () => Promise<Response | null>;
  /** Whether there is an event already, so that a stream which opens and has none does not come from our server. */
  expectsEvent?: boolean;
  /**
   * Takes a frame, with its data as JSON, and advances the position. `undefined` skips the frame.
   */
  accept: (data: unknown, frame: SseFrame) => T | undefined;
  /** Takes the position of the stream, which the server also sends without an event. */
  position?: (id: string) => void;
  /** Whether the value that was accepted last is the end. */
  ended: () => boolean;
}

/**
 * Reads a stream to its end, across lost connections, restarts of the server and proxies that cut: opens it again at its
 * position, with jitter and exponential delays as long as nothing comes.
 *
 * Gives up when the server showed no sign of life for some time. That a stream opens is one only after the first event: a
 * server of another kind may open it and close it, again and again.
 */
export async function* reconnecting<T>(options: ReconnectOptions<T>): AsyncGenerator<T, void, void> {
  const { transport, signal, open, expectsEvent, accept, ended } = options;
  const deadline = new RetryDeadline(transport.reconnectTimeoutMs);
  let hasOpened = false;
  let hasArrived = false;
  let failures = 0;
  let damaged = 0;
  for (;;) {
    let failure: unknown;
    try {
      const response = await open();
      if (response === null) return;
      if (hasArrived || !hasOpened) deadline.reset();
      hasOpened = true;
      for await (const { frames, position } of readFrames(response, transport.idleTimeoutMs, signal)) {
        if (hasArrived || expectsEvent !== true) deadline.reset();
        for (const frame of frames) {
          const data = parseFrame(frame);
          if (data === undefined) {
            damaged += 1;
            throw new ProtocolError(`an event of the stream is not valid JSON: ${frame.data.slice(0, 200)}`, 200);
          }
          const value = accept(data, frame);
          if (value === undefined) continue;
          hasArrived = true;
          failures = 0;
          damaged = 0;
          yield value;
          // The time that the consumer takes does not count.
          deadline.reset();
          if (ended()) return;
        }
        if (position !== undefined) options.position?.(position);
      }
    } catch (error) {
      signal?.throwIfAborted();
      const again = isTransient(error) || (damaged > 0 && damaged < MAX_DAMAGED_FRAMES && error instanceof ProtocolError);
      if (!again || !transport.reached) throw error;
      failure = error;
    }
    if (deadline.passed()) {
      const what = hasArrived
        ? `lost the connection to ${transport.baseUrl} and could not restore it`
        : `no event came from ${transport.baseUrl}; check that it is the address of an Interlingua server; tried`;
      throw new ConnectionError(`${what} within ${transport.reconnectTimeoutMs} ms`, { cause: failure });
    }
    // The first attempt after progress is almost immediate.
    await retryDelay(failures, failure, signal);
    failures += 1;
  }
}

function parseFrame(frame: SseFrame): unknown {
  try {
    return JSON.parse(frame.data) as unknown;
  } catch {
    return undefined;
  }
}

/** Checks what every event has. The rest is as the server says. */
export function parseEvent(data: unknown): UniversalEvent {
  const isEvent =
    isObject(data) &&
    typeof data["type"] === "string" &&
    typeof data["session_id"] === "string" &&
    Number.isSafeInteger(data["sequence"]);
  if (isEvent) return data as unknown as UniversalEvent;
  throw new ProtocolError(`the stream has something that is no universal event: ${JSON.stringify(data).slice(0, 200)}`, 200);
}

/** Runs what looks into an event. One of an unexpected shape, which makes that fail, is the server's error. */
export function inspectEvents<T>(inspect: () => T): T {
  try {
    return inspect();
  } catch (cause) {
    if (!(cause instanceof TypeError)) throw cause;
    throw new ProtocolError(`an event does not have the shape of a universal event: ${cause.message}`, 200, { cause });
  }
}

/** Position in a session's log: accepts each sequence exactly once, in order. */
export class LogPosition {
  readonly #sessionId: string;
  /** The last sequence that was accepted; `undefined` before the first if the start is not known. */
  last: number | undefined;

  constructor(sessionId: string, last: number | undefined) {
    this.#sessionId = sessionId;
    this.last = last;
  }

  /** Whether the event is the next one. An event that came before is skipped. */
  advance(event: UniversalEvent): boolean {
    const { sequence } = event;
    if (this.last !== undefined) {
      if (sequence <= this.last) return false;
      if (sequence > this.last + 1) throw new GapError(this.#sessionId, this.last + 1, sequence);
    }
    this.last = sequence;
    return true;
  }
}
