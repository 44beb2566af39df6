import { batch, signal } from "@preact/signals";
import { type CheckReport, InterlinguaError, type SessionInfo, type UniversalEvent } from "interlingua/client";
import { client } from "./connection.ts";
import type { FeedMessage } from "./feed.ts";
import { EventIndex } from "./event-index.ts";
import { characters, MIN_PAGE_EVENTS, PageSize } from "./page-size.ts";
import { errorText, notify } from "./notify.ts";
import { deletedSession } from "./session-list.ts";
import { SessionState } from "./session-state.ts";
import { follow, listen } from "./subscription.ts";
import { Timeline } from "./timeline.ts";
import { newPosition } from "./virtual.tsx";

/** Number of events that are read when a session is opened. */
const FIRST_PAGE_EVENTS = 150;
/** Number of events from which the timeline is cut back, and what is left then. */
const MAX_WINDOW_EVENTS = 6_000;
const KEPT_WINDOW_EVENTS = 4_000;
/** Characters of text from which the timeline is cut back, and what is left then. */
const MAX_WINDOW_CHARACTERS = 12_000_000;
const KEPT_WINDOW_CHARACTERS = 6_000_000;
/** Number of pages that are read to find the beginning of a text. */
const MAX_PAGES_OF_A_TEXT = 20;
/** Number of missed events from which the end of the session is read instead of all of them. */
const MAX_MISSED_EVENTS = 2_000;
/** Delay before the session is checked, so that the first screen comes first. */
const CHECK_DELAY_MS = 1_000;
/** Interval at which the queue is read while it is not empty or a turn runs: a new message has no event. */
const QUEUE_INTERVAL_MS = 2_000;
/** Delay of events in a page that is hidden, which has no frames. */
const HIDDEN_DELAY_MS = 250;

/** A session that the page shows: what it is doing, and a window of its timeline. */
export class LiveSession {
  readonly id: string;
  readonly timeline = new Timeline();
  readonly state = new SessionState();
  readonly index: EventIndex;
  readonly info = signal<SessionInfo | null>(null);
  readonly phase = signal<"loading" | "ready" | "missing">("loading");
  readonly failure = signal<string | null>(null);
  readonly isLoadingOlder = signal(false);
  readonly isLoadingNewer = signal(false);
  /** Number of events of the session. */
  readonly eventCount = signal(0);
  /** Whether the timeline has the last event. */
  readonly isAtTail = signal(true);
  /** Changes when the timeline shows another part of the session. */
  readonly generation = signal(0);
  /** Number of events of each type, and whether they follow the rules; null until the server has said it. */
  readonly report = signal<CheckReport | null>(null);
  /** What is unfolded, by the key of its entry: rows are removed when they are out of sight. */
  readonly unfolded = new Map<string, boolean>();
  /** Where the conversation is scrolled to. */
  position = newPosition(true);
  readonly #abort = new AbortController();
  /** Events that wait for the next frame. */
  #queue: UniversalEvent[] = [];
  /** Events that came while the session was read. */
  #early: UniversalEvent[] = [];
  #frame: number | undefined;
  #isCatchingUp = false;
  readonly #pageSize = new PageSize();
  #windowCharacters = 0;
  readonly #queueTimer: ReturnType<typeof setInterval>;

