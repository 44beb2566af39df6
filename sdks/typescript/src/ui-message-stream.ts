import type {
  ContentPart,
  Item,
  Permission,
  Question,
  TurnEnded,
  UniversalEvent,
  Usage,
} from "./generated/types.js";
import type { Turn } from "./turn.js";

/** Version of the protocol, which the front end checks. */
const PROTOCOL_HEADER = "x-vercel-ai-ui-message-stream";

/** One chunk of the AI SDK's UI message stream, as far as a turn needs them. Tools are dynamic: the agent has its own. */
export type UIMessageChunk =
  | { type: "start"; messageId: string }
  | { type: "start-step" }
  | { type: "text-start" | "text-end" | "reasoning-start" | "reasoning-end"; id: string }
  | { type: "text-delta" | "reasoning-delta"; id: string; delta: string }
  | { type: "tool-input-start"; toolCallId: string; toolName: string; dynamic: true; title?: string }
  | { type: "tool-input-available"; toolCallId: string; toolName: string; input: unknown; dynamic: true; title?: string }
  | { type: "tool-output-available"; toolCallId: string; output: unknown; dynamic: true }
  | { type: "tool-output-error"; toolCallId: string; errorText: string; dynamic: true }
  | { type: "file"; url: string; mediaType: string }
  | { type: "data-permission"; id: string; data: Permission }
  | { type: "data-question"; id: string; data: Question }
  | { type: "data-status"; id: string; data: { label: string; detail: string | null; data: unknown } }
  | { type: "error"; errorText: string }
  | { type: "abort" }
  | { type: "finish-step" }
  | { type: "finish"; finishReason: FinishReason; messageMetadata: UIMessageMetadata };

/** Why a message is complete, in the words of the AI SDK. */
export type FinishReason = "stop" | "length" | "content-filter" | "error" | "other";

/** The metadata of a message that a turn has made. */
export interface UIMessageMetadata {
  turnId: string;
  status: string;
  usage: Usage | null;
}

/**
 * Answers a `useChat` front end of the AI SDK with a turn: its UI message stream as server-sent events, with the header
 * `x-vercel-ai-ui-message-stream: v1`.
 */
export function toUIMessageStream(turn: Turn, init: ResponseInit = {}): Response {
  const encoder = new TextEncoder();
  const chunks = toUIMessageChunks(turn);
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { done, value } = await chunks.next();
      controller.enqueue(encoder.encode(done === true ? "data: [DONE]\n\n" : `data: ${JSON.stringify(value)}\n\n`));
      if (done === true) controller.close();
    },
    async cancel() {
      await chunks.return();
    },
  });
  const headers = new Headers(init.headers);
  headers.set("content-type", "text/event-stream");
  headers.set("cache-control", "no-cache");
  headers.set("x-accel-buffering", "no");
  headers.set(PROTOCOL_HEADER, "v1");
  return new Response(body, { ...init, headers });
}

/** The chunks of a turn. An error of the connection is an `error` chunk. */
export async function* toUIMessageChunks(turn: Turn): AsyncGenerator<UIMessageChunk, void, void> {
  const writer = new ChunkWriter();
  yield { type: "start", messageId: turn.messageId };
  yield { type: "start-step" };
  try {
    for await (const event of turn) yield* writer.push(event);
  } catch (error) {
    yield { type: "error", errorText: error instanceof Error ? error.message : String(error) };
  }
}

class ChunkWriter {
  /** Open messages: whether they are reasoning. */
  readonly #open = new Map<string, "text" | "reasoning">();
  /** Items of sub-agents, and tool calls, whose children are such items. */
  readonly #calls = new Set<string>();
  readonly #nested = new Set<string>();
  #lastError: string | undefined;

