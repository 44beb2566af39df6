import type {
  ContentPart,
  ErrorUniversalEvent,
  Item,
  Permission,
  PlanStep,
  Question,
  SessionEnded,
  TurnStatus,
  UniversalEvent,
  Usage,
} from "./generated/types.js";

/** An item with its live text. */
export interface TranscriptItem {
  readonly id: string;
  /** The item as it is known now. While it streams, `content` is what it started with; `text` is ahead of it. */
  readonly item: Item;
  /** The text for a person: the deltas so far, then the final text. Output of a tool result, title of a tool call. */
  readonly text: string;
  /** The turn in which the item started; null between two turns. */
  readonly turnId: string | null;
  /** Sequence and time of the first and of the last event of the item. */
  readonly firstSequence: number;
  readonly lastSequence: number;
  readonly startedAt: string;
  readonly updatedAt: string;
}

/** A request of the agent without an answer. */
export type TranscriptRequest =
  | { readonly kind: "permission"; readonly id: string; readonly sequence: number; readonly request: Permission }
  | { readonly kind: "question"; readonly id: string; readonly sequence: number; readonly request: Question };

/** A turn of the transcript. */
export interface TranscriptTurn {
  readonly id: string;
  readonly status: "running" | TurnStatus;
  /** Ids of the messages that the turn handles. */
  readonly messageIds: readonly string[];
  readonly usage: Usage | null;
  readonly durationMs: number | null;
  readonly startedAt: string;
}

/** What a user interface shows of a session. Values are never changed: `reduce` returns new ones. */
export interface TranscriptState {
  readonly sessionId: string | null;
  readonly agent: string | null;
  readonly model: string | null;
  readonly status: "idle" | "running" | "waiting" | "ended";
  /** All items, in the order in which they started. */
  readonly items: readonly TranscriptItem[];
  readonly turns: readonly TranscriptTurn[];
  readonly pending: readonly TranscriptRequest[];
  /** The agent's latest plan. */
  readonly plan: readonly PlanStep[] | null;
  /** Total of all turns that have ended. */
  readonly usage: Usage;
  readonly errors: readonly ErrorUniversalEvent[];
  /** Why the session ended; null while it lives. */
  readonly end: SessionEnded | null;
  /** The last sequence that is part of this state. Events up to it are ignored. */
  readonly lastSequence: number;
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] };
type MutableState = {
  -readonly [K in keyof TranscriptState]: TranscriptState[K] extends readonly (infer E)[] ? E[] : TranscriptState[K];
};

/** The state before the first event. */
export const EMPTY_TRANSCRIPT: TranscriptState = {
  sessionId: null,
  agent: null,
  model: null,
  status: "idle",
  items: [],
  turns: [],
  pending: [],
  plan: null,
  usage: { input_tokens: 0, output_tokens: 0 },
  errors: [],
  end: null,
  lastSequence: 0,
};

/** The state after one more event. For several events at once, `fold` is faster. */
export function reduce(state: TranscriptState, event: UniversalEvent): TranscriptState {
  return fold([event], state);
}

/** The state after these events, which continue `initial`. */
export function fold(events: Iterable<UniversalEvent>, initial: TranscriptState = EMPTY_TRANSCRIPT): TranscriptState {
  const state: MutableState = {
    ...initial,
    items: [...initial.items],
    turns: [...initial.turns],
    pending: [...initial.pending],
    errors: [...initial.errors],
  };
  let changed = false;
  for (const event of events) {
    if (event.sequence <= state.lastSequence) continue;
    state.lastSequence = event.sequence;
    state.sessionId = event.session_id;
    apply(state, event);
    changed = true;
  }
  return changed ? state : initial;
}

