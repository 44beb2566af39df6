import { useComputed } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import type {
  ContentPart,
  FileChange,
  FileRefPart,
  Item,
  PlanStep,
  ToolCallPart,
  Usage,
} from "interlingua/client";
import { Diff, diffStat } from "./diff.tsx";
import { formatCount, formatDuration, isShownImage, sanitize } from "./format.ts";
import { Code, LongText, Markdown } from "./markdown.tsx";
import type {
  Entry,
  ErrorEntry,
  MessageEntry,
  RequestEntry,
  SessionEndEntry,
  StatusEntry,
  ToolEntry,
  TurnEndEntry,
} from "./timeline.ts";
import { isReasoning, planSteps } from "./timeline.ts";

/** What is unfolded, by the key of its entry: rows are removed when they are out of sight. */
const unfolded = new Map<string, boolean>();

function useUnfolded(key: string, initial: boolean): [boolean, () => void] {
  const [isOpen, setOpen] = useState(unfolded.get(key) ?? initial);
  const toggle = () => {
    unfolded.set(key, !isOpen);
    setOpen(!isOpen);
  };
  return [unfolded.has(key) ? isOpen : initial, toggle];
}

/** One entry of the conversation. */
export function EntryView({ entry }: { entry: Entry }) {
  // Rendered again when the entry changes, and only then.
  const version = useComputed(() => entry.version.value);
  void version.value;
  switch (entry.kind) {
    case "message":
      return <MessageView entry={entry} />;
    case "tool":
      return <ToolView entry={entry} />;
    case "status":
      return <StatusView entry={entry} />;
    case "request":
      return <RequestView entry={entry} />;
    case "error":
      return <ErrorView entry={entry} />;
    case "turn-end":
      return <TurnEndView entry={entry} />;
    case "session-end":
      return <SessionEndView entry={entry} />;
    case "unparsed":
      return (
        <p class="note-line">
          Not understood: <span dir="auto">{sanitize(entry.reason)}</span>
        </p>
      );
  }
}

function MessageView({ entry }: { entry: MessageEntry }) {
  const { item, text, isOpen } = entry;
  if (isReasoning(item)) return <Reasoning entry={entry} />;
  const isUser = item.role === "user";
  const others = item.content.filter((part) => part.type !== "text" && part.type !== "reasoning");
  const author = isUser ? (entry.parent === null ? "You" : "Task") : item.role === "assistant" ? "Agent" : (item.role ?? "Agent");
  return (
    <article class={`message ${isUser ? "user" : item.role === "assistant" ? "agent" : "other"}`} aria-label={`${author} says`}>
      <h3 class="author">{sanitize(author)}</h3>
      {isUser ? <LongText text={sanitize(text)} /> : <Markdown text={text} />}
      {isOpen && <span class="cursor" aria-label="The agent is writing" />}
      {others.map((part, index) => (
        <Part key={index} part={part} />
      ))}
      {!isOpen && item.status === "failed" && <p class="note-line warn">The message was cut off.</p>}
    </article>
  );
}

function Reasoning({ entry }: { entry: MessageEntry }) {
  const { text, isOpen } = entry;
  const [isUnfolded, toggle] = useUnfolded(entry.key, false);
  if (text === "" && !isOpen) return <p class="note-line">Reasoning that the agent does not show.</p>;
  return (
    <section class="reasoning">
      <button class="fold" aria-expanded={isUnfolded} onClick={toggle}>
        <Chevron isOpen={isUnfolded} />
        <span>{isOpen ? "Thinking" : "Thought"}</span>
        {!isUnfolded && (
          <span class="preview" dir="auto">
            {sanitize(isOpen ? text.slice(-160) : text.slice(0, 160))}
          </span>
        )}
      </button>
      {isUnfolded && <Markdown text={text} />}
    </section>
  );
}

const KIND_NAMES: Record<string, string> = {
  command: "Run",
  file_change: "Edit",
  file_read: "Read",
  search: "Search",
  mcp: "MCP",
  web: "Web",
  sub_agent: "Agent",
  plan: "Plan",
  question: "Ask",
};

