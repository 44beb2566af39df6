import { type Signal, signal } from "@preact/signals";
import type {
  ContentPart,
  ErrorEvent,
  Item,
  Permission,
  PlanStep,
  Question,
  SessionEnded,
  SessionMetadata,
  ToolCallPart,
  ToolResultPart,
  TurnEnded,
  UniversalEvent,
  Usage,
} from "interlingua/client";

interface EntryBase {
  /** Unique in the timeline. */
  readonly key: string;
  /** Sequence of the event that began the entry. */
  sequence: number;
  time: string;
  /** Changes when the entry changes. */
  readonly version: Signal<number>;
  /** The tool call whose sub-agent the entry belongs to. */
  parent: ToolEntry | null;
}

/** A message, reasoning, or an item without a kind of its own. */
export interface MessageEntry extends EntryBase {
  readonly kind: "message";
  item: Item;
  /** The text so far; the final text once the item is complete. */
  text: string;
  isOpen: boolean;
}

/** A tool call with its result and what its sub-agent did. */
export interface ToolEntry extends EntryBase {
  readonly kind: "tool";
  item: Item;
  call: ToolCallPart;
  result: ToolResultPart | null;
  resultItem: Item | null;
  /** Output so far. */
  output: string;
  isOpen: boolean;
  readonly children: Entry[];
}

export interface StatusEntry extends EntryBase {
  readonly kind: "status";
  item: Item;
}

export interface RequestEntry extends EntryBase {
  readonly kind: "request";
  request: { kind: "permission"; data: Permission } | { kind: "question"; data: Question };
}

export interface ErrorEntry extends EntryBase {
  readonly kind: "error";
  readonly error: ErrorEvent;
}

export interface TurnEndEntry extends EntryBase {
  readonly kind: "turn-end";
  readonly turn: TurnEnded;
}

export interface SessionEndEntry extends EntryBase {
  readonly kind: "session-end";
  readonly end: SessionEnded;
}

export interface UnparsedEntry extends EntryBase {
  readonly kind: "unparsed";
  readonly reason: string;
}

export type Entry =
  | MessageEntry
  | ToolEntry
  | StatusEntry
  | RequestEntry
  | ErrorEntry
  | TurnEndEntry
  | SessionEndEntry
  | UnparsedEntry;

export type PendingRequest = RequestEntry["request"];

/**
 * The entries of a session. Events come at the end, as they happen, and in front, page by page, when the user scrolls up.
 * An item that begins in an earlier page than it ends is put together when the earlier page comes.
 */
export class Timeline {
  /** Entries of the session itself, in order. */
  roots: Entry[] = [];
  /** Changes when `roots` changes. */
  readonly version = signal(0);
  readonly pending = signal<readonly PendingRequest[]>([]);
  readonly isRunning = signal(false);
  readonly end = signal<SessionEnded | null>(null);
  readonly metadata = signal<SessionMetadata | null>(null);
  readonly usage = signal<Usage | null>(null);
  readonly plan = signal<readonly PlanStep[] | null>(null);
  readonly unparsedCount = signal(0);
  firstSequence = 0;
  lastSequence = 0;

  readonly #items = new Map<string, MessageEntry | ToolEntry | StatusEntry>();
  readonly #calls = new Map<string, ToolEntry>();
  /** Results whose call is in an earlier page. */
  readonly #orphanResults = new Map<string, MessageEntry>();
  /** Entries whose parent is in an earlier page. */
  readonly #orphanChildren = new Map<string, Entry[]>();
  readonly #requests = new Map<string, RequestEntry>();
  /** Where new roots go while an earlier page is added. */
  #front: Entry[] | null = null;

  /** Adds events that follow the last one. */
  append(events: readonly UniversalEvent[]): void {
    const fresh = events.filter((event) => event.sequence > this.lastSequence);
    if (fresh.length === 0) return;
    if (this.firstSequence === 0) this.firstSequence = (fresh[0] as UniversalEvent).sequence;
    const roots = this.roots.length;
    for (const event of fresh) this.#apply(event);
    this.lastSequence = (fresh.at(-1) as UniversalEvent).sequence;
    if (this.roots.length !== roots) this.version.value += 1;
  }

  /** Adds events that come directly before the first one. */
  prepend(events: readonly UniversalEvent[]): void {
    const older = events.filter((event) => event.sequence < this.firstSequence);
    if (older.length === 0) return;
    this.#front = [];
    for (const event of older) this.#apply(event);
    this.roots = this.#front.concat(this.roots);
    this.#front = null;
    this.firstSequence = (older[0] as UniversalEvent).sequence;
    this.version.value += 1;
  }

