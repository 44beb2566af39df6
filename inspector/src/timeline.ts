import { signal } from "@preact/signals";
import type { Item, ToolCallPart, UniversalEvent } from "interlingua/client";
import {
  type Entry,
  type EntryBase,
  findPart,
  type MessageEntry,
  messageText,
  planSteps,
  type RequestEntry,
  type StatusEntry,
  type ToolEntry,
  unknownItem,
} from "./entry.ts";

type ItemEntry = MessageEntry | ToolEntry | StatusEntry;

/** The end of a text whose item began in an earlier page. */
interface PartialText {
  readonly entry: MessageEntry;
  /** What earlier pages have added in front. */
  front: string;
}

/**
 * The entries of consecutive events of a session. Events are added at the end, as they happen, and in front, page by page,
 * when the user scrolls up; both ends can be removed again, so that a long session needs little memory. An item that begins
 * in an earlier page than it ends is put together when the earlier page comes.
 */
export class Timeline {
  /** Entries of the session itself, in order. */
  roots: Entry[] = [];
  /** Changes when `roots` changes. */
  readonly version = signal(0);
  /** The entry with the current plan. */
  readonly planKey = signal<string | null>(null);
  firstSequence = 0;
  lastSequence = 0;

  readonly #items = new Map<string, ItemEntry>();
  readonly #calls = new Map<string, ToolEntry>();
  /** Results whose call is in an earlier page. */
  readonly #orphanResults = new Map<string, MessageEntry>();
  /** Entries whose parent is in an earlier page, with the id of the parent. */
  readonly #missingParents = new Map<Entry, string>();
  /** Texts whose item began in an earlier page. */
  readonly #partialTexts = new Map<string, PartialText>();
  readonly #requests = new Map<string, RequestEntry>();
  /** Whether events are being added in front. */
  #isPrepending = false;
  #isChanged = false;

  /** The tool call with this id, if it is loaded. */
  call(id: string): ToolEntry | undefined {
    return this.#calls.get(id);
  }

  /** Whether the beginning of a text is in an earlier page. */
  get hasPartialText(): boolean {
    return this.#partialTexts.size > 0;
  }

  /** Adds events that follow the last one. */
  append(events: readonly UniversalEvent[]): void {
    const fresh = events.filter((event) => event.sequence > this.lastSequence);
    if (fresh.length === 0) return;
    if (this.firstSequence === 0) this.firstSequence = (fresh[0] as UniversalEvent).sequence;
    for (const event of fresh) this.#apply(event);
    this.lastSequence = (fresh.at(-1) as UniversalEvent).sequence;
    this.#publish();
  }

  /** Adds events that come directly before the first one. */
  prepend(events: readonly UniversalEvent[]): void {
    const older = events.filter((event) => event.sequence < this.firstSequence);
    if (older.length === 0) return;
    this.#isPrepending = true;
    for (const event of older) this.#apply(event);
    this.#joinPartialTexts();
    this.#isPrepending = false;
    this.firstSequence = (older[0] as UniversalEvent).sequence;
    this.roots = sorted(this.roots);
    this.#addPlansToCalls();
    for (const call of this.#calls.values()) if (!isSorted(call.children)) call.children = sorted(call.children);
    this.#isChanged = true;
    this.#publish();
  }

  /** Removes what ended before a sequence. */
  removeBefore(sequence: number): void {
    if (sequence <= this.firstSequence) return;
    this.#remove((entry) => entry.last < sequence);
    this.firstSequence = Math.min(sequence, this.lastSequence);
  }

  /** Removes what began after a sequence. */
  removeAfter(sequence: number): void {
    if (sequence >= this.lastSequence) return;
    this.#remove((entry) => entry.sequence > sequence);
    this.lastSequence = Math.max(sequence, this.firstSequence);
  }

  /** Removes everything. */
  clear(): void {
    this.#remove(() => true);
    this.firstSequence = 0;
    this.lastSequence = 0;
  }

  #publish(): void {
    if (!this.#isChanged) return;
    this.#isChanged = false;
    this.version.value += 1;
  }

  #apply(event: UniversalEvent): void {
    switch (event.type) {
      case "session.ended":
        this.#addRoot({ ...this.#base(event), kind: "session-end", end: event.data });
        break;
      case "turn.ended":
        this.#addRoot({ ...this.#base(event), kind: "turn-end", turn: event.data });
        break;
      case "item.started":
        this.#putItem(event, event.data.item, true);
        break;
      case "item.completed":
        this.#putItem(event, event.data.item, false);
        break;
      case "item.delta":
        this.#addDelta(event, event.data.item_id, event.data.delta);
        break;
      case "permission.requested":
      case "permission.resolved":
        this.#putRequest(event, event.data.permission_id, { kind: "permission", data: event.data });
        break;
      case "question.requested":
      case "question.resolved":
        this.#putRequest(event, event.data.question_id, { kind: "question", data: event.data });
        break;
      case "error":
        this.#addRoot({ ...this.#base(event), kind: "error", error: event.data });
        break;
      case "agent.unparsed":
        this.#addRoot({ ...this.#base(event), kind: "unparsed", reason: (event.data as { error: string }).error });
        break;
      default:
        break;
    }
  }

