import type { Signal } from "@preact/signals";
import type {
  ContentPart,
  ErrorEvent,
  Item,
  Permission,
  PlanStep,
  Question,
  SessionEnded,
  ToolCallPart,
  ToolResultPart,
  TurnEnded,
} from "interlingua/client";

export interface EntryBase {
  /** Unique in the timeline. */
  readonly key: string;
  /** Sequence of the event that began the entry. */
  sequence: number;
  /** Sequence of the last event that changed the entry, or one of its children. */
  last: number;
  readonly time: string;
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
  /** Whether the start of the item is in an earlier page. Then the text lacks its beginning. */
  readonly isPartial: boolean;
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
  children: Entry[];
  /** The plan that the agent reported after a call that changes the plan. */
  plan: readonly PlanStep[] | null;
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

/** Stands for an item whose start is not known yet. */
export function unknownItem(id: string): Item {
  return { item_id: id, native_item_id: null, parent_id: null, kind: "message", role: "assistant", status: "in_progress", content: [] };
}

export function findPart<T extends ContentPart["type"]>(item: Item, type: T): Extract<ContentPart, { type: T }> | undefined {
  return item.content.find((part): part is Extract<ContentPart, { type: T }> => part.type === type);
}

export function messageText(item: Item): string {
  return item.content.map((part) => (part.type === "text" || part.type === "reasoning" ? part.text : "")).join("");
}

/** Whether a message is reasoning. */
export function isReasoning(item: Item): boolean {
  return item.kind === "message" && item.content[0]?.type === "reasoning";
}

/** The steps of a plan: of a status item. */
export function planSteps(item: Item): readonly PlanStep[] | null {
  if (findPart(item, "status")?.label !== "plan") return null;
  const steps = (findPart(item, "json")?.json as { steps?: unknown } | null | undefined)?.steps;
  return Array.isArray(steps) ? (steps as PlanStep[]) : null;
}