  #apply(event: UniversalEvent): void {
    const isOld = this.#front !== null;
    switch (event.type) {
      case "session.started":
        this.metadata.value = event.data.metadata ?? {};
        break;
      case "session.ended":
        this.#closeAll();
        this.end.value = event.data;
        this.#addRoot({ ...this.#base(event), kind: "session-end", end: event.data });
        break;
      case "turn.started":
        if (!isOld) this.isRunning.value = true;
        break;
      case "turn.ended":
        if (!isOld) {
          this.isRunning.value = false;
          this.#closeAll();
        }
        if (event.data.usage != null) this.usage.value = addUsage(this.usage.peek(), event.data.usage);
        this.#addRoot({ ...this.#base(event), kind: "turn-end", turn: event.data });
        break;
      case "item.started":
        this.#putItem(event, event.data.item, true);
        break;
      case "item.completed":
        this.#putItem(event, event.data.item, false);
        break;
      case "item.delta":
        this.#addDelta(event.data.item_id, event.data.delta);
        break;
      case "permission.requested":
        this.#addRequest(event, event.data.permission_id, { kind: "permission", data: event.data });
        break;
      case "question.requested":
        this.#addRequest(event, event.data.question_id, { kind: "question", data: event.data });
        break;
      case "permission.resolved":
        this.#resolve(event, event.data.permission_id, { kind: "permission", data: event.data });
        break;
      case "question.resolved":
        this.#resolve(event, event.data.question_id, { kind: "question", data: event.data });
        break;
      case "error":
        this.#addRoot({ ...this.#base(event), kind: "error", error: event.data });
        break;
      case "agent.unparsed":
        this.unparsedCount.value += 1;
        this.#addRoot({ ...this.#base(event), kind: "unparsed", reason: (event.data as { error: string }).error });
        break;
      default:
        break;
    }
  }

  #base(event: UniversalEvent, key = `e${event.sequence}`): EntryBase {
    return { key, sequence: event.sequence, time: event.time, version: signal(0), parent: null };
  }

  #addRoot(entry: Entry): void {
    (this.#front ?? this.roots).push(entry);
  }

  #removeRoot(entry: Entry): void {
    this.roots = this.roots.filter((root) => root !== entry);
    if (this.#front !== null) this.#front = this.#front.filter((root) => root !== entry);
    this.version.value += 1;
  }

  /** Puts a new entry below the tool call that started its sub-agent, or beside the message that it belongs to. */
  #place(entry: Entry, parentId: string | null | undefined): void {
    const parent = parentId == null ? undefined : this.#items.get(parentId);
    const container = parent?.kind === "tool" ? parent : (parent?.parent ?? null);
    if (container !== null && container !== undefined) {
      entry.parent = container;
      container.children.push(entry);
      touch(container);
      return;
    }
    if (parentId != null && parent === undefined) {
      const orphans = this.#orphanChildren.get(parentId) ?? [];
      orphans.push(entry);
      this.#orphanChildren.set(parentId, orphans);
    }
    this.#addRoot(entry);
  }

  #putItem(event: UniversalEvent, item: Item, isOpen: boolean): void {
    if (item.kind === "tool_result") {
      this.#putResult(event, item, isOpen);
      return;
    }
    const known = this.#items.get(item.item_id);
    if (known !== undefined) {
      // The start of an item whose end is known already adds nothing.
      if (!isOpen) this.#updateItem(known, item);
      return;
    }
    const base = this.#base(event, item.item_id);
    let entry: MessageEntry | ToolEntry | StatusEntry;
    if (item.kind === "tool_call") {
      const call = item.content.find((part): part is ToolCallPart => part.type === "tool_call") ?? EMPTY_CALL;
      entry = { ...base, kind: "tool", item, call, result: null, resultItem: null, output: "", isOpen: true, children: [] };
      this.#adoptCall(entry);
    } else if (item.kind === "status") {
      entry = { ...base, kind: "status", item };
      this.#readPlan(item);
    } else {
      entry = { ...base, kind: "message", item, text: isOpen ? "" : messageText(item), isOpen };
    }
    this.#items.set(item.item_id, entry);
    this.#place(entry, item.parent_id);
    if (entry.kind === "tool") this.#adoptChildren(entry);
  }

  #updateItem(entry: MessageEntry | ToolEntry | StatusEntry, item: Item): void {
    entry.item = item;
    if (entry.kind === "message") {
      entry.isOpen = false;
      entry.text = item.kind === "tool_result" ? entry.text : messageText(item);
    } else if (entry.kind === "tool") {
      entry.call = item.content.find((part): part is ToolCallPart => part.type === "tool_call") ?? entry.call;
      this.#adoptCall(entry);
    } else {
      this.#readPlan(item);
    }
    touch(entry);
  }

  #readPlan(item: Item): void {
    if (this.#front !== null || !item.content.some((part) => part.type === "status" && part.label === "plan")) return;
    this.plan.value = planSteps(item) ?? this.plan.peek();
  }

  /** Finds the result of a call, if a later page has it. */
  #adoptCall(entry: ToolEntry): void {
    const id = entry.call.call_id;
    if (id === "") return;
    this.#calls.set(id, entry);
    const orphan = this.#orphanResults.get(id);
    if (orphan === undefined) {
      // A call of an earlier page without a result has ended with its turn.
      if (this.#front !== null && entry.result === null) entry.isOpen = this.isRunning.peek();
      return;
    }
    this.#orphanResults.delete(id);
    this.#setResult(entry, orphan.item, orphan.isOpen);
    this.#removeRoot(orphan);
  }

  /** Moves what the sub-agent of a call did below it, if a later page has it. */
  #adoptChildren(entry: ToolEntry): void {
    const orphans = this.#orphanChildren.get(entry.item.item_id);
    if (orphans === undefined) return;
    this.#orphanChildren.delete(entry.item.item_id);
    for (const orphan of orphans) {
      orphan.parent = entry;
      entry.children.push(orphan);
      this.#removeRoot(orphan);
    }
    touch(entry);
  }

  #putResult(event: UniversalEvent, item: Item, isOpen: boolean): void {
    const part = item.content.find((part): part is ToolResultPart => part.type === "tool_result");
    const call = part === undefined ? undefined : this.#calls.get(part.call_id);
    if (call !== undefined) {
      this.#items.set(item.item_id, call);
      if (call.resultItem === null || call.isOpen) this.#setResult(call, item, isOpen);
      return;
    }
    const known = this.#items.get(item.item_id);
    if (known?.kind === "message") {
      if (!isOpen) {
        known.text = part?.output ?? known.text;
        this.#updateItem(known, item);
      }
      return;
    }
    const entry: MessageEntry = { ...this.#base(event, item.item_id), kind: "message", item, text: part?.output ?? "", isOpen };
    this.#items.set(item.item_id, entry);
    if (part !== undefined) this.#orphanResults.set(part.call_id, entry);
    this.#addRoot(entry);
  }

  #setResult(call: ToolEntry, item: Item, isOpen: boolean): void {
    call.resultItem = item;
    call.result = item.content.find((part): part is ToolResultPart => part.type === "tool_result") ?? null;
    if (!isOpen || call.output === "") call.output = call.result?.output ?? "";
    call.isOpen = isOpen;
    touch(call);
  }

  #addDelta(itemId: string, delta: string): void {
    const entry = this.#items.get(itemId);
    if (entry === undefined || entry.kind === "status") return;
    if (entry.kind === "message" && entry.isOpen) {
      entry.text += delta;
      touch(entry);
    } else if (entry.kind === "tool" && entry.isOpen && entry.resultItem !== null) {
      entry.output += delta;
      touch(entry);
    }
  }

  #addRequest(event: UniversalEvent, id: string, request: PendingRequest): void {
    const known = this.#requests.get(id);
    if (known !== undefined) return;
    const entry: RequestEntry = { ...this.#base(event), kind: "request", request };
    this.#requests.set(id, entry);
    const callId = request.data.metadata?.call_id;
    const container = (callId == null ? undefined : this.#calls.get(callId))?.parent;
    if (container != null) {
      entry.parent = container;
      container.children.push(entry);
      touch(container);
    } else {
      this.#addRoot(entry);
    }
    if (this.#front === null) this.pending.value = [...this.pending.peek(), request];
  }

  #resolve(event: UniversalEvent, id: string, request: PendingRequest): void {
    if (this.#front === null) {
      this.pending.value = this.pending.peek().filter((pending) => pending.kind !== request.kind || requestId(pending) !== id);
    }
    const known = this.#requests.get(id);
    if (known !== undefined) {
      known.request = request;
      touch(known);
      return;
    }
    const entry: RequestEntry = { ...this.#base(event), kind: "request", request };
    this.#requests.set(id, entry);
    this.#addRoot(entry);
  }

  /** The end of a turn closes what is open, except for commands that go on in the background. */
  #closeAll(): void {
    if (this.pending.peek().length > 0) this.pending.value = [];
  }
}

