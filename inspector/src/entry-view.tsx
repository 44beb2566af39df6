import { agentName } from "./agents.ts";
import { ErrorBoundary } from "./error-boundary.tsx";
import { formatTime, sanitize } from "./format.ts";
import { LongText, Markdown } from "./markdown.tsx";
import { ErrorView, RequestView, SessionEndView, StatusView, TurnEndView } from "./notes.tsx";
import { Chevron, Part } from "./parts.tsx";
import { sessionPath } from "./router.ts";
import { current, useSession, useUnfolded } from "./session-context.ts";
import { type Entry, isReasoning, type MessageEntry } from "./entry.ts";
import { ToolView } from "./tool.tsx";

/** Characters of reasoning that are shown without unfolding it. */
const MAX_PREVIEW_CHARACTERS = 160;

/** An entry of the conversation with the link to its event. */
export function EntryRow({ entry }: { entry: Entry }) {
  const { id } = useSession();
  const { sequence, time } = current(entry);
  if (entry.kind === "request" && entry.request.data.status === "requested") return null;
  return (
    <div class="entry">
      <ErrorBoundary what={`event ${sequence}`} attempt={entry.version.value}>
        <EntryView entry={entry} />
      </ErrorBoundary>
      <a
        class="entry-link"
        href={sessionPath(id, sequence, { tab: "events" })}
        title={new Date(time).toLocaleString("en")}
        aria-label={`Event ${sequence}, ${formatTime(time)}`}
      >
        #{sequence}
      </a>
    </div>
  );
}

function EntryView({ entry }: { entry: Entry }) {
  const shown = current(entry);
  switch (shown.kind) {
    case "message":
      return <MessageView entry={shown} />;
    case "tool":
      return <ToolView entry={shown} />;
    case "status":
      return <StatusView entry={shown} />;
    case "request":
      return <RequestView entry={shown} />;
    case "error":
      return <ErrorView entry={shown} />;
    case "turn-end":
      return <TurnEndView entry={shown} />;
    case "session-end":
      return <SessionEndView entry={shown} />;
    case "unparsed":
      return (
        <p class="note-line">
          <strong class="bad">not understood</strong> <span dir="auto">{sanitize(shown.reason)}</span>
        </p>
      );
  }
}

/** Who wrote what follows. */
export function AuthorLine({ entry }: { entry: Entry }) {
  const agent = useSession().info.value?.agent ?? "";
  return (
    <p class="author">
      <strong>{sanitize(agentName(agent))}</strong> <time dateTime={entry.time}>{formatTime(entry.time)}</time>
    </p>
  );
}

function MessageView({ entry }: { entry: MessageEntry }) {
  const { item, text, isOpen, isPartial, parent } = current(entry);
  if (isReasoning(item)) return <Reasoning entry={entry} />;
  const isUser = item.role === "user";
  const others = item.content.filter((part) => part.type !== "text" && part.type !== "reasoning");
  const author = isUser ? (parent === null ? "You" : "Task") : item.role === "assistant" ? (parent === null ? null : "Sub-agent") : (item.role ?? item.kind);
  return (
    <article class={`message ${isUser ? "user" : item.role === "assistant" ? "agent" : "other"}`} aria-label={`${author ?? "The agent"} says`}>
      {author !== null && (
        <p class="author">
          <strong>{sanitize(author)}</strong> {parent === null && <time dateTime={entry.time}>{formatTime(entry.time)}</time>}
        </p>
      )}
      {isPartial && <p class="note-line">The beginning of this text is being read…</p>}
      {isUser || item.kind === "tool_result" ? <LongText text={sanitize(text)} /> : <Markdown text={text} />}
      {isOpen && <span class="cursor" role="img" aria-label="The agent is writing" />}
      {others.map((part, index) => (
        <Part key={index} part={part} />
      ))}
      {!isOpen && item.status === "failed" && <p class="note-line warn">The message was cut off.</p>}
    </article>
  );
}

function Reasoning({ entry }: { entry: MessageEntry }) {
  const { text, isOpen } = current(entry);
  const [isUnfolded, toggle] = useUnfolded(entry.key, false);
  if (text === "" && !isOpen) return <p class="note-line">Reasoning that the agent does not show.</p>;
  return (
    <section class="reasoning">
      <button class="fold" aria-expanded={isUnfolded} onClick={toggle}>
        <Chevron isOpen={isUnfolded} />
        <span>{isOpen ? "Thinking" : "Thought"}</span>
        {!isUnfolded && (
          <span class="preview" dir="auto">
            {sanitize(isOpen ? text.slice(-MAX_PREVIEW_CHARACTERS) : text.slice(0, MAX_PREVIEW_CHARACTERS))}
          </span>
        )}
      </button>
      {isUnfolded && <Markdown text={text} />}
    </section>
  );
}
