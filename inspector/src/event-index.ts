import { type ReadonlySignal, signal } from "@preact/signals";
import type { UniversalEvent } from "interlingua/client";
import { client } from "./connection.ts";
import { sanitize } from "./format.ts";
import { PageSize } from "./page-size.ts";

/** Number of rows that are read and forgotten together. */
const PAGE_ROWS = 64;
const MAX_PAGES = 100;
/** Number of rows of a search that are kept. The others are read again when they are shown. */
const MAX_FOUND_ROWS = 5_000;
/** Length of the summary of an event. */
const MAX_SUMMARY_LENGTH = 160;

/** What the list shows of an event. The event itself is read when it is opened. */
export interface EventRow {
  readonly sequence: number;
  readonly type: string;
  readonly isSynthetic: boolean;
  readonly summary: string;
}

/** Which events are shown. */
export interface EventFilter {
  /** Types; empty for all. */
  readonly types: ReadonlySet<string>;
  /** Text that the event has, or its sequence. */
  readonly text: string;
}

/** A filter and what it has found so far. */
interface Search {
  readonly filter: EventFilter;
  readonly abort: AbortController;
  /** Sequences of the events that match. */
  readonly found: number[];
  readonly rows: Map<number, EventRow>;
  /** The last event that was looked at. */
  last: number;
}

/** The events of a session as a list of any length: rows are read when they come into sight, and forgotten again. */
export class EventIndex {
  /** Changes when rows or matches come. Every method that tells about them reads it, for components that are shown. */
  readonly version = signal(0);
  /** Why rows cannot be read. */
  readonly failure = signal<string | null>(null);
  readonly #sessionId: string;
  readonly #count: ReadonlySignal<number>;
  readonly #signal: AbortSignal;
  readonly #pages = new Map<number, EventRow[]>();
  readonly #loading = new Set<number>();
  #search: Search | null = null;

  constructor(sessionId: string, count: ReadonlySignal<number>, signal: AbortSignal) {
    this.#sessionId = sessionId;
    this.#count = count;
    this.#signal = signal;
  }

  /** Number of rows that the list has. */
  get length(): number {
    void this.version.value;
    return this.#search === null ? this.#count.value : this.#search.found.length;
  }

  /** Part of the events that the search has looked at, 0 to 1; null without a search. */
  get progress(): number | null {
    void this.version.value;
    return this.#search === null ? null : this.#search.last / Math.max(1, this.#count.value);
  }

  /** Sequence of the row at a position. */
  sequenceAt(index: number): number {
    return this.#search === null ? index + 1 : (this.#search.found[index] ?? 0);
  }

