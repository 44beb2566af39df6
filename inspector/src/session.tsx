import { useComputed } from "@preact/signals";
import { useEffect, useMemo, useState } from "preact/hooks";
import { Composer } from "./composer.tsx";
import { attempt, client, download, notify, refresh } from "./connection.ts";
import { EntryView, Plan, UsageView } from "./entries.tsx";
import { EventsView } from "./events.tsx";
import { sanitize } from "./format.ts";
import { LiveSession } from "./live.ts";
import { PendingRequests } from "./requests.tsx";
import { navigate, sessionPath } from "./router.ts";
import { AgentMark, sessionState, StateBadge } from "./sidebar.tsx";
import type { Entry } from "./timeline.ts";
import { VirtualList } from "./virtual.tsx";

/** A session: its conversation, what it waits for, and its events. */
export function SessionView({ id, sequence }: { id: string; sequence: number | null }) {
  const live = useMemo(() => new LiveSession(id), [id]);
  useEffect(() => () => live.close(), [live]);
  const [tab, setTab] = useState<"conversation" | "events">("conversation");
  const [isAnswerOnly, setAnswerOnly] = useState(false);
  const [selected, setSelected] = useState<number | null>(sequence);
  useEffect(() => setSelected(sequence), [id, sequence]);

  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.key !== "Escape" || isTyping(event)) return;
      if (selected !== null) select(null);
      else if (tab === "events") setTab("conversation");
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  });

  const select = (next: number | null) => {
    setSelected(next);
    history.replaceState(null, "", sessionPath(id, next ?? undefined));
  };

  const info = live.info.value;
  if (live.state.value === "missing") {
    return (
      <main class="session empty">
        <h2>There is no session {id}</h2>
        <p>It may have been deleted. Choose another one from the list.</p>
      </main>
    );
  }
  const isEnded = live.timeline.end.value !== null || info?.ended === true;
  const pending = live.timeline.pending.value;
  return (
    <main class="session">
      <Header live={live} tab={tab} onTab={setTab} isAnswerOnly={isAnswerOnly} onAnswerOnly={setAnswerOnly} isEnded={isEnded} />
      {live.state.value === "loading" ? (
        <div class="loading" role="status">
          Loading…
        </div>
      ) : tab === "events" ? (
        <EventsView live={live} sequence={selected} onSelect={select} />
      ) : (
        <Conversation key={id} live={live} isAnswerOnly={isAnswerOnly} target={selected} />
      )}
      {tab === "conversation" && live.state.value === "ready" && (
        <footer class="dock">
          <CurrentPlan live={live} />
          {!isEnded && <PendingRequests sessionId={id} requests={pending} />}
          <Composer key={id} info={info} isRunning={live.timeline.isRunning.value} isEnded={isEnded} onQueueChange={() => void live.refresh()} />
        </footer>
      )}
    </main>
  );
}

export function isTyping(event: Event): boolean {
  return event.target instanceof Element && event.target.closest("input, textarea, select, [contenteditable]") !== null;
}