function ToolView({ entry }: { entry: ToolEntry }) {
  const { call, resultItem, result, isOpen } = entry;
  const diffs = fileRefs(resultItem).filter((part) => part.diff != null);
  const stat = diffStat(diffs.map((part) => part.diff).join("\n"));
  const lines = stat.added + stat.removed;
  const isSubAgent = call.tool_kind === "sub_agent";
  const [isUnfolded, toggle] = useUnfolded(entry.key, (lines > 0 && lines <= 60) || (isSubAgent && isOpen));
  const isFailed = resultItem?.status === "failed" && !isOpen;
  const kind = KIND_NAMES[call.tool_kind ?? ""] ?? "Tool";
  const title = toolTitle(call, kind);
  return (
    <section class={`tool ${isFailed ? "failed" : ""} ${isOpen ? "open" : ""}`}>
      <button class="fold" aria-expanded={isUnfolded} onClick={toggle}>
        <Chevron isOpen={isUnfolded} />
        <span class={`kind kind-${call.tool_kind ?? "other"}`}>{kind}</span>
        <span class="tool-title" dir="auto" title={sanitize(call.title ?? call.name)}>
          {title}
        </span>
        {lines > 0 && (
          <span class="stat">
            <span class="add">+{stat.added}</span> <span class="del">−{stat.removed}</span>
          </span>
        )}
        {entry.children.length > 0 && <span class="badge">{entry.children.length} steps</span>}
        {isOpen ? (
          <span class="spinner" role="status" aria-label="Running" />
        ) : result?.exit_code != null && result.exit_code !== 0 ? (
          <span class="badge bad">exit {result.exit_code}</span>
        ) : (
          isFailed && <span class="badge bad">failed</span>
        )}
        {result?.duration_ms != null && <span class="badge">{formatDuration(result.duration_ms)}</span>}
      </button>
      {isUnfolded && <ToolBody entry={entry} diffs={diffs} />}
    </section>
  );
}

/** The title without the verb that the kind says already. */
function toolTitle(call: ToolCallPart, kind: string): string {
  const title = sanitize(call.title ?? call.name);
  if (title.toLowerCase().startsWith(`${kind.toLowerCase()} `)) return title.slice(kind.length + 1);
  return title.replace(/^Sub-agent: /, "");
}

function fileRefs(item: Item | null): FileRefPart[] {
  return item?.content.filter((part): part is FileRefPart => part.type === "file_ref") ?? [];
}

function ToolBody({ entry, diffs }: { entry: ToolEntry; diffs: readonly FileRefPart[] }) {
  const { call, output, resultItem } = entry;
  const others = resultItem?.content.filter((part) => part.type !== "tool_result" && part.type !== "file_ref") ?? [];
  const repeats = diffs.some((part) => part.diff === output);
  return (
    <div class="tool-body">
      <ToolInputView call={call} hasDiff={diffs.length > 0} />
      {entry.children.length > 0 && (
        <div class="children" role="group" aria-label="What the sub-agent did">
          {entry.children.map((child) => (
            <EntryView key={child.key} entry={child} />
          ))}
        </div>
      )}
      {diffs.map((part, index) => (
        <Part key={index} part={part} />
      ))}
      {fileRefs(resultItem)
        .filter((part) => part.diff == null)
        .map((part) => (
          <p key={part.path} class="path" dir="auto">
            {part.action} {sanitize(part.path)}
          </p>
        ))}
      {output !== "" && !repeats && <LongText className="output" text={sanitize(output)} />}
      {output === "" && !entry.isOpen && diffs.length === 0 && others.length === 0 && entry.children.length === 0 && (
        <p class="note-line">No output.</p>
      )}
      {others.map((part, index) => (
        <Part key={index} part={part} />
      ))}
    </div>
  );
}

