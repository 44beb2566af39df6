import type { UniversalEvent } from "./generated/types.js";
import { LogPosition, parseEvent, reconnecting } from "./stream.js";
import { segment, type Transport } from "./transport.js";

/** Where and how to read events. */
export interface EventOptions {
  /** The last sequence that is already known: 0 or absent reads from the start. */
  after?: number | undefined;
  /** Whether events have their native payload in `raw`. */
  raw?: boolean | undefined;
  signal?: AbortSignal | undefined;
}

/** @internal Refuses what cannot be the sequence of an event, or 0. */
export function checkSequence(after: number): number {
  if (Number.isSafeInteger(after) && after >= 0) return after;
  throw new TypeError(`\`after\` must be the sequence of an event, or 0 for all events; found ${after}`);
}

/** @internal Follows the events of a session until it ends. */
export async function* followSession(
  transport: Transport,
  sessionId: string,
  { after = 0, raw, signal }: EventOptions,
): AsyncGenerator<UniversalEvent, void, void> {
  const position = new LogPosition(sessionId, after);
  let ended = false;
  yield* reconnecting<UniversalEvent>({
    transport,
    signal,
    open: () => openEvents(transport, sessionId, position.last ?? 0, raw, signal),
    // Every session has an event.
    expectsEvent: after === 0,
    accept: (data) => {
      const event = parseEvent(data);
      if (!position.advance(event)) return undefined;
      ended = event.type === "session.ended";
      return event;
    },
    ended: () => ended,
  });
}

/** @internal Opens the event stream of a session after a sequence. */
export function openEvents(
  transport: Transport,
  sessionId: string,
  after: number,
  raw: boolean | undefined,
  signal: AbortSignal | undefined,
): Promise<Response | null> {
  return transport.stream("GET", `/v1/sessions/${segment(sessionId)}/events/sse`, {
    query: { include_raw: raw },
    ...(after > 0 && { headers: { "last-event-id": String(after) } }),
    signal,
  });
}
