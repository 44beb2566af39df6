import { useComputed } from "@preact/signals";
import { useEffect, useMemo, useState } from "preact/hooks";
import { AgentView } from "./agent-view.tsx";
import { Composer } from "./composer.tsx";
import { Conversation } from "./conversation.tsx";
import { ErrorBoundary } from "./error-boundary.tsx";
import { EventsView } from "./events.tsx";
import { isDragging } from "./drop.ts";
import { LiveSession } from "./live.ts";
import { countDone, Plan } from "./parts.tsx";
import { PendingRequests } from "./requests.tsx";
import { navigate, replacePath, type SessionPart, sessionPath } from "./router.ts";
import { SecretsForm } from "./secrets.tsx";
import { SessionContext } from "./session-context.ts";
import { SessionHeader } from "./session-header.tsx";
import { deletedSession } from "./session-list.ts";
import { announce } from "./subscription.ts";

interface Props {
  id: string;
  part: SessionPart;
  sequence: number | null;
}

/** A session: its conversation, what it waits for, and its events. */
export function SessionView({ id, part, sequence }: Props) {
  const live = useMemo(() => new LiveSession(id, part.tab === "agent" ? part.call : sequence), [id]);
  useEffect(() => () => live.close(), [live]);
  useTitle(live);

  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.key !== "Escape" || isTyping(event)) return;
      // Events leads back to the conversation, an open event to the list of events.
      if (sequence !== null) replacePath(sessionPath(id, null, part));
      else if (part.tab !== "chat") navigate(sessionPath(id));
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, [id, part, sequence]);

  if (live.phase.value === "missing" || deletedSession.value === id) return <Missing id={id} isDeleted={deletedSession.value === id} />;
  return (
    <SessionContext.Provider value={live}>
      <main class={isDragging.value ? "session over" : "session"}>
        <SessionHeader part={part} />
        <div class="panel" role="tabpanel" id="panel" aria-labelledby={`tab-${part.tab === "events" ? "events" : "chat"}`}>
          {live.phase.value === "loading" ? (
            <p class="loading" role="status">
              {live.failure.value === null ? "Loading…" : `The session cannot be read: ${live.failure.value}`}
            </p>
          ) : (
            <ErrorBoundary what="this session" attempt={`${part.tab} ${live.timeline.version.value}`}>
              {part.tab === "events" ? (
                <EventsView sequence={sequence} />
              ) : part.tab === "agent" ? (
                <AgentView call={part.call} />
              ) : (
                <Conversation target={sequence} />
              )}
            </ErrorBoundary>
          )}
        </div>
        {part.tab === "chat" && live.phase.value === "ready" && <Dock live={live} />}
      </main>
    </SessionContext.Provider>
  );
}

function Missing({ id, isDeleted }: { id: string; isDeleted: boolean }) {
  return (
    <main class="session empty">
      <h2>{isDeleted ? "This session was deleted" : `There is no session ${id}`}</h2>
      <p>{isDeleted ? "Choose another one from the list." : "It may have been deleted. Choose another one from the list."}</p>
    </main>
  );
}

/** The title of the page: what the session is called, and whether it waits for the user. */
function useTitle(live: LiveSession): void {
  const title = useComputed(() => {
    const name = live.info.value?.title ?? live.id;
    const mark = live.state.pending.value.length > 0 ? "● " : live.state.isRunning.value ? "▸ " : "";
    return `${mark}${name} · Interlingua`;
  });
  useEffect(() => {
    document.title = title.value;
    return () => {
      document.title = "Interlingua";
    };
  }, [title.value]);
}

/** What stays at the bottom: the plan, requests, and the field for messages. */
function Dock({ live }: { live: LiveSession }) {
  const info = live.info.value;
  if (info === null) return null;
  const { isEnded, isRunning, pending } = live.state;
  const refresh = () => void live.refresh();
  return (
    <footer class="dock">
      <CurrentPlan live={live} />
      {!isEnded.value && <PendingRequests sessionId={live.id} requests={pending.value} />}
      {info.state === "needs_secrets" && (
        <SecretsForm
          sessionId={live.id}
          names={info.secretsMissing ?? []}
          onSent={() => {
            refresh();
            announce(live.id);
          }}
        />
      )}
      <Composer key={live.id} info={info} isRunning={isRunning.value} isEnded={isEnded.value} onQueueChange={refresh} />
    </footer>
  );
}

export function isTyping(event: Event): boolean {
  return event.target instanceof Element && event.target.closest("input, textarea, select, [contenteditable]") !== null;
}

/** The plan while it is carried out. */
function CurrentPlan({ live }: { live: LiveSession }) {
  const [isOpen, setOpen] = useState(false);
  const steps = live.state.plan.value;
  if (steps === null || steps.length === 0 || !live.state.isRunning.value) return null;
  const next = steps.find(({ status }) => status === "in_progress") ?? steps.find(({ status }) => status === "pending");
  return (
    <div class="current-plan">
      <button class="fold" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        <span class="badge">{`${countDone(steps)} of ${steps.length}`}</span>
        <span class="tool-title" dir="auto">
          {next?.content ?? "The plan is done"}
        </span>
      </button>
      {isOpen && <Plan steps={steps} />}
    </div>
  );
}