function apply(state: MutableState, event: UniversalEvent): void {
  switch (event.type) {
    case "session.started":
      state.agent = event.data.metadata?.agent ?? state.agent;
      state.model = event.data.metadata?.model ?? state.model;
      break;
    case "session.ended":
      state.end = event.data;
      state.pending = [];
      state.status = "ended";
      return;
    case "turn.started": {
      state.model = event.data.metadata?.model ?? state.model;
      state.turns.push({
        id: event.data.turn_id,
        status: "running",
        messageIds: event.data.metadata?.message_ids ?? [],
        usage: null,
        durationMs: null,
        startedAt: event.time,
      });
      break;
    }
    case "turn.ended": {
      const { status, usage, duration_ms } = event.data;
      const index = state.turns.length - 1;
      const turn = state.turns[index];
      if (turn?.status === "running") {
        state.turns[index] = { ...turn, status, usage: usage ?? null, durationMs: duration_ms };
      }
      if (usage != null) state.usage = addUsage(state.usage, usage);
      break;
    }
    case "item.started":
    case "item.completed":
      putItem(state, event.data.item, event);
      break;
    case "item.delta": {
      const index = findItem(state, event.data.item_id);
      const known = state.items[index];
      if (known !== undefined) {
        state.items[index] = {
          ...known,
          text: known.text + event.data.delta,
          lastSequence: event.sequence,
          updatedAt: event.time,
        };
      }
      break;
    }
    case "permission.requested": {
      const { permission_id: id } = event.data;
      state.pending.push({ kind: "permission", id, sequence: event.sequence, request: event.data });
      break;
    }
    case "question.requested": {
      const { question_id: id } = event.data;
      state.pending.push({ kind: "question", id, sequence: event.sequence, request: event.data });
      break;
    }
    case "permission.resolved":
      removePending(state, "permission", event.data.permission_id);
      break;
    case "question.resolved":
      removePending(state, "question", event.data.question_id);
      break;
    case "error":
      state.errors.push(event);
      break;
    default:
      // `agent.unparsed`, and what a newer server may send, changes nothing that is shown.
      break;
  }
  const running = state.turns.at(-1)?.status === "running";
  state.status = state.pending.length > 0 ? "waiting" : running ? "running" : "idle";
}

function putItem(state: MutableState, item: Item, event: UniversalEvent): void {
  const index = findItem(state, item.item_id);
  const known = state.items[index];
  const turn = state.turns.at(-1);
  const entry: Mutable<TranscriptItem> = {
    id: item.item_id,
    item,
    text: event.type === "item.started" ? "" : itemText(item),
    turnId: known === undefined ? (turn?.status === "running" ? turn.id : null) : known.turnId,
    firstSequence: known?.firstSequence ?? event.sequence,
    lastSequence: event.sequence,
    startedAt: known?.startedAt ?? event.time,
    updatedAt: event.time,
  };
  if (event.type === "item.started" && item.kind !== "message") entry.text = itemText(item);
  if (known === undefined) state.items.push(entry);
  else state.items[index] = entry;
  const plan = planSteps(item);
  if (plan !== null) state.plan = plan;
}

/** Index of an item, or -1. The items that still change are near the end. */
function findItem(state: MutableState, id: string): number {
  for (let index = state.items.length - 1; index >= 0; index -= 1) {
    if (state.items[index]?.id === id) return index;
  }
  return -1;
}

function removePending(state: MutableState, kind: TranscriptRequest["kind"], id: string): void {
  state.pending = state.pending.filter((request) => request.kind !== kind || request.id !== id);
}

/** The text of an item for a person. */
export function itemText(item: Item): string {
  return item.content.map(partText).filter((text) => text !== "").join(item.kind === "message" ? "" : "\n");
}

function partText(part: ContentPart): string {
  switch (part.type) {
    case "text":
    case "reasoning":
      return part.text;
    case "tool_call":
      return part.title ?? part.name;
    case "tool_result":
      return part.output;
    case "status":
      return part.detail ?? part.label;
    default:
      return "";
  }
}

/** The steps of a status item `plan`. */
function planSteps(item: Item): readonly PlanStep[] | null {
  if (item.kind !== "status" || !item.content.some((part) => part.type === "status" && part.label === "plan")) return null;
  const part = item.content.find((part) => part.type === "json");
  const steps = part?.type === "json" ? (part.json as { steps?: unknown } | null)?.steps : undefined;
  return Array.isArray(steps) ? (steps as PlanStep[]) : null;
}

/** Costs are decimal: sums are rounded to 1e-9 US dollars. */
const COST_SCALE = 1e9;

function addUsage(total: Usage, turn: Usage): Usage {
  const sum: Mutable<Usage> = {
    input_tokens: total.input_tokens + turn.input_tokens,
    output_tokens: total.output_tokens + turn.output_tokens,
  };
  for (const key of ["cached_input_tokens", "cache_write_tokens", "reasoning_tokens", "cost_usd"] as const) {
    if (total[key] != null || turn[key] != null) sum[key] = (total[key] ?? 0) + (turn[key] ?? 0);
  }
  if (sum.cost_usd != null) sum.cost_usd = Math.round(sum.cost_usd * COST_SCALE) / COST_SCALE;
  return sum;
}
