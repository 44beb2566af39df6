import type { UniversalEvent } from "interlingua/client";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { attempt, client, request } from "./connection.ts";
import { sanitize } from "./format.ts";
import type { LiveSession } from "./live.ts";
import { Code, CopyButton } from "./markdown.tsx";
import { isTyping } from "./session.tsx";
import { VirtualList } from "./virtual.tsx";

/** Number of events that one request reads for the index. */
const INDEX_PAGE_EVENTS = 5_000;
/** Length of the summary of an event. */
const MAX_SUMMARY_LENGTH = 160;

/** What the list shows of an event. The event itself is read when it is opened. */
interface Row {
  readonly sequence: number;
  readonly time: string;
  readonly type: string;
  readonly isSynthetic: boolean;
  readonly summary: string;
}

interface Verdict {
  readonly valid: boolean;
  readonly events: number;
  readonly violationCount: number;
  readonly violations: readonly { rule: string | null; sequence: number; message: string }[];
}

/** Every event of the session, each beside the native payload that it was made from. */
export function EventsView({ live, sequence, onSelect }: { live: LiveSession; sequence: number | null; onSelect: (sequence: number | null) => void }) {
  const [rows, setRows] = useState<readonly Row[]>([]);
  const [types, setTypes] = useState<ReadonlySet<string>>(new Set());
  const [query, setQuery] = useState("");
  const [verdict, setVerdict] = useState<Verdict | null>(null);
  const loaded = useRef({ last: 0, rows: [] as Row[], isReading: false });
  const count = live.eventCount.value;

  useEffect(() => {
    const state = loaded.current;
    if (state.isReading || state.last >= count) return;
    const abort = new AbortController();
    state.isReading = true;
    void (async () => {
      try {
        while (state.last < live.eventCount.peek()) {
          const page = await client.session(live.id).history({ after: state.last, limit: INDEX_PAGE_EVENTS, signal: abort.signal });
          if (page.events.length === 0) break;
          for (const event of page.events) state.rows.push(toRow(event));
          state.last = state.rows.at(-1)?.sequence ?? state.last;
          setRows([...state.rows]);
        }
      } catch {
        // The next event tries again.
      } finally {
        state.isReading = false;
      }
    })();
  }, [count, live]);

  const known = useMemo(() => {
    const counts = new Map<string, number>();
    for (const row of rows) counts.set(row.type, (counts.get(row.type) ?? 0) + 1);
    return [...counts].sort(([a], [b]) => a.localeCompare(b));
  }, [rows]);

  const shown = useMemo(() => {
    const words = query.toLowerCase();
    return rows.filter(
      (row) =>
        (types.size === 0 || types.has(row.type)) &&
        (words === "" || row.summary.toLowerCase().includes(words) || row.type.includes(words) || String(row.sequence) === words),
    );
  }, [rows, types, query]);

  const toggle = (type: string) => {
    const next = new Set(types);
    if (!next.delete(type)) next.add(type);
    setTypes(next);
  };

  const check = () =>
    void attempt(async () => {
      const response = await request(`/v1/sessions/${encodeURIComponent(live.id)}/check`);
      setVerdict((await response.json()) as Verdict);
    });

  return (
    <div class={sequence === null ? "events" : "events with-detail"}>
      <div class="events-list">
        <div class="events-tools">
          <input
            type="search"
            value={query}
            placeholder="Filter events"
            aria-label="Filter events"
            onInput={(event) => setQuery(event.currentTarget.value)}
          />
          <button onClick={check}>Check rules</button>
        </div>
        {verdict !== null && <VerdictView verdict={verdict} onSelect={onSelect} />}
        <div class="types" role="group" aria-label="Types">
          {known.map(([type, number]) => (
            <button key={type} class={types.has(type) ? "type chosen" : "type"} aria-pressed={types.has(type)} onClick={() => toggle(type)}>
              {sanitize(type)} <small>{number.toLocaleString("en")}</small>
            </button>
          ))}
        </div>
        <VirtualList
          rows={shown}
          rowKey={(row) => String(row.sequence)}
          estimate={34}
          followEnd={sequence === null}
          target={sequence === null ? null : String(sequence)}
          label="Events"
          render={(row) => (
            <button
              class={row.sequence === sequence ? "event chosen" : "event"}
              aria-current={row.sequence === sequence}
              onClick={() => onSelect(row.sequence)}
            >
              <span class="sequence">{row.sequence}</span>
              <span class={`event-type type-${row.type.split(".")[0] ?? ""}`}>{sanitize(row.type)}</span>
              <span class="summary" dir="auto">
                {row.summary}
              </span>
              {row.isSynthetic && <span class="badge">synthetic</span>}
            </button>
          )}
        />
      </div>
      {sequence !== null && <EventDetail live={live} sequence={sequence} neighbours={neighbours(shown, sequence)} onSelect={onSelect} />}
    </div>
  );
}