function ToolInputView({ call, hasDiff }: { call: ToolCallPart; hasDiff: boolean }) {
  const input = call.input as Record<string, unknown> | null | undefined;
  switch (call.tool_kind) {
    case "command":
      if (typeof input?.["command"] === "string") return <LongText className="command" text={sanitize(input["command"])} />;
      break;
    case "sub_agent":
      if (typeof input?.["prompt"] === "string" && call.title == null) return <LongText text={sanitize(input["prompt"])} />;
      return null;
    case "plan":
      if (Array.isArray(input?.["steps"])) return <Plan steps={input["steps"] as PlanStep[]} />;
      break;
    case "file_change":
      if (hasDiff) return null;
      if (Array.isArray(input?.["changes"])) return <Changes changes={input["changes"] as FileChange[]} />;
      break;
    case "file_read":
    case "search":
    case "web":
    case "question":
      if (call.title != null) return null;
      break;
    default:
      break;
  }
  const text = input == null ? call.arguments : JSON.stringify(input, null, 2);
  return text === "{}" || text === "" ? null : <Code text={sanitize(text)} language="json" />;
}

/** The changes of files that a tool call asks for. */
export function Changes({ changes }: { changes: readonly FileChange[] }) {
  return (
    <>
      {changes.map((change, index) => (
        <div key={index} class="file">
          <p class="path" dir="auto">
            {change.change ?? "change"} {sanitize(change.path)} {change.to != null && `→ ${sanitize(change.to)}`}
          </p>
          {change.diff != null && <Diff text={change.diff} />}
          {change.edits?.map((edit, position) => (
            <Diff key={position} text={`${prefix(edit.old, "-")}${prefix(edit.new, "+")}`} />
          ))}
        </div>
      ))}
    </>
  );
}

function prefix(text: string, mark: string): string {
  return text === "" ? "" : text.replace(/\n$/, "").split("\n").map((line) => `${mark}${line}\n`).join("");
}

/** A part of an item that is not its text. */
function Part({ part }: { part: ContentPart }): ComponentChildren {
  switch (part.type) {
    case "file_ref": {
      const file = part as FileRefPart;
      return (
        <div class="file">
          <p class="path" dir="auto">
            {sanitize(file.path)}
          </p>
          {file.diff != null && <Diff text={file.diff} />}
        </div>
      );
    }
    case "image": {
      const path = (part as { path: string }).path;
      if (isShownImage(path)) return <img class="image" src={path} alt="From the session" />;
      return <p class="path">Image: {sanitize(path.startsWith("data:") ? "of a type that is not shown" : path)}</p>;
    }
    case "json":
      return <Code text={sanitize(JSON.stringify((part as { json: unknown }).json, null, 2))} language="json" />;
    case "text":
    case "reasoning":
      return <LongText text={sanitize((part as { text: string }).text)} />;
    case "status":
      return <p class="note-line">{sanitize((part as { detail?: string | null }).detail ?? "")}</p>;
    case "tool_call":
    case "tool_result":
      return null;
    default:
      return <p class="note-line">Content of an unknown type.</p>;
  }
}

export function Plan({ steps }: { steps: readonly PlanStep[] }) {
  return (
    <ul class="plan">
      {steps.map((step, index) => (
        <li key={index} class={`step-${step.status}`}>
          <span class="mark" role="img" aria-label={step.status.replace("_", " ")} />
          <span dir="auto">{sanitize(step.content)}</span>
        </li>
      ))}
    </ul>
  );
}

function StatusView({ entry }: { entry: StatusEntry }) {
  const part = entry.item.content.find((part) => part.type === "status") as
    | { label: string; detail?: string | null }
    | undefined;
  const steps = planSteps(entry.item);
  if (steps !== null) {
    const done = steps.filter((step) => step.status === "completed").length;
    return (
      <section class="card plan-card">
        <h3>
          Plan <span class="badge">{`${done} of ${steps.length}`}</span>
        </h3>
        <Plan steps={steps} />
      </section>
    );
  }
  return (
    <p class={`note-line status-${part?.label ?? "status"}`}>
      <strong>{sanitize((part?.label ?? "status").replaceAll("_", " "))}</strong>{" "}
      <span dir="auto">{sanitize(part?.detail ?? "")}</span>
    </p>
  );
}

