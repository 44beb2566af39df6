import { GapError } from "./errors.js";
import type { UniversalEvent } from "./generated/types.js";
import { labelParameters } from "./labels.js";
import { parseEvent, reconnecting } from "./stream.js";
import type { Transport } from "./transport.js";

/** Which events of which sessions to follow. All conditions have to hold. */
export interface AllEventsOptions {
  agent?: string | undefined;
  /** Labels and their values; `null` for any value. */
  labels?: Record<string, string | null> | undefined;
  /** Ids of sessions, which need not exist yet. */
  sessions?: readonly string[] | undefined;
  /** `cursor` of an earlier stream, to continue there; `"latest"`: only events to come; absent: from the first stored event. */
  cursor?: string | undefined;
  /** Whether events have their native payload in `raw`. */
  raw?: boolean | undefined;
  signal?: AbortSignal | undefined;
}

/**
 * The events of many sessions over one connection, each exactly once, those of a session in order. Reconnects by itself,
 * and does not end by itself: `break` out of the loop, or abort the signal.
 */
export class AllEvents implements AsyncIterable<UniversalEvent> {
  readonly #transport: Transport;
  readonly #options: AllEventsOptions;
  /** Sequence of the last event of each session. */
  readonly #last = new Map<string, number>();
  #cursor: string | undefined;

  /** @internal */
  constructor(transport: Transport, options: AllEventsOptions) {
    this.#transport = transport;
    this.#options = options;
    this.#cursor = options.cursor;
  }

  /** Position after the last event, from which another stream can continue; `undefined` before it is known. */
  get cursor(): string | undefined {
    return this.#cursor === "latest" ? undefined : this.#cursor;
  }

  [Symbol.asyncIterator](): AsyncGenerator<UniversalEvent, void, void> {
    const { agent, labels, sessions, raw, signal } = this.#options;
    return reconnecting<UniversalEvent>({
      transport: this.#transport,
      signal,
      open: () =>
        this.#transport.stream("GET", "/v1/events/sse", {
          query: { agent, label: labelParameters(labels), session: sessions, include_raw: raw, cursor: this.#cursor },
          signal,
        }),
      accept: (data, { id }) => {
        const event = parseEvent(data);
        this.#observe(event);
        this.#cursor = id ?? this.#cursor;
        return event;
      },
      position: (id) => {
        this.#cursor = id;
      },
      ended: () => false,
    });
  }

  /** Checks that an event follows the last one of its session. A session that is created again begins with 1. */
  #observe({ session_id: session, sequence }: UniversalEvent): void {
    const last = this.#last.get(session);
    // A session may have left the stream in between because of its labels.
    const follows = this.#options.labels === undefined ? sequence === (last ?? 0) + 1 : sequence > (last ?? 0);
    if (last !== undefined && sequence !== 1 && !follows) throw new GapError(session, last + 1, sequence);
    this.#last.set(session, sequence);
  }
}
