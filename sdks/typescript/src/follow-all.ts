import type { UniversalEvent } from "./generated/types.js";
import { LogPosition, reconnecting } from "./stream.js";
import type { CallOptions, Transport } from "./transport.js";

/** Which events of many sessions to read. */
export interface AllEventsOptions extends CallOptions {
  /** Only sessions with one of these agents. */
  agents?: readonly string[] | undefined;
  /** Only these sessions. */
  sessions?: readonly string[] | undefined;
  /** Where to begin: the cursor of the last event that is known, or `"end"` for new events. Absent: the first event. */
  cursor?: string | undefined;
  /** Whether events have their native payload in `raw`. */
  raw?: boolean | undefined;
}

/** An event of one of many sessions. */
export interface CursorEvent {
  /** Resumes exactly behind this event. */
  readonly cursor: string;
  readonly event: UniversalEvent;
}

/** @internal Follows the events of many sessions on one connection. Does not end. */
export function followAll(transport: Transport, options: AllEventsOptions): AsyncGenerator<CursorEvent, void, void> {
  const { agents, sessions, raw, signal } = options;
  const positions = new Map<string, LogPosition>();
  let { cursor } = options;
  return reconnecting<CursorEvent>({
    transport,
    signal,
    open: () => {
      const query = { agent: agents, session: sessions, cursor, include_raw: raw };
      return transport.stream("GET", "/v1/events/sse", { query, signal });
    },
    accept: (data, frame) => {
      const event = data as UniversalEvent;
      let position = positions.get(event.session_id);
      // A session with the id of a deleted one begins anew.
      if (position === undefined || event.sequence === 1) {
        position = new LogPosition(event.session_id, undefined);
        positions.set(event.session_id, position);
      }
      if (!position.advance(event)) return undefined;
      cursor = frame.id ?? cursor;
      // A session that has ended is not remembered, so that a long stream takes no more and more memory.
      if (event.type === "session.ended") positions.delete(event.session_id);
      return { cursor: cursor ?? "", event };
    },
    observeId: (id) => (cursor = id),
    ended: () => false,
  });
}