  /** Position of the first row with this sequence or a higher one. */
  indexOf(sequence: number): number {
    if (this.#search === null) return sequence - 1;
    const index = this.#search.found.findIndex((found) => found >= sequence);
    return index < 0 ? this.#search.found.length : index;
  }

  /** The row of an event; undefined while it is read. */
  row(sequence: number): EventRow | undefined {
    void this.version.value;
    const row = this.#search?.rows.get(sequence);
    if (row !== undefined) return row;
    const page = Math.floor((sequence - 1) / PAGE_ROWS);
    const rows = this.#pages.get(page);
    if (rows !== undefined) {
      // The pages that were used last are at the end.
      this.#pages.delete(page);
      this.#pages.set(page, rows);
    }
    const found = rows?.[(sequence - 1) % PAGE_ROWS];
    if (found === undefined) void this.#load(page);
    return found;
  }

  async #load(page: number): Promise<void> {
    if (this.#loading.has(page)) return;
    this.#loading.add(page);
    try {
      const { events } = await client.session(this.#sessionId).history({ after: page * PAGE_ROWS, limit: PAGE_ROWS, signal: this.#signal });
      this.#pages.set(page, events.map(toRow));
      const oldest = this.#pages.keys().next();
      if (this.#pages.size > MAX_PAGES && oldest.done !== true) this.#pages.delete(oldest.value);
      this.failure.value = null;
    } catch (error) {
      if (!this.#signal.aborted) this.failure.value = String(error);
    } finally {
      this.#loading.delete(page);
    }
    this.version.value += 1;
  }

  /** Adds an event that has just happened. */
  add(event: UniversalEvent): void {
    const { sequence } = event;
    const rows = this.#pages.get(Math.floor((sequence - 1) / PAGE_ROWS));
    if (rows?.length === (sequence - 1) % PAGE_ROWS) rows.push(toRow(event));
    const search = this.#search;
    if (search?.last === sequence - 1) addMatches(search, [event]);
    this.version.value += 1;
  }

  /** Forgets everything: the session has other events now. */
  clear(): void {
    this.#pages.clear();
    if (this.#search !== null) this.setFilter(this.#search.filter);
    this.version.value += 1;
  }

  /** Shows only the events that pass a filter. */
  setFilter(filter: EventFilter): void {
    this.#search?.abort.abort();
    this.#search = null;
    if (filter.types.size > 0 || filter.text !== "") {
      this.#search = { filter, abort: new AbortController(), found: [], rows: new Map(), last: 0 };
      void this.#find(this.#search);
    }
    this.version.value += 1;
  }

  /** Reads all events, and keeps those that pass the filter. */
  async #find(search: Search): Promise<void> {
    const signal = AbortSignal.any([search.abort.signal, this.#signal]);
    const pageSize = new PageSize();
    try {
      while (search.last < this.#count.peek()) {
        const page = await client.session(this.#sessionId).history({ after: search.last, limit: pageSize.events, signal });
        if (page.events.length === 0) return;
        pageSize.observe(page.events);
        addMatches(search, page.events);
        this.version.value += 1;
      }
    } catch (error) {
      if (!signal.aborted) this.failure.value = String(error);
    }
  }
}

function addMatches(search: Search, events: readonly UniversalEvent[]): void {
  const { types, text } = search.filter;
  // As it is written in JSON.
  const needle = JSON.stringify(text).slice(1, -1).toLowerCase();
  for (const event of events) {
    search.last = event.sequence;
    if (types.size > 0 && !types.has(event.type)) continue;
    if (needle !== "" && String(event.sequence) !== needle && !eventText(event).includes(needle)) continue;
    search.found.push(event.sequence);
    if (search.rows.size < MAX_FOUND_ROWS) search.rows.set(event.sequence, toRow(event));
  }
}

function eventText({ type, data }: UniversalEvent): string {
  return `${type} ${JSON.stringify(data)}`.toLowerCase();
}

function toRow(event: UniversalEvent): EventRow {
  return {
    sequence: event.sequence,
    type: event.type,
    isSynthetic: event.synthetic,
    summary: sanitize(summarise(event)).replace(/\s+/g, " ").slice(0, MAX_SUMMARY_LENGTH),
  };
}

function summarise(event: UniversalEvent): string {
  switch (event.type) {
    case "item.started":
    case "item.completed": {
      const { item } = event.data;
      for (const part of item.content) {
        if (part.type === "tool_call") return part.title ?? part.name;
        if (part.type === "tool_result" && part.output !== "") return part.output.slice(0, 400);
        if (part.type === "file_ref") return `${part.action} ${part.path}`;
        if (part.type === "text" || part.type === "reasoning") return part.text.slice(0, 400);
        if (part.type === "status") return `${part.label} ${part.detail ?? ""}`;
      }
      return [item.role, item.kind.replaceAll("_", " ")].filter((part) => part != null).join(" ");
    }
    case "item.delta":
      return event.data.delta.slice(0, 400);
    case "permission.requested":
    case "permission.resolved":
      return `${event.data.status}: ${event.data.action}`;
    case "question.requested":
    case "question.resolved":
      return `${event.data.status}: ${event.data.prompt}`;
    case "error":
      return `${event.data.code ?? ""} ${event.data.message}`;
    case "turn.ended":
      return event.data.status;
    case "session.ended":
      return event.data.reason;
    case "agent.unparsed":
      return event.data.error;
    default:
      return "";
  }
}
