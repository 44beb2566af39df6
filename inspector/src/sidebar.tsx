import { signal } from "@preact/signals";
import type { SessionInfo } from "interlingua/client";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { serverState, serverVersion, sessions, sessionsLoaded } from "./connection.ts";
import { formatAge, sanitize } from "./format.ts";
import { navigate, NEW_PATH, route, sessionPath } from "./router.ts";
import { TextHits } from "./search.tsx";
import { isTyping } from "./session.tsx";
import { VirtualList } from "./virtual.tsx";

const query = signal("");
const stateFilter = signal<string>("all");

/** The list of sessions, with search in titles and in the full text. */
export function Sidebar() {
  const all = sessions.value;
  const words = query.value.trim().toLowerCase();
  const filter = stateFilter.value;
  const field = useRef<HTMLInputElement>(null);
  const rows = useMemo(
    () =>
      all.filter(
        (session) =>
          (filter === "all" || sessionState(session) === filter) &&
          (words === "" ||
            [session.title, session.sessionId, session.agent, session.directory, session.model].some((text) =>
              text?.toLowerCase().includes(words),
            )),
      ),
    [all, words, filter],
  );
  const current = route.value.view === "session" ? route.value.id : null;

  useEffect(() => {
    const move = (step: number) => {
      const index = rows.findIndex((session) => session.sessionId === current);
      const next = rows[Math.max(0, Math.min(rows.length - 1, index < 0 ? 0 : index + step))];
      if (next !== undefined) navigate(sessionPath(next.sessionId));
    };
    const onKey = (event: KeyboardEvent) => {
      if (event.metaKey || event.ctrlKey || event.altKey) return;
      if (isTyping(event)) return;
      if (event.key === "j") move(1);
      else if (event.key === "k") move(-1);
      else if (event.key === "n") navigate(NEW_PATH);
      else if (event.key === "/") {
        event.preventDefault();
        field.current?.focus();
      } else if (event.key === "Enter" && event.target === document.body) {
        document.querySelector<HTMLTextAreaElement>(".composer textarea")?.focus();
        event.preventDefault();
      }
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, [rows, current]);

  const waiting = all.filter((session) => sessionState(session) === "waiting").length;
  return (
    <nav class="sidebar" aria-label="Sessions">
      <header>
        <a class="brand" href="/ui/">
          <svg viewBox="0 0 32 32" width="22" height="22" aria-hidden="true">
            <rect width="32" height="32" rx="8" fill="var(--accent)" />
            <path d="M9 9v14M16 9v9M23 9v14" stroke="#fff" stroke-width="3.4" stroke-linecap="round" />
          </svg>
          Interlingua
        </a>
        <a class="button primary" href={NEW_PATH}>
          New
        </a>
      </header>
      <div class="search">
        <input
          ref={field}
          type="search"
          value={query.value}
          placeholder="Search sessions"
          aria-label="Search sessions"
          onInput={(event) => (query.value = event.currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key === "Escape") {
              query.value = "";
              event.currentTarget.blur();
            } else if (event.key === "Enter" && rows[0] !== undefined) {
              navigate(sessionPath(rows[0].sessionId));
              event.currentTarget.blur();
            }
          }}
        />
        <select value={filter} aria-label="State" onChange={(event) => (stateFilter.value = event.currentTarget.value)}>
          <option value="all">All</option>
          <option value="running">Running</option>
          <option value="waiting">{waiting > 0 ? `Waiting (${waiting})` : "Waiting"}</option>
          <option value="failed">Failed</option>
          <option value="idle">Idle</option>
          <option value="ended">Ended</option>
        </select>
      </div>
      <TextHits query={query.value.trim()} />
      {rows.length > 0 ? (
        <VirtualList
          rows={rows}
          rowKey={(session) => session.sessionId}
          estimate={66}
          label="Sessions"
          render={(session) => <SessionRow session={session} isCurrent={session.sessionId === current} />}
        />
      ) : (
        <p class="hint">{!sessionsLoaded.value ? "" : all.length === 0 ? "No session yet." : "No session matches."}</p>
      )}
      <footer>
        <span class={`dot ${serverState.value}`} aria-hidden="true" />
        <span>{serverState.value === "online" ? `Version ${serverVersion.value}` : serverState.value}</span>
        <span class="spacer" />
        <a href="/ui/notices.txt" target="_blank" rel="noopener">
          Notices
        </a>
      </footer>
    </nav>
  );
}

function SessionRow({ session, isCurrent }: { session: SessionInfo; isCurrent: boolean }) {
  const state = sessionState(session);
  return (
    <a class={isCurrent ? "session-row current" : "session-row"} href={sessionPath(session.sessionId)} aria-current={isCurrent ? "page" : undefined}>
      <AgentMark agent={session.agent} />
      <span class="session-text">
        <span class="session-title" dir="auto">
          {sanitize(session.title ?? session.sessionId)}
        </span>
        <span class="session-facts">
          {state !== "idle" && <StateBadge state={state} />}
          <span>{formatAge(session.updatedAt)}</span>
          {session.directory != null && (
            <span class="directory" dir="auto">
              {sanitize(session.directory.split("/").at(-1) ?? "")}
            </span>
          )}
        </span>
      </span>
    </a>
  );
}

/** The state of a session for a person: a session whose last turn failed is `failed`. */
export function sessionState({ state, lastTurnStatus }: SessionInfo): string {
  return state === "idle" && lastTurnStatus === "failed" ? "failed" : state;
}

const STATE_NAMES: Record<string, string> = {
  idle: "Idle",
  running: "Running",
  waiting: "Waiting for you",
  needs_secrets: "Needs secrets",
  failed: "Failed",
  ended: "Ended",
};

export function StateBadge({ state }: { state: string }) {
  return <span class={`state state-${state}`}>{STATE_NAMES[state] ?? sanitize(state)}</span>;
}

/** The first letter of an agent in its colour. */
export function AgentMark({ agent }: { agent: string }) {
  return (
    <span class={`agent-mark agent-${/^[a-z]+$/.test(agent) ? agent : "other"}`} title={agent} role="img" aria-label={agent}>
      {sanitize(agent.slice(0, 1).toUpperCase() || "?")}
    </span>
  );
}
