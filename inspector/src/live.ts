import { signal } from "@preact/signals";
import { InterlinguaError, type SessionInfo, type UniversalEvent } from "interlingua/client";
import { client, notify } from "./connection.ts";
import { requestId, Timeline } from "./timeline.ts";

/** Number of events that are read when a session is opened, and each time the user comes near the first one. */
const FIRST_PAGE_EVENTS = 300;
const PAGE_EVENTS = 1_000;

/** A session that the page shows, with its timeline. */
export class LiveSession {
  readonly id: string;
  readonly timeline = new Timeline();
  readonly info = signal<SessionInfo | null>(null);
  readonly state = signal<"loading" | "ready" | "missing">("loading");
  readonly isLoadingOlder = signal(false);
  /** Events that the server has, as far as is known. */
  readonly eventCount = signal(0);
  readonly #abort = new AbortController();
  #queue: UniversalEvent[] = [];
  #frame = 0;

  constructor(id: string) {
    this.id = id;
    void this.#run();
  }

  close(): void {
    this.#abort.abort();
    cancelAnimationFrame(this.#frame);
  }

  get hasOlder(): boolean {
    return this.timeline.firstSequence > 1;
  }

  /** Reads the session's end first, so that a long session is shown at once, and then what happens. */
  async #run(): Promise<void> {
    const { signal: aborted } = this.#abort;
    const session = client.session(this.id);
    try {
      const info = await session.info({ signal: aborted });
      this.info.value = info;
      const first = Math.max(0, info.eventCount - FIRST_PAGE_EVENTS);
      const { events } = await session.history({ after: first, limit: FIRST_PAGE_EVENTS, signal: aborted });
      this.timeline.append(events);
      this.eventCount.value = this.timeline.lastSequence;
      this.#restoreState(info);
      this.state.value = "ready";
      for await (const event of session.events({ after: this.timeline.lastSequence, signal: aborted })) {
        this.#queue.push(event);
        if (this.#frame === 0) this.#frame = requestAnimationFrame(() => this.#flush());
        // A hidden page has no frames.
        else if (document.hidden && this.#queue.length > 500) this.#flush();
      }
      this.#flush();
    } catch (error) {
      if (aborted.aborted) return;
      if (error instanceof InterlinguaError && error.kind === "session_not_found") this.state.value = "missing";
      else if (!(error instanceof InterlinguaError && error.status === 401)) notify(String(error), true);
    }
  }

  /** What began before the first page: a running turn, and requests without an answer. */
  #restoreState(info: SessionInfo): void {
    const { state, pending } = info;
    if (this.timeline.lastSequence > info.eventCount) return;
    if (state === "running" || state === "waiting") this.timeline.isRunning.value = true;
    const known = new Set(this.timeline.pending.peek().map(requestId));
    for (const { kind, ...data } of pending ?? []) {
      const request = { kind, data } as unknown as ReturnType<typeof this.timeline.pending.peek>[number];
      if (!known.has(requestId(request))) this.timeline.pending.value = [request, ...this.timeline.pending.peek()];
    }
  }

  #flush(): void {
    cancelAnimationFrame(this.#frame);
    this.#frame = 0;
    const events = this.#queue;
    this.#queue = [];
    this.timeline.append(events);
    this.eventCount.value = this.timeline.lastSequence;
    if (events.some(({ type }) => type === "turn.ended" || type === "session.ended" || type === "turn.started")) void this.refresh();
  }

  async refresh(): Promise<void> {
    try {
      this.info.value = await client.session(this.id).info({ signal: this.#abort.signal });
    } catch {
      // The next change tries again.
    }
  }

  /** Reads the page before the first event. */
  async loadOlder(): Promise<void> {
    if (!this.hasOlder || this.isLoadingOlder.peek()) return;
    this.isLoadingOlder.value = true;
    try {
      const end = this.timeline.firstSequence - 1;
      const after = Math.max(0, end - PAGE_EVENTS);
      const page = await client.session(this.id).history({ after, limit: end - after, signal: this.#abort.signal });
      this.timeline.prepend(page.events);
    } catch (error) {
      if (!this.#abort.signal.aborted) notify(String(error), true);
    } finally {
      this.isLoadingOlder.value = false;
    }
  }

  /** Reads pages until a sequence is loaded. */
  async loadUntil(sequence: number): Promise<void> {
    while (this.timeline.firstSequence > sequence && !this.#abort.signal.aborted) {
      const before = this.timeline.firstSequence;
      await this.loadOlder();
      if (this.timeline.firstSequence === before) return;
    }
  }
}