function Header(props: {
  live: LiveSession;
  tab: "conversation" | "events";
  onTab: (tab: "conversation" | "events") => void;
  isAnswerOnly: boolean;
  onAnswerOnly: (value: boolean) => void;
  isEnded: boolean;
}) {
  const { live, tab, onTab, isAnswerOnly, onAnswerOnly, isEnded } = props;
  const info = live.info.value;
  const metadata = live.timeline.metadata.value;
  const usage = info?.usage ?? live.timeline.usage.value;
  const model = info?.model ?? metadata?.model;
  const title = info?.title ?? live.id;
  const state = live.timeline.pending.value.length > 0 && !isEnded ? "waiting" : live.timeline.isRunning.value ? "running" : info === null ? "idle" : sessionState(info);
  const save = (format: "jsonl" | "markdown" | "html", extension: string) =>
    void attempt(() => download(`/v1/sessions/${encodeURIComponent(live.id)}/export?format=${format}`, `${live.id}.${extension}`));
  const remove = () => {
    if (!confirm(`Delete the session "${title}" with all its events?`)) return;
    void attempt(async () => {
      await client.session(live.id).delete();
      notify("Deleted");
      navigate("/ui/");
      await refresh();
    });
  };
  return (
    <header class="session-header">
      <a class="back" href="/ui/" aria-label="All sessions">
        ‹
      </a>
      <AgentMark agent={info?.agent ?? ""} />
      <div class="titles">
        <h2 dir="auto" title={title}>
          {sanitize(title)}
        </h2>
        <p class="facts">
          <StateBadge state={state} />
          {model != null && <span>{sanitize(model)}</span>}
          {info?.permissionMode != null && info.permissionMode !== "default" && <span>{sanitize(info.permissionMode)}</span>}
          {info?.directory != null && (
            <span class="directory" dir="auto" title={info.directory}>
              {sanitize(info.directory)}
            </span>
          )}
          {usage != null && <UsageView usage={usage} />}
          {live.timeline.unparsedCount.value > 0 && (
            <span class="badge bad" title="Payloads of the agent that could not be understood">
              {live.timeline.unparsedCount.value} not understood
            </span>
          )}
        </p>
      </div>
      <div class="session-actions">
        <div class="tabs" role="tablist" aria-label="View">
          <button role="tab" aria-selected={tab === "conversation"} onClick={() => onTab("conversation")}>
            Chat
          </button>
          <button role="tab" aria-selected={tab === "events"} onClick={() => onTab("events")}>
            Events <small>{live.eventCount.value.toLocaleString("en")}</small>
          </button>
        </div>
        <details class="menu">
          <summary aria-label="More">⋯</summary>
          <div class="menu-items">
            <label>
              <input type="checkbox" checked={isAnswerOnly} onChange={(event) => onAnswerOnly(event.currentTarget.checked)} /> Only the answer
            </label>
            <button onClick={() => save("html", "html")}>Download HTML</button>
            <button onClick={() => save("markdown", "md")}>Download Markdown</button>
            <button onClick={() => save("jsonl", "jsonl")}>Download JSONL</button>
            <hr />
            {!isEnded && <button onClick={() => void attempt(() => client.session(live.id).terminate())}>Terminate</button>}
            <button class="danger" onClick={remove}>
              Delete
            </button>
          </div>
        </details>
      </div>
    </header>
  );
}

function Conversation({ live, isAnswerOnly, target }: { live: LiveSession; isAnswerOnly: boolean; target: number | null }) {
  const version = live.timeline.version.value;
  const roots = live.timeline.roots;
  const rows = useMemo(() => (isAnswerOnly ? roots.filter((entry, index) => isAnswer(entry, roots, index)) : roots), [version, roots, isAnswerOnly]);
  const [targetKey, setTargetKey] = useState<string | null>(null);
  useEffect(() => {
    if (target === null) return;
    void live.loadUntil(target).then(() => {
      const entry = live.timeline.roots.findLast((root) => root.sequence <= target);
      setTargetKey(entry?.key ?? null);
    });
  }, [live, target]);
  if (roots.length === 0) {
    return (
      <div class="scroller empty">
        <p class="hint">
          {live.info.value?.agent === "mock" ? (
            <>
              The mock agent needs no key. Send <code>demo</code> to see everything, or <code>tool</code>, <code>permission</code>, <code>question</code>,{" "}
              <code>error</code>.
            </>
          ) : (
            "Send a message to begin."
          )}
        </p>
      </div>
    );
  }
  return (
    <VirtualList
      rows={rows}
      rowKey={(entry) => entry.key}
      render={(entry) => <EntryView entry={entry} />}
      followEnd
      onStart={() => void live.loadOlder()}
      target={targetKey}
      label="Conversation"
      header={
        live.isLoadingOlder.value || live.hasOlder ? (
          <p class="older" role="status">
            {live.isLoadingOlder.value ? "Loading earlier events…" : `Earlier events begin at ${live.timeline.firstSequence}`}
          </p>
        ) : undefined
      }
    />
  );
}

/** Whether an entry is a prompt, the last message of a turn, or a problem. */
function isAnswer(entry: Entry, roots: readonly Entry[], index: number): boolean {
  if (entry.kind === "error" || entry.kind === "session-end") return true;
  if (entry.kind !== "message") return false;
  if (entry.item.role === "user") return true;
  if (entry.item.content[0]?.type === "reasoning") return false;
  for (let next = index + 1; next < roots.length; next += 1) {
    const other = roots[next] as Entry;
    if (other.kind === "turn-end" || (other.kind === "message" && other.item.role === "user")) return true;
    if (other.kind === "message" && other.item.content[0]?.type !== "reasoning") return false;
    if (other.kind === "tool") return false;
  }
  return true;
}

function CurrentPlan({ live }: { live: LiveSession }) {
  const steps = live.timeline.plan.value;
  const isShown = useComputed(() => live.timeline.isRunning.value).value;
  if (steps === null || steps.length === 0 || !isShown) return null;
  const done = steps.filter((step) => step.status === "completed").length;
  return (
    <details class="current-plan">
      <summary>
        Plan: {done} of {steps.length}
      </summary>
      <Plan steps={steps} />
    </details>
  );
}