function VerdictView({ verdict, onSelect }: { verdict: Verdict; onSelect: (sequence: number) => void }) {
  if (verdict.valid) {
    return (
      <p class="verdict good" role="status">
        {verdict.events.toLocaleString("en")} events follow all rules.
      </p>
    );
  }
  return (
    <div class="verdict bad" role="status">
      <p>
        {verdict.violationCount} violations in {verdict.events.toLocaleString("en")} events
      </p>
      <ul>
        {verdict.violations.slice(0, 50).map((violation, index) => (
          <li key={index}>
            <button class="link" onClick={() => onSelect(violation.sequence)}>
              {violation.rule ?? "unreadable"} at {violation.sequence}
            </button>{" "}
            {sanitize(violation.message)}
          </li>
        ))}
      </ul>
    </div>
  );
}

interface Neighbours {
  readonly previous: number | null;
  readonly next: number | null;
}

/** The sequences of the shown events before and after one, which itself may be hidden by the filter. */
function neighbours(rows: readonly Row[], sequence: number): Neighbours {
  const previous = rows.findLast((row) => row.sequence < sequence);
  const next = rows.find((row) => row.sequence > sequence);
  return { previous: previous?.sequence ?? null, next: next?.sequence ?? null };
}

interface DetailProps {
  live: LiveSession;
  sequence: number;
  neighbours: Neighbours;
  onSelect: (sequence: number | null) => void;
}

function EventDetail({ live, sequence, neighbours: { previous, next }, onSelect }: DetailProps) {
  const [event, setEvent] = useState<UniversalEvent | null>(null);
  useEffect(() => {
    const abort = new AbortController();
    setEvent(null);
    void attempt(async () => {
      const page = await client.session(live.id).history({ after: sequence - 1, limit: 1, raw: true, signal: abort.signal }).then(
        (page) => page,
        (error: unknown) => {
          if (abort.signal.aborted) return null;
          throw error;
        },
      );
      setEvent(page?.events[0] ?? null);
    });
    return () => abort.abort();
  }, [live, sequence]);
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const target = event.key === "ArrowUp" ? previous : event.key === "ArrowDown" ? next : null;
      if (target === null || isTyping(event)) return;
      event.preventDefault();
      onSelect(target);
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, [previous, next, onSelect]);
  if (event === null) return <div class="event-detail loading">Loading event {sequence}…</div>;
  const { raw, ...universal } = event;
  const path = `/v1/sessions/${encodeURIComponent(live.id)}/events?offset=${sequence - 1}&limit=1&include_raw=true`;
  const curl = `curl -H "Authorization: Bearer $INTERLINGUA_TOKEN" '${location.origin}${path.replaceAll("'", "%27")}'`;
  return (
    <div class="event-detail" role="region" aria-label={`Event ${sequence}`}>
      <header>
        <h3>
          {sanitize(event.type)} <small>{event.sequence}</small>
        </h3>
        <time>{event.time}</time>
        <span class="spacer" />
        <button class="link" aria-label="Previous event" disabled={previous === null} onClick={() => onSelect(previous)}>
          ↑
        </button>
        <button class="link" aria-label="Next event" disabled={next === null} onClick={() => onSelect(next)}>
          ↓
        </button>
        <CopyButton text={() => JSON.stringify(event, null, 2)} label="Copy event" title="Copy event" />
        <CopyButton text={curl} label="Copy as curl" title="Copy as curl" />
        <button class="link" aria-label="Close event" onClick={() => onSelect(null)}>
          ✕
        </button>
      </header>
      <div class="sides">
        <section aria-label="Universal event">
          <h4>Universal</h4>
          <Code text={sanitize(JSON.stringify(universal, null, 2))} language="json" />
        </section>
        <section aria-label="Native payload">
          <h4>Native</h4>
          {raw == null ? (
            <p class="note-line">{event.synthetic ? "Synthetic: no native payload says this." : "No native payload."}</p>
          ) : (
            <Code text={sanitize(JSON.stringify(raw, null, 2))} language="json" />
          )}
        </section>
      </div>
    </div>
  );
}

function toRow(event: UniversalEvent): Row {
  return {
    sequence: event.sequence,
    time: event.time,
    type: event.type,
    isSynthetic: event.synthetic,
    summary: sanitize(summarise(event)).replace(/\s+/g, " ").slice(0, MAX_SUMMARY_LENGTH),
  };
}

function summarise(event: UniversalEvent): string {
  switch (event.type) {
    case "item.started":
    case "item.completed": {
      const { item } = event.data;
      for (const part of item.content) {
        if (part.type === "tool_call") return part.title ?? part.name;
        if (part.type === "tool_result") return part.output.slice(0, 400);
        if (part.type === "text" || part.type === "reasoning") return part.text.slice(0, 400);
        if (part.type === "status") return `${part.label} ${part.detail ?? ""}`;
      }
      return `${item.kind} ${item.role ?? ""}`;
    }
    case "item.delta":
      return event.data.delta.slice(0, 400);
    case "permission.requested":
    case "permission.resolved":
      return `${event.data.status} ${event.data.action}`;
    case "question.requested":
    case "question.resolved":
      return `${event.data.status} ${event.data.prompt}`;
    case "error":
      return `${event.data.code ?? ""} ${event.data.message}`;
    case "turn.ended":
      return event.data.status;
    case "session.ended":
      return event.data.reason;
    default:
      return "";
  }
}
