import { Feed, type FeedMessage, type Subscriber } from "./feed.ts";
import type { FeedRequest } from "./feed-worker.ts";

/** What gets the messages of the feed. */
type Listener = (message: FeedMessage) => void;

const listeners = new Set<Listener>();
let token: string | undefined;
let followed: string | null = null;
let isPaused = false;
let port: MessagePort | undefined;
/** The feed of this page alone, in a browser without shared workers. */
let ownFeed: Feed | undefined;

const self: Subscriber = { session: null, send: (message) => listeners.forEach((listener) => listener(message)) };

/** Calls the listener with every message of the feed. Returns what ends that. */
export function listen(listener: Listener): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Begins to follow the events of all sessions, with this token. */
export function subscribe(newToken: string | undefined): void {
  token = newToken;
  if (ownFeed !== undefined) {
    ownFeed.remove(self);
    ownFeed = undefined;
  } else if (port === undefined) {
    openWorker();
  }
  start();
}

/** Chooses the session whose events this page gets in full. */
export function follow(session: string | null): void {
  followed = session;
  self.session = session;
  post({ kind: "follow", session });
}

/** Tells the other pages of this browser that a request has changed a session. */
export function announce(id: string): void {
  post({ kind: "announce", id });
}

function openWorker(): void {
  if (typeof SharedWorker === "undefined") return;
  try {
    const worker = new SharedWorker(new URL("./feed-worker.ts", import.meta.url), { type: "module" });
    // The server may have another version of the page by now.
    worker.onerror = () => {
      port = undefined;
      start();
    };
    port = worker.port;
    port.onmessage = ({ data }: MessageEvent<FeedMessage>) => self.send(data);
  } catch {
    // Forbidden by the browser's settings.
  }
}

function post(request: FeedRequest): void {
  port?.postMessage(request);
}

function start(): void {
  if (isPaused) return;
  if (port !== undefined) {
    post({ kind: "subscribe", token, session: followed });
    return;
  }
  ownFeed ??= new Feed(location.origin, token);
  if (!document.hidden) ownFeed.add(self);
}

function stop(): void {
  post({ kind: "unsubscribe" });
  ownFeed?.remove(self);
}

function pause(): void {
  isPaused = true;
  stop();
}

function resume(): void {
  if (!isPaused) return;
  isPaused = false;
  start();
}

/** Pauses a page that is left or frozen: it reads no messages. One that comes back reads what it missed. */
export function watchPage(): void {
  addEventListener("pagehide", pause);
  addEventListener("pageshow", resume);
  document.addEventListener("freeze", pause);
  document.addEventListener("resume", resume);
  document.addEventListener("visibilitychange", () => {
    if (ownFeed === undefined || isPaused) return;
    if (document.hidden) ownFeed.remove(self);
    else ownFeed.add(self);
  });
}