  constructor(id: string, sequence: number | null) {
    this.id = id;
    this.index = new EventIndex(id, this.eventCount, this.#abort.signal);
    this.#abort.signal.addEventListener("abort", listen((message) => this.#receive(message)));
    follow(id);
    this.#queueTimer = setInterval(() => {
      const { state, queued } = this.info.peek() ?? {};
      if (!document.hidden && (queued || this.state.isRunning.peek() || state === "needs_secrets")) void this.refresh();
    }, QUEUE_INTERVAL_MS);
    void this.#open(sequence);
  }

  close(): void {
    this.#abort.abort();
    clearInterval(this.#queueTimer);
    this.#cancelFrame();
    follow(null);
  }

  get hasOlder(): boolean {
    return this.timeline.firstSequence > 1;
  }

  /** Number of payloads that could not be understood. */
  get unparsedCount(): number {
    return this.report.value?.types["agent.unparsed"] ?? 0;
  }

  async #open(sequence: number | null): Promise<void> {
    try {
      const info = await this.#session.info({ signal: this.#abort.signal });
      this.info.value = info;
      this.state.reset(info);
      this.eventCount.value = info.eventCount;
      const isNearEnd = sequence === null || sequence > info.eventCount - FIRST_PAGE_EVENTS / 2;
      await this.#readWindow(isNearEnd ? info.eventCount : sequence);
      this.phase.value = "ready";
      this.failure.value = null;
      this.#take(this.#early.splice(0));
      void this.#catchUp();
      await this.#completeTexts();
      setTimeout(() => void this.check(), CHECK_DELAY_MS);
    } catch (error) {
      this.#fail(error);
    }
  }

  get #session() {
    return client.session(this.id);
  }

  #fail(error: unknown): void {
    if (this.#abort.signal.aborted) return;
    if (error instanceof InterlinguaError && error.kind === "session_not_found") this.phase.value = "missing";
    else if (this.phase.peek() === "loading") this.failure.value = errorText(error);
    else if (!(error instanceof InterlinguaError && error.status === 401)) notify(errorText(error), true);
  }

  #receive(message: FeedMessage): void {
    if (message.kind === "events") {
      if (this.phase.peek() === "loading") this.#early.push(...message.events);
      else this.#take(message.events);
    } else if (message.kind === "open") {
      if (this.phase.peek() === "loading") {
        if (this.failure.peek() !== null) void this.#open(null);
      } else {
        void this.#catchUp();
      }
    } else if (message.kind === "refresh" && message.id === this.id) {
      void this.refresh();
    }
  }

  /** Takes events that follow the last one. */
  #take(events: readonly UniversalEvent[]): void {
    batch(() => {
      for (const event of events) {
        const last = this.eventCount.peek();
        if (event.sequence <= last) continue;
        if (event.sequence > last + 1) {
          void this.#catchUp();
          return;
        }
        this.eventCount.value = event.sequence;
        this.#observe(event);
      }
    });
  }

  #observe(event: UniversalEvent): void {
    this.state.observe(event);
    this.index.add(event);
    const report = this.report.peek();
    if (report !== null) this.report.value = { ...report, types: { ...report.types, [event.type]: (report.types[event.type] ?? 0) + 1 } };
    this.#queue.push(event);
    if (this.#frame !== undefined) return;
    this.#frame = document.hidden
      ? window.setTimeout(() => this.#flush(), HIDDEN_DELAY_MS)
      : requestAnimationFrame(() => this.#flush());
  }

  #cancelFrame(): void {
    if (this.#frame === undefined) return;
    cancelAnimationFrame(this.#frame);
    clearTimeout(this.#frame);
    this.#frame = undefined;
  }

  /** Shows the events that have come since the last frame. */
  #flush(): void {
    this.#cancelFrame();
    const events = this.#queue;
    this.#queue = [];
    if (events.some(({ type }) => type === "turn.ended" || type === "session.ended" || type === "turn.started")) void this.refresh();
    if (!this.isAtTail.peek()) return;
    batch(() => {
      this.timeline.append(events);
      this.#windowCharacters += characters(events);
      if (!this.#isWindowFull()) return;
      if (this.position.isFollowing) this.#removeOldest();
      // The user reads an earlier part, which has to stay.
      else this.isAtTail.value = false;
    });
  }

  /** Reads what came while there was no stream. */
  async #catchUp(): Promise<void> {
    if (this.#isCatchingUp || this.phase.peek() !== "ready") return;
    this.#isCatchingUp = true;
    try {
      const info = await this.#session.info({ signal: this.#abort.signal });
      const missed = info.eventCount - this.eventCount.peek();
      // The session was deleted and created again.
      if (missed < 0 || missed > MAX_MISSED_EVENTS) await this.#restart(info);
      for (let isComplete = missed <= 0; !isComplete; ) {
        const page = await this.#session.history({ after: this.eventCount.peek(), limit: this.#pageSize.events, signal: this.#abort.signal });
        this.#take(page.events);
        isComplete = !page.hasMore || page.events.length === 0;
      }
      this.info.value = info;
    } catch (error) {
      this.#fail(error);
    } finally {
      this.#isCatchingUp = false;
    }
  }

  async #restart(info: SessionInfo): Promise<void> {
    this.#queue = [];
    this.info.value = info;
    this.state.reset(info);
    this.eventCount.value = info.eventCount;
    this.index.clear();
    await this.#readWindow(info.eventCount);
    await this.check();
  }

  /** Reads the events around a sequence, and shows them instead of what is shown. */
  async #readWindow(sequence: number): Promise<void> {
    const last = this.eventCount.peek();
    const end = Math.min(last, sequence + FIRST_PAGE_EVENTS / 2);
    const after = Math.max(0, end - FIRST_PAGE_EVENTS);
    const { events } = await this.#session.history({ after, limit: FIRST_PAGE_EVENTS, signal: this.#abort.signal });
    batch(() => {
      this.timeline.clear();
      this.timeline.append(events);
      this.#windowCharacters = this.#pageSize.observe(events);
      // Events that have come since belong to the page as well.
      for (const event of events) {
        if (event.sequence <= this.eventCount.peek()) continue;
        this.eventCount.value = event.sequence;
        this.state.observe(event);
        this.index.add(event);
      }
      this.isAtTail.value = this.timeline.lastSequence >= this.eventCount.peek();
      this.position = newPosition(true);
      this.generation.value += 1;
    });
  }

  /** Shows the end of the session. */
  async showEnd(): Promise<void> {
    try {
      if (!this.isAtTail.peek()) await this.#readWindow(this.eventCount.peek());
      this.position.isFollowing = true;
    } catch (error) {
      this.#fail(error);
    }
  }

  /** Shows the part of the session that has an event. Returns whether there is one. */
  async show(sequence: number): Promise<boolean> {
    if (sequence < 1 || sequence > this.eventCount.peek()) return false;
    const { firstSequence, lastSequence } = this.timeline;
    try {
      if (sequence < firstSequence || sequence > lastSequence) await this.#readWindow(sequence);
    } catch (error) {
      this.#fail(error);
    }
    return true;
  }

  /** Reads the session's settings and state again. */
  async refresh(): Promise<void> {
    try {
      this.info.value = await this.#session.info({ signal: this.#abort.signal });
    } catch (error) {
      // The next change tries again.
      if (error instanceof InterlinguaError && error.kind === "session_not_found") this.#setDeleted();
    }
  }

  #setDeleted(): void {
    this.phase.value = "missing";
    deletedSession.value = this.id;
  }

  /** Asks the server whether the session follows the rules. */
  async check(): Promise<void> {
    try {
      this.report.value = await this.#session.check({ signal: this.#abort.signal });
    } catch (error) {
      if (!this.#abort.signal.aborted && !(error instanceof InterlinguaError)) return;
      this.#fail(error);
    }
  }

  /** Reads the page before the first event. */
  async loadOlder(): Promise<void> {
    if (!this.hasOlder || this.isLoadingOlder.peek() || this.phase.peek() !== "ready") return;
    this.isLoadingOlder.value = true;
    try {
      const first = this.timeline.firstSequence;
      const after = Math.max(0, first - 1 - this.#pageSize.events);
      const { events } = await this.#session.history({ after, limit: first - 1 - after, signal: this.#abort.signal });
      if (this.timeline.firstSequence !== first) return;
      batch(() => {
        this.timeline.prepend(events);
        this.#windowCharacters += this.#pageSize.observe(events);
        if (this.#isWindowFull()) this.#removeNewest();
      });
    } catch (error) {
      this.#fail(error);
    } finally {
      this.isLoadingOlder.value = false;
    }
  }

  /** Reads the page after the last event that is shown. */
  async loadNewer(): Promise<void> {
    if (this.isAtTail.peek() || this.isLoadingNewer.peek()) return;
    this.isLoadingNewer.value = true;
    try {
      const last = this.timeline.lastSequence;
      const { events } = await this.#session.history({ after: last, limit: this.#pageSize.events, signal: this.#abort.signal });
      if (this.timeline.lastSequence !== last) return;
      batch(() => {
        this.timeline.append(events);
        this.#windowCharacters += this.#pageSize.observe(events);
        this.isAtTail.value = this.timeline.lastSequence >= this.eventCount.peek();
        if (this.#isWindowFull()) this.#removeOldest();
      });
    } catch (error) {
      this.#fail(error);
    } finally {
      this.isLoadingNewer.value = false;
    }
  }

  /** Reads earlier pages until every text has its beginning. */
  async #completeTexts(): Promise<void> {
    for (let pages = 0; pages < MAX_PAGES_OF_A_TEXT && this.timeline.hasPartialText && this.hasOlder; pages += 1) {
      if (this.#abort.signal.aborted) return;
      const first = this.timeline.firstSequence;
      await this.loadOlder();
      if (this.timeline.firstSequence === first) return;
    }
  }

  #isWindowFull(): boolean {
    const { firstSequence, lastSequence } = this.timeline;
    return lastSequence - firstSequence > MAX_WINDOW_EVENTS || this.#windowCharacters > MAX_WINDOW_CHARACTERS;
  }

  /** Number of events that are kept when the timeline is cut back. */
  get #keptEvents(): number {
    const { firstSequence, lastSequence } = this.timeline;
    const average = this.#windowCharacters / Math.max(1, lastSequence - firstSequence);
    return Math.max(MIN_PAGE_EVENTS, Math.min(KEPT_WINDOW_EVENTS, Math.floor(KEPT_WINDOW_CHARACTERS / average)));
  }

  #removeOldest(): void {
    const { firstSequence, lastSequence } = this.timeline;
    const kept = this.#keptEvents;
    this.#windowCharacters *= kept / Math.max(1, lastSequence - firstSequence);
    this.timeline.removeBefore(lastSequence - kept);
  }

  #removeNewest(): void {
    const { firstSequence, lastSequence } = this.timeline;
    const kept = this.#keptEvents;
    this.#windowCharacters *= kept / Math.max(1, lastSequence - firstSequence);
    this.timeline.removeAfter(firstSequence + kept);
    this.isAtTail.value = false;
  }
}
