import { signal } from "@preact/signals";
import { useEffect, useMemo, useState } from "preact/hooks";
import { AuthorLine, EntryRow } from "./entry-view.tsx";
import type { LiveSession } from "./live.ts";
import { replacePath, sessionPath } from "./router.ts";
import { useSession } from "./session-context.ts";
import { type Entry, isReasoning } from "./entry.ts";
import { type Target, VirtualList } from "./virtual.tsx";

/** Where the choice is kept. */
const ANSWER_ONLY_KEY = "interlingua-answer-only";

/** Whether intermediate work is hidden. */
export const isAnswerOnly = signal(localStorage.getItem(ANSWER_ONLY_KEY) !== null);

export function setAnswerOnly(value: boolean): void {
  isAnswerOnly.value = value;
  if (value) localStorage.setItem(ANSWER_ONLY_KEY, "1");
  else localStorage.removeItem(ANSWER_ONLY_KEY);
}

/** The messages of a session and what happened between them. */
export function Conversation({ target }: { target: number | null }) {
  const live = useSession();
  const { timeline } = live;
  const version = timeline.version.value;
  const { roots } = timeline;
  const rows = useMemo(
    () => (isAnswerOnly.value ? roots.filter((entry, index) => isAnswer(entry, roots, index)) : [...roots]),
    [version, live, isAnswerOnly.value],
  );
  const [isFollowing, setFollowing] = useState(live.position.isFollowing);
  const { shown, isMissing } = useTarget(live, target, rows);
  if (roots.length === 0 && !live.hasOlder) return <Hint live={live} />;
  const toEnd = () => {
    if (target !== null) replacePath(sessionPath(live.id));
    void live.showEnd();
    setFollowing(true);
  };
  return (
    <>
      {isMissing && (
        <p class="banner" role="status">
          There is no event {target}: the session has {live.eventCount.value.toLocaleString("en")}.{" "}
          <a href={sessionPath(live.id)}>Close</a>
        </p>
      )}
      <VirtualList
        key={live.generation.value}
        rows={rows}
        rowKey={(entry) => entry.key}
        render={(entry, index) => (
          <>
            {beginsAnswer(rows, index) && <AuthorLine entry={entry} />}
            <EntryRow entry={entry} />
          </>
        )}
        label="Conversation"
        role="log"
        followEnd
        isFollowing={isFollowing}
        onFollow={setFollowing}
        position={live.position}
        onNearStart={live.hasOlder ? () => void live.loadOlder() : undefined}
        onNearEnd={live.isAtTail.value ? undefined : () => void live.loadNewer()}
        target={shown}
        header={live.hasOlder ? <OlderButton live={live} /> : undefined}
        footer={live.isLoadingNewer.value ? <p class="older">Loading later events…</p> : undefined}
      />
      {(!isFollowing || !live.isAtTail.value) && (
        <button class="to-end" onClick={toEnd} aria-label="Go to the end">
          ↓ {live.state.isRunning.value ? "Running" : "End"}
        </button>
      )}
    </>
  );
}

/** The row of the event that the address names. */
function useTarget(live: LiveSession, target: number | null, rows: readonly Entry[]): { shown: Target | null; isMissing: boolean } {
  const [state, setState] = useState<{ sequence: number | null; isMissing: boolean }>({ sequence: null, isMissing: false });
  useEffect(() => {
    if (target === null) {
      setState({ sequence: null, isMissing: false });
      return;
    }
    let isCurrent = true;
    void live.show(target).then((isFound) => {
      if (isCurrent) setState({ sequence: isFound ? target : null, isMissing: !isFound });
    });
    return () => {
      isCurrent = false;
    };
  }, [live, target]);
  const { sequence, isMissing } = state;
  const row = sequence === null ? undefined : (rows.find((entry) => entry.sequence <= sequence && sequence <= entry.last) ?? rows.findLast((entry) => entry.sequence <= sequence) ?? rows[0]);
  return { shown: row === undefined ? null : { key: row.key, request: sequence }, isMissing };
}

function OlderButton({ live }: { live: LiveSession }) {
  return (
    <p class="older">
      <button class="link" disabled={live.isLoadingOlder.value} onClick={() => void live.loadOlder()}>
        {live.isLoadingOlder.value ? "Loading earlier events…" : `Load the events before ${live.timeline.firstSequence}`}
      </button>
    </p>
  );
}

function Hint({ live }: { live: LiveSession }) {
  return (
    <div class="scroller empty">
      <p class="hint">
        {live.state.isRunning.value ? (
          "The agent is starting…"
        ) : live.info.value?.agent === "mock" ? (
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

/** Whether an entry is the first that the agent adds after a message of the user. */
function beginsAnswer(rows: readonly Entry[], index: number): boolean {
  if (!isOfAgent(rows[index])) return false;
  for (let before = index - 1; before >= 0; before -= 1) {
    const entry = rows[before] as Entry;
    if (isOfAgent(entry)) return false;
    if (entry.kind === "message" || entry.kind === "turn-end") return true;
  }
  return true;
}

function isOfAgent(entry: Entry | undefined): boolean {
  return entry?.kind === "tool" || (entry?.kind === "message" && entry.item.role === "assistant");
}

/** Whether an entry is a prompt, the last message of a turn, or a problem. */
function isAnswer(entry: Entry, roots: readonly Entry[], index: number): boolean {
  if (entry.kind === "error" || entry.kind === "session-end") return true;
  if (entry.kind !== "message") return false;
  if (entry.item.role === "user") return true;
  if (isReasoning(entry.item)) return false;
  for (let next = index + 1; next < roots.length; next += 1) {
    const other = roots[next] as Entry;
    if (other.kind === "turn-end" || (other.kind === "message" && other.item.role === "user")) return true;
    if (other.kind === "message" && !isReasoning(other.item)) return false;
    if (other.kind === "tool") return false;
  }
  return true;
}
