import { InterlinguaError, type UniversalEvent } from "interlingua/client";
import { client, refresh, serverState, sessions } from "./connection.ts";

/** Time in which changes are collected before the list shows them. */
const UPDATE_DELAY_MS = 150;
/** Number of changed sessions from which the whole list is read instead of each. */
const MAX_SINGLE_READS = 12;
/** Interval at which the whole list is read, for changes that are no events: titles, labels, deletions. */
const REFRESH_INTERVAL_MS = 20_000;
/** Delay before the stream is opened again after the server has refused it. */
const REOPEN_DELAY_MS = 2_000;

/** Events after which the state of a session, or what it waits for, is another one. */
const STATE_EVENTS = /^(session|turn|permission|question)\./;

/** Sessions with new events: the last one, and whether the session has to be read again. */
const changed = new Map<string, { event: UniversalEvent; isRead: boolean }>();
let timer: ReturnType<typeof setTimeout> | undefined;

/**
 * Keeps the list of sessions up to date, by the stream of the events of all sessions. A hidden page has no stream, because a
 * browser opens few connections to a server; it continues at its position when it is shown again.
 */
export function startSessionList(): void {
  let stream: AbortController | undefined;
  let cursor: string | undefined;
  const update = () => {
    const isWanted = !document.hidden && serverState.peek() !== "unauthorised";
    if (isWanted && stream === undefined) {
      const opened = (stream = new AbortController());
      void follow(opened.signal, cursor).then((last) => {
        cursor = last;
        if (stream === opened) stream = undefined;
        if (!opened.signal.aborted) setTimeout(update, REOPEN_DELAY_MS);
      });
    } else if (!isWanted) {
      stream?.abort();
      stream = undefined;
    }
  };
  update();
  document.addEventListener("visibilitychange", update);
  // Also tells when a token was entered.
  serverState.subscribe((state) => {
    if (state === "unauthorised") cursor = undefined;
    update();
  });
  void refresh();
  setInterval(() => {
    if (!document.hidden && serverState.peek() !== "unauthorised") void refresh();
  }, REFRESH_INTERVAL_MS);
}

/** Follows the events until the signal is aborted or the server refuses. Returns the position. */
async function follow(signal: AbortSignal, cursor: string | undefined): Promise<string | undefined> {
  const events = client.allEvents({ cursor: cursor ?? "latest", signal });
  try {
    for await (const event of events) observe(event);
  } catch (error) {
    // The position is gone: the list is read anew, and then followed from its end.
    if (error instanceof InterlinguaError) {
      void refresh();
      return undefined;
    }
  }
  return events.cursor;
}

function observe(event: UniversalEvent): void {
  const isRead = STATE_EVENTS.test(event.type) || changed.get(event.session_id)?.isRead === true;
  changed.set(event.session_id, { event, isRead });
  timer ??= setTimeout(() => void flush(), UPDATE_DELAY_MS);
}

async function flush(): Promise<void> {
  timer = undefined;
  const updates = new Map(changed);
  changed.clear();
  const known = new Set(sessions.peek().map(({ sessionId }) => sessionId));
  const reads = [...updates].filter(([id, { isRead }]) => isRead || !known.has(id)).map(([id]) => id);
  if (reads.length > MAX_SINGLE_READS) return refresh();
  const read = await Promise.all(
    reads.map(async (id) => {
      try {
        return await client.session(id).info();
      } catch {
        // Deleted, or read again with the whole list.
        return undefined;
      }
    }),
  );
  const fresh = new Map(read.flatMap((info) => (info === undefined ? [] : [[info.sessionId, info] as const])));
  const next = sessions.peek().map((info) => {
    const update = updates.get(info.sessionId);
    const merged = fresh.get(info.sessionId) ?? info;
    fresh.delete(info.sessionId);
    if (update === undefined) return merged;
    const { sequence, time } = update.event;
    const updatedAt = Math.max(merged.updatedAt, Date.parse(time));
    return { ...merged, eventCount: Math.max(merged.eventCount, sequence), updatedAt };
  });
  sessions.value = [...next, ...fresh.values()].sort((a, b) => b.updatedAt - a.updatedAt);
}
