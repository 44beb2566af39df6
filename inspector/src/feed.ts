import { Interlingua, InterlinguaError, type UniversalEvent } from "interlingua/client";

/** Time in which events of a session are collected before its pages get them. */
const EVENT_DELAY_MS = 16;
/** Time in which changes of sessions are collected before the lists of sessions get them. */
const CHANGE_DELAY_MS = 150;
/** Delay before the stream is opened again after the server has refused it. */
const REOPEN_DELAY_MS = 1_000;

/** Events after which the state of a session, or what it waits for, is another one. */
const STATE_EVENTS = /^(session|turn|permission|question)\./;

/** Whether the server answers. */
export type Reachability = "online" | "offline" | "unauthorised";

/** The last event of a session, for the list of sessions. */
export interface SessionChange {
  readonly id: string;
  readonly sequence: number;
  readonly time: string;
  /** Whether the session has to be read again. */
  readonly isStateChange: boolean;
}

/** A notification of a page. */
export type FeedMessage =
  /** The stream is open. What happened before has to be read. */
  | { readonly kind: "open" }
  | { readonly kind: "server"; readonly state: Reachability }
  | { readonly kind: "changes"; readonly changes: readonly SessionChange[] }
  /** Events of the session that the page follows. */
  | { readonly kind: "events"; readonly events: readonly UniversalEvent[] }
  /** Another page has changed something that is no event: a title, a queue, a deletion. */
  | { readonly kind: "refresh"; readonly id: string };

/** A page that receives notifications. */
export interface Subscriber {
  /** The session whose events the page gets. */
  session: string | null;
  send(message: FeedMessage): void;
}

/** The events of all sessions, over one connection for any number of subscribers. */
export class Feed {
  readonly #client: Interlingua;
  readonly #subscribers = new Set<Subscriber>();
  #abort: AbortController | undefined;
  #isOpen = false;
  #events: UniversalEvent[] = [];
  #changes = new Map<string, SessionChange>();
  #eventTimer: ReturnType<typeof setTimeout> | undefined;
  #changeTimer: ReturnType<typeof setTimeout> | undefined;

  constructor(baseUrl: string, token: string | undefined) {
    const fetch = (input: RequestInfo | URL, init?: RequestInit) => this.#fetch(input, init);
    this.#client = Interlingua.connect({ baseUrl, token, reconnectTimeoutMs: Infinity, fetch });
  }

  add(subscriber: Subscriber): void {
    this.#subscribers.add(subscriber);
    if (this.#isOpen) subscriber.send({ kind: "open" });
    if (this.#abort !== undefined) return;
    this.#abort = new AbortController();
    void this.#run(this.#abort.signal);
  }

  /** Removes a subscriber. The last one closes the connection. */
  remove(subscriber: Subscriber): void {
    this.#subscribers.delete(subscriber);
    if (this.#subscribers.size > 0) return;
    this.#abort?.abort();
    this.#abort = undefined;
    this.#isOpen = false;
  }

  /** Tells the other subscribers that a session was changed by a request. */
  announce(from: Subscriber, id: string): void {
    for (const subscriber of this.#subscribers) if (subscriber !== from) subscriber.send({ kind: "refresh", id });
  }

  /** Follows the events until the signal is aborted or the token is refused. */
  async #run(signal: AbortSignal): Promise<void> {
    let cursor: string | undefined;
    for (;;) {
      const events = this.#client.allEvents({ cursor: cursor ?? "latest", signal });
      try {
        for await (const event of events) this.#take(event);
        cursor = events.cursor;
      } catch (error) {
        if (signal.aborted) return;
        if (error instanceof InterlinguaError && error.status === 401) break;
        // The server forgot the position, or a session was deleted and created again: subscribers read what they missed.
        cursor = undefined;
      }
      this.#isOpen = false;
      await new Promise((resolve) => setTimeout(resolve, REOPEN_DELAY_MS));
      if (signal.aborted) return;
    }
    this.#abort = undefined;
  }

  /** `fetch` that notices whether the server is there. The client uses it for the stream only. */
  async #fetch(input: RequestInfo | URL, init?: RequestInit): Promise<Response> {
    try {
      const response = await fetch(input, init);
      if (response.ok) {
        this.#isOpen = true;
        this.#sendAll({ kind: "open" });
      }
      this.#sendAll({ kind: "server", state: response.status === 401 ? "unauthorised" : "online" });
      return response;
    } catch (error) {
      if (init?.signal?.aborted !== true) {
        this.#isOpen = false;
        this.#sendAll({ kind: "server", state: "offline" });
      }
      throw error;
    }
  }

  #take(event: UniversalEvent): void {
    const { session_id: id, sequence, time, type } = event;
    const isStateChange = STATE_EVENTS.test(type) || this.#changes.get(id)?.isStateChange === true;
    this.#changes.set(id, { id, sequence, time, isStateChange });
    this.#changeTimer ??= setTimeout(() => this.#flushChanges(), CHANGE_DELAY_MS);
    if (![...this.#subscribers].some(({ session }) => session === id)) return;
    this.#events.push(event);
    this.#eventTimer ??= setTimeout(() => this.#flushEvents(), EVENT_DELAY_MS);
  }

  #flushChanges(): void {
    this.#changeTimer = undefined;
    const changes = [...this.#changes.values()];
    this.#changes.clear();
    this.#sendAll({ kind: "changes", changes });
  }

  #flushEvents(): void {
    this.#eventTimer = undefined;
    const all = this.#events;
    this.#events = [];
    for (const subscriber of this.#subscribers) {
      const events = all.filter((event) => event.session_id === subscriber.session);
      if (events.length > 0) subscriber.send({ kind: "events", events });
    }
  }

  #sendAll(message: FeedMessage): void {
    for (const subscriber of this.#subscribers) subscriber.send(message);
  }
}