  #base({ sequence, time }: UniversalEvent, key = `e${sequence}`): EntryBase {
    return { key, sequence, last: sequence, time, version: signal(0), parent: null };
  }

  #addRoot(entry: Entry): void {
    this.roots.push(entry);
    this.#isChanged = true;
  }

  #removeRoot(entry: Entry): void {
    this.roots = this.roots.filter((root) => root !== entry);
    this.#isChanged = true;
  }

  /** Puts a new entry below the tool call that started its sub-agent, or beside the message that it belongs to. */
  #place(entry: Entry, parentId: string | null | undefined): void {
    if (parentId == null) {
      this.#addRoot(entry);
      return;
    }
    const parent = this.#items.get(parentId);
    if (parent?.kind === "tool") this.#addChild(parent, entry);
    else if (parent !== undefined) this.#placeBeside(entry, parent);
    else this.#addOrphan(entry, parentId);
  }

  /** Puts a new entry where another one is, now or when its parent comes. */
  #placeBeside(entry: Entry, other: Entry | undefined): void {
    const missing = other === undefined ? undefined : this.#missingParents.get(other);
    if (other?.parent != null) this.#addChild(other.parent, entry);
    else if (missing !== undefined) this.#addOrphan(entry, missing);
    else this.#addRoot(entry);
  }

  #addOrphan(entry: Entry, parentId: string): void {
    this.#missingParents.set(entry, parentId);
    this.#addRoot(entry);
  }

  #addChild(container: ToolEntry, entry: Entry): void {
    entry.parent = container;
    container.children.push(entry);
    touch(container, entry.last);
  }

  #putItem(event: UniversalEvent, item: Item, isOpen: boolean): void {
    if (item.kind === "tool_result") {
      this.#putResult(event, item, isOpen);
      return;
    }
    const known = this.#items.get(item.item_id);
    if (known !== undefined) {
      // The start of an item whose end is known already adds nothing.
      if (!isOpen && event.sequence >= known.last) this.#updateItem(known, item, event.sequence);
      return;
    }
    if (!isOpen) this.#dropPartialText(item.item_id);
    const base = this.#base(event, item.item_id);
    let entry: ItemEntry;
    if (item.kind === "tool_call") {
      const call = findPart(item, "tool_call") ?? EMPTY_CALL;
      entry = { ...base, kind: "tool", item, call, result: null, resultItem: null, output: "", isOpen: true, children: [], plan: null };
      this.#adoptCall(entry);
    } else if (item.kind === "status") {
      if (!this.#isPrepending && this.#addPlan(item, event.sequence, this.roots.at(-1))) return;
      entry = { ...base, kind: "status", item };
    } else {
      entry = { ...base, kind: "message", item, text: isOpen ? "" : messageText(item), isOpen, isPartial: false };
    }
    this.#items.set(item.item_id, entry);
    this.#place(entry, item.parent_id);
    if (entry.kind === "tool") this.#adoptChildren(entry);
    this.#joinOrphans(entry, entry.kind === "tool" ? callKey(entry.call.call_id) : entry.key);
    this.#observePlan(entry);
  }

  #updateItem(entry: ItemEntry, item: Item, sequence: number): void {
    if (entry.kind === "tool" && item.kind !== "tool_call") {
      entry.plan = planSteps(item) ?? entry.plan;
      touch(entry, sequence);
      return;
    }
    entry.item = item;
    this.#observePlan(entry);
    if (entry.kind === "message") {
      entry.isOpen = false;
      entry.text = item.kind === "tool_result" ? entry.text : messageText(item);
    } else if (entry.kind === "tool") {
      entry.call = findPart(item, "tool_call") ?? entry.call;
      this.#adoptCall(entry);
    }
    touch(entry, sequence);
  }

  /** Adds the plan of a status item to the call before it that has changed the plan. */
  #addPlan(item: Item, sequence: number, previous: Entry | undefined): boolean {
    const steps = planSteps(item);
    if (steps === null || previous?.kind !== "tool" || previous.call.tool_kind !== "plan" || previous.plan !== null) return false;
    previous.plan = steps;
    this.#items.set(item.item_id, previous);
    touch(previous, sequence);
    this.#observePlan(previous);
    return true;
  }

  /** Does the same for the entries of a page that was added in front. */
  #addPlansToCalls(): void {
    this.roots = this.roots.filter(
      (entry, index) => entry.kind !== "status" || !this.#addPlan(entry.item, entry.last, this.roots[index - 1]),
    );
  }

  #observePlan(entry: Entry): void {
    if (this.#isPrepending || entry.parent !== null) return;
    const hasPlan = entry.kind === "status" ? planSteps(entry.item) !== null : entry.kind === "tool" && entry.plan !== null;
    if (hasPlan) this.planKey.value = entry.key;
  }

  /** Finds the result of a call, if a later page has it. */
  #adoptCall(entry: ToolEntry): void {
    const id = entry.call.call_id;
    if (id === "") return;
    this.#calls.set(id, entry);
    const orphan = this.#orphanResults.get(id);
    if (orphan === undefined) return;
    this.#orphanResults.delete(id);
    this.#items.set(orphan.item.item_id, entry);
    this.#setResult(entry, orphan.item, orphan.isOpen, orphan.last);
    if (orphan.isOpen) entry.output = orphan.text;
    this.#removeRoot(orphan);
  }

  /** Moves what the sub-agent of a call did below it, if a later page has it. */
  #adoptChildren(entry: ToolEntry): void {
    for (const [orphan, parentId] of this.#missingParents) {
      if (parentId !== entry.item.item_id) continue;
      this.#missingParents.delete(orphan);
      this.#removeRoot(orphan);
      this.#addChild(entry, orphan);
    }
  }

  /** Moves what belongs beside a message or a call to where that turns out to be. */
  #joinOrphans(entry: Entry, key: string): void {
    for (const [orphan, parentId] of this.#missingParents) {
      if (parentId !== key) continue;
      this.#missingParents.delete(orphan);
      this.#removeRoot(orphan);
      this.#placeBeside(orphan, entry);
    }
  }

  #putResult(event: UniversalEvent, item: Item, isOpen: boolean): void {
    const part = findPart(item, "tool_result");
    const call = part === undefined ? undefined : this.#calls.get(part.call_id);
    if (!isOpen) this.#dropPartialText(item.item_id);
    if (call !== undefined) {
      this.#items.set(item.item_id, call);
      if (call.resultItem === null || call.isOpen) this.#setResult(call, item, isOpen, event.sequence);
      return;
    }
    const known = this.#items.get(item.item_id);
    if (known?.kind === "message") {
      if (!isOpen) {
        known.text = part?.output ?? known.text;
        this.#updateItem(known, item, event.sequence);
      }
      return;
    }
    const base = this.#base(event, item.item_id);
    const entry: MessageEntry = { ...base, kind: "message", item, text: part?.output ?? "", isOpen, isPartial: false };
    this.#items.set(item.item_id, entry);
    if (part !== undefined) this.#orphanResults.set(part.call_id, entry);
    this.#addRoot(entry);
  }

  #setResult(call: ToolEntry, item: Item, isOpen: boolean, sequence: number): void {
    call.resultItem = item;
    call.result = findPart(item, "tool_result") ?? null;
    if (!isOpen || call.output === "") call.output = call.result?.output ?? "";
    call.isOpen = isOpen;
    touch(call, sequence);
  }

  #addDelta(event: UniversalEvent, itemId: string, delta: string): void {
    const entry = this.#items.get(itemId);
    if (entry === undefined) {
      this.#addPartialText(event, itemId, delta);
    } else if (event.sequence > entry.last && entry.kind !== "status" && entry.isOpen) {
      appendText(entry, delta);
      touch(entry, event.sequence);
    }
  }

  /** Adds a piece of a text whose item began in an earlier page. */
  #addPartialText(event: UniversalEvent, itemId: string, delta: string): void {
    const known = this.#partialTexts.get(itemId);
    if (known !== undefined && this.#isPrepending) {
      known.front += delta;
      known.entry.sequence = Math.min(known.entry.sequence, event.sequence);
    } else if (known !== undefined) {
      known.entry.text += delta;
      touch(known.entry, event.sequence);
    } else {
      const base = this.#base(event, `partial-${itemId}`);
      const entry: MessageEntry = { ...base, kind: "message", item: unknownItem(itemId), text: delta, isOpen: true, isPartial: true };
      this.#partialTexts.set(itemId, { entry, front: "" });
      this.#addRoot(entry);
    }
  }

  /** Forgets the end of a text, because the whole text is known. */
  #dropPartialText(itemId: string): void {
    const known = this.#partialTexts.get(itemId);
    if (known === undefined) return;
    this.#partialTexts.delete(itemId);
    this.#removeRoot(known.entry);
  }

  /** Puts the texts together whose item began in the page that was added in front. */
  #joinPartialTexts(): void {
    for (const [itemId, { entry, front }] of this.#partialTexts) {
      const item = this.#items.get(itemId);
      if (item === undefined || item.kind === "status") {
        entry.text = front + entry.text;
        (this.#partialTexts.get(itemId) as PartialText).front = "";
        touch(entry, entry.last);
        continue;
      }
      if (item.isOpen) appendText(item, entry.text);
      touch(item, entry.last);
      this.#dropPartialText(itemId);
    }
  }

  #putRequest(event: UniversalEvent, id: string, request: RequestEntry["request"]): void {
    const known = this.#requests.get(id);
    if (known !== undefined) {
      if (event.sequence <= known.last) return;
      known.request = request;
      touch(known, event.sequence);
      return;
    }
    const entry: RequestEntry = { ...this.#base(event), kind: "request", request };
    this.#requests.set(id, entry);
    const callId = request.data.metadata?.call_id;
    const call = callId == null ? undefined : this.#calls.get(callId);
    if (callId != null && call === undefined) this.#addOrphan(entry, callKey(callId));
    else this.#placeBeside(entry, call);
  }

  #remove(isRemoved: (entry: Entry) => boolean): void {
    const removed = new Set<Entry>();
    const keep = (entries: Entry[]): Entry[] => {
      const kept = entries.filter((entry) => {
        if (!isRemoved(entry)) return true;
        removed.add(entry);
        return false;
      });
      for (const entry of kept) {
        if (entry.kind !== "tool" || entry.children.length === 0) continue;
        const children = keep(entry.children);
        if (children.length === entry.children.length) continue;
        entry.children = children;
        entry.version.value += 1;
      }
      return kept.length === entries.length ? entries : kept;
    };
    this.roots = keep(this.roots);
    const isGone = (entry: Entry): boolean => removed.has(entry) || (entry.parent !== null && isGone(entry.parent));
    for (const map of [this.#items, this.#calls, this.#orphanResults, this.#requests]) {
      for (const [id, entry] of map as Map<string, Entry>) if (isGone(entry)) map.delete(id);
    }
    for (const [id, { entry }] of this.#partialTexts) if (isGone(entry)) this.#partialTexts.delete(id);
    for (const orphan of this.#missingParents.keys()) if (isGone(orphan)) this.#missingParents.delete(orphan);
    this.#isChanged = removed.size > 0;
    this.#publish();
  }
}

const EMPTY_CALL: ToolCallPart = { type: "tool_call", name: "tool", arguments: "{}", call_id: "" };

/** Marks an entry, and the calls that it is part of, as changed. */
function touch(entry: Entry, sequence: number): void {
  for (let changed: Entry | null = entry; changed !== null; changed = changed.parent) {
    changed.last = Math.max(changed.last, sequence);
    changed.version.value += 1;
  }
}

/** Stands for the call of a request where an item id stands for a parent. */
function callKey(callId: string): string {
  return `call ${callId}`;
}

function appendText(entry: MessageEntry | ToolEntry, text: string): void {
  if (entry.kind === "message") entry.text += text;
  else entry.output += text;
}

function isSorted(entries: readonly Entry[]): boolean {
  return entries.every((entry, index) => index === 0 || (entries[index - 1] as Entry).sequence <= entry.sequence);
}

function sorted(entries: readonly Entry[]): Entry[] {
  return [...entries].sort((a, b) => a.sequence - b.sequence);
}
