import { signal } from "@preact/signals";
import type { SessionInfo } from "interlingua/client";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { agentName } from "./agents.ts";
import { AgentMark } from "./agent-mark.tsx";
import { serverState, serverVersion } from "./connection.ts";
import { formatAge, formatCount, sanitize } from "./format.ts";
import { HOME_PATH, navigate, NEW_PATH, route, sessionPath } from "./router.ts";
import { SearchResults, useSearch } from "./search.tsx";
import { isTyping } from "./session.tsx";
import { listFailure, sessions, sessionsLoaded } from "./session-list.ts";
import { sessionState, STATE_NAMES, StateBadge } from "./state-badge.tsx";
import { VirtualList } from "./virtual.tsx";

const query = signal("");
const stateFilter = signal("");
const agentFilter = signal("");

/** The list of sessions, with search in titles and in the full text. */
export function Sidebar() {
  const all = sessions.value;
  const words = query.value.trim();
  const [state, agent] = [stateFilter.value, agentFilter.value];
  const field = useRef<HTMLInputElement>(null);
  const filtered = useMemo(
    () => all.filter((session) => (state === "" || sessionState(session) === state) && (agent === "" || session.agent === agent)),
    [all, state, agent],
  );
  const search = useSearch(words, filtered, agent);
  const rows = search === null ? filtered : search.sessions;
  const currentId = route.value.view === "session" ? route.value.id : null;

  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.metaKey || event.ctrlKey || event.altKey || isTyping(event)) return;
      if (event.key === "j" || event.key === "k") {
        const index = rows.findIndex(({ sessionId }) => sessionId === currentId);
        const step = event.key === "j" ? 1 : -1;
        const next = rows[index < 0 ? 0 : Math.max(0, Math.min(rows.length - 1, index + step))];
        if (next !== undefined) navigate(sessionPath(next.sessionId));
      } else if (event.key === "n") {
        navigate(NEW_PATH);
      } else if (event.key === "/") {
        event.preventDefault();
        field.current?.focus();
      } else if (event.key === "Enter" && event.target === document.body) {
        document.querySelector<HTMLTextAreaElement>(".composer textarea")?.focus();
        event.preventDefault();
      }
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, [rows, currentId]);

  return (
    <nav class="sidebar" aria-label="Sessions">
      <header>
        <a class="brand" href={HOME_PATH}>
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
          placeholder="Search titles and text"
          aria-label="Search sessions"
          aria-controls="results"
          onInput={(event) => (query.value = event.currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key === "Escape") {
              query.value = "";
              event.currentTarget.blur();
            } else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
              event.preventDefault();
              search?.move(event.key === "ArrowDown" ? 1 : -1);
            } else if (event.key === "Enter" && search?.chosen != null) {
              navigate(search.chosen);
              event.currentTarget.blur();
            }
          }}
        />
        <Filters sessions={all} />
      </div>
      {search !== null ? (
        <SearchResults search={search} currentId={currentId} />
      ) : rows.length > 0 ? (
        <VirtualList
          rows={rows}
          rowKey={({ sessionId }) => sessionId}
          estimate={62}
          label="Sessions"
          role="list"
          target={currentId === null ? null : { key: currentId, isNearest: true, request: currentId }}
          render={(session) => <SessionRow session={session} isCurrent={session.sessionId === currentId} />}
        />
      ) : (
        <p class="hint">{emptyText(all)}</p>
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

function emptyText(all: readonly SessionInfo[]): string {
  if (listFailure.value !== null) return `The sessions cannot be read: ${listFailure.value}`;
  if (!sessionsLoaded.value) return "Loading…";
  return all.length === 0 ? "No session yet." : "No session matches.";
}

/** Shows only the sessions in one state, or of one agent. */
function Filters({ sessions: all }: { sessions: readonly SessionInfo[] }) {
  const counts = new Map<string, number>();
  for (const session of all) counts.set(sessionState(session), (counts.get(sessionState(session)) ?? 0) + 1);
  const agents = [...new Set(all.map(({ agent }) => agent))].sort();
  return (
    <div class="filters">
      <select value={stateFilter.value} aria-label="State" onChange={(event) => (stateFilter.value = event.currentTarget.value)}>
        <option value="">All states</option>
        {Object.entries(STATE_NAMES).map(([state, name]) => (
          <option key={state} value={state}>
            {counts.has(state) ? `${name} (${counts.get(state)})` : name}
          </option>
        ))}
      </select>
      <select value={agentFilter.value} aria-label="Agent" onChange={(event) => (agentFilter.value = event.currentTarget.value)}>
        <option value="">All agents</option>
        {agents.map((agent) => (
          <option key={agent} value={agent}>
            {agentName(agent)}
          </option>
        ))}
      </select>
    </div>
  );
}

export function SessionRow({ session, isCurrent, isChosen = false }: { session: SessionInfo; isCurrent: boolean; isChosen?: boolean }) {
  const state = sessionState(session);
  const { usage, directory } = session;
  return (
    <a
      class={["session-row", isCurrent && "current", isChosen && "chosen"].filter(Boolean).join(" ")}
      href={sessionPath(session.sessionId)}
      aria-current={isCurrent ? "page" : undefined}
    >
      <AgentMark agent={session.agent} />
      <span class="session-text">
        <span class="session-title" dir="auto">
          {sanitize(session.title ?? session.sessionId)}
        </span>
        <span class="session-facts">
          {state !== "idle" && <StateBadge state={state} />}
          <span class="age">{formatAge(session.updatedAt)}</span>
          {usage !== null && (
            <span title={`${usage.input_tokens} input tokens, ${usage.output_tokens} output tokens`}>
              {formatCount(usage.input_tokens + usage.output_tokens)} tok
            </span>
          )}
          {directory !== null && (
            <span class="directory" dir="auto" title={directory}>
              {sanitize(directory.split("/").at(-1) ?? "")}
            </span>
          )}
        </span>
      </span>
    </a>
  );
}