function RequestView({ entry }: { entry: RequestEntry }) {
  const { request } = entry;
  if (request.data.status === "requested") return null;
  if (request.kind === "permission") {
    const { action, status, metadata } = request.data;
    return (
      <p class={`note-line request ${status}`}>
        <strong>{status === "approved" ? "Allowed" : status === "denied" ? "Denied" : sanitize(status)}</strong>{" "}
        <span dir="auto">{sanitize(action)}</span>
        {metadata?.by != null && <span class="badge">by {sanitize(metadata.by)}</span>}
      </p>
    );
  }
  const { prompt, response, status } = request.data;
  return (
    <section class={`card answered ${status}`}>
      <Markdown text={prompt} />
      <p class="answer" dir="auto">
        <strong>{status === "answered" ? "Answer" : "Rejected"}</strong> {sanitize(response ?? "")}
      </p>
    </section>
  );
}

/** What a user can do about an error, by its code. */
const REMEDIES: Record<string, string> = {
  auth: "Check the agent's credentials: its key in the environment of the server, or in the session's `env`.",
  rate_limited: "Wait, then send the message again.",
  overloaded: "The provider is overloaded. Send the message again later.",
  invalid_request: "The provider refused the request. Look at the model and the message.",
  context_overflow: "The conversation is too long for the model. Begin a new session.",
  connection: "The agent cannot reach its provider. Check the network of the server.",
  limit: "A limit of the agent was reached. Send a message to go on.",
  agent_error: "Look at the event's details. The next message starts the agent again.",
};

/** The sentence of an error. Some agents pass the provider's whole answer on, as JSON. */
function errorSentence(message: string): string {
  if (!message.startsWith("{")) return message;
  try {
    const { error } = JSON.parse(message) as { error?: { message?: unknown } | null };
    return typeof error?.message === "string" ? error.message : message;
  } catch {
    return message;
  }
}

function ErrorView({ entry }: { entry: ErrorEntry }) {
  const { code } = entry.error;
  const message = errorSentence(entry.error.message);
  const remedy = REMEDIES[code ?? ""];
  return (
    <section class="card error" role="alert">
      <h3>
        Error {code != null && <span class="badge bad">{sanitize(code)}</span>}
      </h3>
      <LongText text={sanitize(message)} />
      {remedy !== undefined && <p class="remedy">{remedy}</p>}
    </section>
  );
}

function TurnEndView({ entry }: { entry: TurnEndEntry }) {
  const { status, duration_ms: duration, usage } = entry.turn;
  return (
    <p class={`turn-end ${status}`}>
      <span>{status === "completed" ? "Done" : status === "failed" ? "Failed" : status === "interrupted" ? "Interrupted" : sanitize(status)}</span>
      {duration > 0 && <span>{formatDuration(duration)}</span>}
      {usage != null && <UsageView usage={usage} />}
    </p>
  );
}

export function UsageView({ usage }: { usage: Usage }) {
  return (
    <>
      <span title="Input tokens, cached included">{formatCount(usage.input_tokens)} in</span>
      <span title="Output tokens, reasoning included">{formatCount(usage.output_tokens)} out</span>
      {usage.cost_usd != null && <span title="Cost in US dollars">${usage.cost_usd.toFixed(4)}</span>}
    </>
  );
}

function SessionEndView({ entry }: { entry: SessionEndEntry }) {
  const { reason, message, exit_code: exitCode, stderr } = entry.end;
  const isError = reason === "error";
  return (
    <section class={`card session-end ${isError ? "error" : ""}`}>
      <h3>
        {isError ? "The session ended with an error" : reason === "terminated" ? "The session was terminated" : "The session ended"}
        {exitCode != null && <span class="badge bad">exit code {exitCode}</span>}
      </h3>
      {message != null && <LongText text={sanitize(message)} />}
      {stderr != null && <LongText className="output" text={sanitize([stderr.head, stderr.tail].filter((part) => part != null).join("\n…\n"))} />}
    </section>
  );
}

export function Chevron({ isOpen }: { isOpen: boolean }) {
  return (
    <svg class={`chevron ${isOpen ? "turned" : ""}`} viewBox="0 0 12 12" width="12" height="12" aria-hidden="true">
      <path d="M4 2.5 7.5 6 4 9.5" fill="none" stroke="currentColor" stroke-width="1.6" stroke-linecap="round" stroke-linejoin="round" />
    </svg>
  );
}
