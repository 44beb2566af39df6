import { signal } from "@preact/signals";
import { InterlinguaError, type SessionInfo, type SessionList } from "interlingua/client";
import { refreshAgents } from "./agents.ts";
import { client, request, serverState } from "./connection.ts";
import type { FeedMessage, SessionChange } from "./feed.ts";
import { announce, listen } from "./subscription.ts";

/** Number of changed sessions from which the whole list is read instead of each. */
const MAX_SINGLE_READS = 12;
/** Interval at which changes are looked for that are no events: titles, labels, deletions. */
const POLL_INTERVAL_MS = 5_000;
/** Time in which the feed brings a change. */
const FEED_DELAY_MS = 500;
/** Number of sessions after which the list is shown while the rest is read. */
const SHOW_SESSIONS = 200;
/** Delays after which a session that has just ended is read again: its deletion has no event. */
const DELETION_CHECKS_MS = [500, 2_000];

/** All sessions, the last changed one first. */
export const sessions = signal<readonly SessionInfo[]>([]);
export const sessionsLoaded = signal(false);
/** Why the list cannot be read. */
export const listFailure = signal<string | null>(null);

/** Deletions that this page knows, for the view of the session. */
export const deletedSession = signal<string | null>(null);

let loading: Promise<void> | undefined;

/** Keeps the list of sessions up to date, by the feed and by looking from time to time. */
export function startSessionList(): void {
  listen((message) => void receive(message));
  void loadSessions();
  setInterval(() => {
    if (!document.hidden && serverState.peek() === "online") void poll();
  }, POLL_INTERVAL_MS);
}

async function receive(message: FeedMessage): Promise<void> {
  if (message.kind === "open") {
    // The list may be from before the stream began.
    await (sessionsLoaded.peek() ? poll() : loadSessions());
    if (listFailure.peek() !== null) await loadSessions();
    await refreshAgents().catch(() => {});
  } else if (message.kind === "changes") {
    await apply(message.changes);
  } else if (message.kind === "refresh") {
    await readSessions([message.id]);
  }
}

/** Reads the whole list, and shows it as it comes. */
export function loadSessions(): Promise<void> {
  loading ??= readAll().finally(() => (loading = undefined));
  return loading;
}

async function readAll(): Promise<void> {
  const found: SessionInfo[] = [];
  const before = sessions.peek();
  try {
    for await (const session of client.sessions()) {
      found.push(session);
      if (!sessionsLoaded.peek() && found.length % SHOW_SESSIONS === 0) show(found);
    }
    show(found);
    const ids = new Set(found.map(({ sessionId }) => sessionId));
    for (const { sessionId } of before) if (!ids.has(sessionId)) deletedSession.value = sessionId;
    sessionsLoaded.value = true;
    listFailure.value = null;
  } catch (error) {
    // Other failures are those of the connection.
    if (error instanceof InterlinguaError && error.status !== 401) listFailure.value = error.message;
  }
}

function show(list: readonly SessionInfo[]): void {
  sessions.value = [...list].sort((a, b) => b.updatedAt - a.updatedAt);
}

/** Looks at the number of sessions, and of those that have changed, and reads what the feed does not bring. */
async function poll(): Promise<void> {
  try {
    if (!(await isBehind())) return;
    await new Promise((resolve) => setTimeout(resolve, FEED_DELAY_MS));
    if (!(await isBehind())) return;
    const since = new Date(lastChange() + 1);
    const changed: SessionInfo[] = [];
    for await (const session of client.sessions({ since })) changed.push(session);
    merge(changed, []);
    if (sessions.peek().length !== (await count(""))) await loadSessions();
  } catch {
    // The next interval tries again.
  }
}

/** Whether the list lacks a session or a change. */
async function isBehind(): Promise<boolean> {
  const [all, recent] = await Promise.all([count(""), count(`since=${lastChange() + 1}&`)]);
  return recent > 0 || sessions.peek().length !== all;
}

/** Time of the last change that the list shows. */
function lastChange(): number {
  return sessions.peek()[0]?.updatedAt ?? 0;
}

/** Number of sessions that pass a filter. */
async function count(filter: string): Promise<number> {
  const response = await request(`/v1/sessions?${filter}limit=1`);
  return ((await response.json()) as SessionList).total;
}

/** Reads sessions again; those that are gone leave the list. */
export async function readSessions(ids: readonly string[]): Promise<void> {
  const gone: string[] = [];
  const read = await Promise.all(
    ids.map(async (id) => {
      try {
        return await client.session(id).info();
      } catch (error) {
        if (error instanceof InterlinguaError && error.kind === "session_not_found") gone.push(id);
        return undefined;
      }
    }),
  );
  merge(read.filter((info) => info !== undefined), gone);
}

/** Removes a session from the lists of this browser's pages. */
export function forgetSession(id: string): void {
  merge([], [id]);
  announce(id);
}

function merge(changed: readonly SessionInfo[], gone: readonly string[]): void {
  const fresh = new Map(changed.map((info) => [info.sessionId, info]));
  const kept = sessions.peek().filter(({ sessionId }) => !gone.includes(sessionId) && !fresh.has(sessionId));
  if (fresh.size > 0 || kept.length < sessions.peek().length) show([...kept, ...fresh.values()]);
  for (const id of gone) deletedSession.value = id;
  if (deletedSession.peek() !== null && fresh.has(deletedSession.peek() as string)) deletedSession.value = null;
}

async function apply(changes: readonly SessionChange[]): Promise<void> {
  const known = new Map(sessions.peek().map((info) => [info.sessionId, info]));
  const advanced = changes.flatMap(({ id, sequence, time }) => {
    const info = known.get(id);
    if (info === undefined) return [];
    return [{ ...info, eventCount: Math.max(info.eventCount, sequence), updatedAt: Math.max(info.updatedAt, Date.parse(time)) }];
  });
  merge(advanced, []);
  const reads = changes.filter(({ id, isStateChange }) => isStateChange || !known.has(id)).map(({ id }) => id);
  if (reads.length > MAX_SINGLE_READS) await loadSessions();
  else await readSessions(reads);
  const ended = reads.filter((id) => known.get(id)?.ended === false && isEnded(id));
  for (const delay of DELETION_CHECKS_MS) if (ended.length > 0) setTimeout(() => void readSessions(ended), delay);
}

function isEnded(id: string): boolean {
  return sessions.peek().find(({ sessionId }) => sessionId === id)?.ended === true;
}