  *push(event: UniversalEvent): Generator<UIMessageChunk> {
    switch (event.type) {
      case "item.started":
        yield* this.#start(event.data.item);
        break;
      case "item.delta": {
        const kind = this.#open.get(event.data.item_id);
        if (kind !== undefined) yield { type: `${kind}-delta`, id: event.data.item_id, delta: event.data.delta };
        break;
      }
      case "item.completed":
        yield* this.#complete(event.data.item);
        break;
      case "permission.requested":
      case "permission.resolved":
        yield { type: "data-permission", id: event.data.permission_id, data: event.data };
        break;
      case "question.requested":
      case "question.resolved":
        yield { type: "data-question", id: event.data.question_id, data: event.data };
        break;
      case "error":
        this.#lastError = event.data.message;
        break;
      case "turn.ended":
        yield* this.#finish(event.data);
        break;
      default:
        break;
    }
  }

  /** Whether the item is part of a sub-agent's work, which the tool call of the sub-agent stands for. */
  #isNested(item: Item): boolean {
    const { parent_id: parent } = item;
    if (parent !== null && (this.#calls.has(parent) || this.#nested.has(parent))) this.#nested.add(item.item_id);
    return this.#nested.has(item.item_id);
  }

  *#start(item: Item): Generator<UIMessageChunk> {
    if (item.kind === "tool_call") this.#calls.add(item.item_id);
    if (this.#isNested(item)) return;
    if (item.kind === "message" && item.role === "assistant") {
      const kind = item.content.some((part) => part.type === "reasoning") ? "reasoning" : "text";
      this.#open.set(item.item_id, kind);
      yield { type: `${kind}-start`, id: item.item_id };
    } else if (item.kind === "tool_call") {
      for (const part of item.content) {
        if (part.type !== "tool_call") continue;
        yield { type: "tool-input-start", toolCallId: part.call_id, toolName: part.name, dynamic: true, ...title(part) };
      }
    }
  }

  *#complete(item: Item): Generator<UIMessageChunk> {
    if (this.#isNested(item)) return;
    const kind = this.#open.get(item.item_id);
    if (kind !== undefined) {
      this.#open.delete(item.item_id);
      yield { type: `${kind}-end`, id: item.item_id };
    }
    if (item.role === "user") return;
    for (const part of item.content) yield* this.#part(item, part);
  }

  *#part(item: Item, part: ContentPart): Generator<UIMessageChunk> {
    switch (part.type) {
      case "tool_call":
        yield {
          type: "tool-input-available",
          toolCallId: part.call_id,
          toolName: part.name,
          input: parseArguments(part.arguments),
          dynamic: true,
          ...title(part),
        };
        break;
      case "tool_result":
        yield item.status === "failed"
          ? { type: "tool-output-error", toolCallId: part.call_id, errorText: part.output || "failed", dynamic: true }
          : { type: "tool-output-available", toolCallId: part.call_id, output: part.output, dynamic: true };
        break;
      case "image":
        // A path on the server's machine is of no use to a browser.
        if (/^(data|https?):/.test(part.path)) {
          yield { type: "file", url: part.path, mediaType: part.mime ?? "image/*" };
        }
        break;
      case "status": {
        const json = item.content.find((other) => other.type === "json");
        const data = json?.type === "json" ? json.json : null;
        yield { type: "data-status", id: item.item_id, data: { label: part.label, detail: part.detail, data } };
        break;
      }
      default:
        break;
    }
  }

  *#finish(end: TurnEnded): Generator<UIMessageChunk> {
    if (end.status === "interrupted") yield { type: "abort" };
    if (end.status === "failed") yield { type: "error", errorText: this.#lastError ?? "the turn failed" };
    yield { type: "finish-step" };
    const messageMetadata = { turnId: end.turn_id, status: end.status, usage: end.usage ?? null };
    yield { type: "finish", finishReason: finishReason(end), messageMetadata };
  }
}

function title(part: { title?: string | null }): { title?: string } {
  return part.title == null ? {} : { title: part.title };
}

function parseArguments(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}

function finishReason(end: TurnEnded): FinishReason {
  if (end.status === "failed") return "error";
  switch (end.metadata?.stop_reason) {
    case "end_turn":
      return "stop";
    case "max_tokens":
      return "length";
    case "refusal":
      return "content-filter";
    default:
      return end.status === "completed" ? "stop" : "other";
  }
}