const EMPTY_CALL: ToolCallPart = { type: "tool_call", name: "tool", arguments: "{}", call_id: "" };

function touch(entry: Entry): void {
  entry.version.value += 1;
}

export function requestId(request: PendingRequest): string {
  return request.kind === "permission" ? request.data.permission_id : request.data.question_id;
}

function messageText(item: Item): string {
  return item.content.map((part) => (part.type === "text" || part.type === "reasoning" ? part.text : "")).join("");
}

/** Whether a message is reasoning. */
export function isReasoning(item: Item): boolean {
  return item.kind === "message" && item.content[0]?.type === "reasoning";
}

/** The steps of a plan: of a status item. */
export function planSteps(item: Item): readonly PlanStep[] | null {
  const part = item.content.find((part): part is Extract<ContentPart, { type: "json" }> => part.type === "json");
  const steps = (part?.json as { steps?: unknown } | null | undefined)?.steps;
  return Array.isArray(steps) ? (steps as PlanStep[]) : null;
}

function addUsage(total: Usage | null, turn: Usage): Usage {
  if (total === null) return turn;
  const sum = { ...total };
  sum.input_tokens += turn.input_tokens;
  sum.output_tokens += turn.output_tokens;
  for (const key of ["cached_input_tokens", "cache_write_tokens", "reasoning_tokens", "cost_usd"] as const) {
    if (turn[key] != null) sum[key] = (total[key] ?? 0) + turn[key];
  }
  return sum;
}
