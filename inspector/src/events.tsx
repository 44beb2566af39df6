import { useEffect, useMemo, useState } from "preact/hooks";
import type { CheckReport } from "interlingua/client";
import { EventDetail } from "./event-detail.tsx";
import type { EventFilter } from "./event-index.ts";
import { sanitize } from "./format.ts";
import { replacePath, sessionPath } from "./router.ts";
import { useSession } from "./session-context.ts";
import { FixedList } from "./virtual.tsx";

const ROW_HEIGHT = 34;
/** Delay between typing and a search. */
const SEARCH_DELAY_MS = 200;
/** Number of violations that are listed. */
const MAX_VIOLATIONS = 50;

const NO_FILTER: EventFilter = { types: new Set(), text: "" };

/** Every event of the session, each beside the native payload that it was made from. */
export function EventsView({ sequence }: { sequence: number | null }) {
  const live = useSession();
  const { index, report } = live;
  const [filter, setFilter] = useState(NO_FILTER);
  const [hasVerdict, setHasVerdict] = useState(false);
  const length = index.length;

  useEffect(() => {
    const timer = setTimeout(() => index.setFilter(filter), filter.text === "" ? 0 : SEARCH_DELAY_MS);
    return () => clearTimeout(timer);
  }, [index, filter]);
  useEffect(() => () => index.setFilter(NO_FILTER), [index]);
  // The counts of the types come with the verdict.
  useEffect(() => {
    if (report.peek() === null) void live.check();
  }, [live]);

  const select = (next: number | null) => replacePath(sessionPath(live.id, next, { tab: "events" }));
  const target = sequence === null ? null : index.indexOf(sequence);
  const exists = sequence === null || (sequence >= 1 && sequence <= live.eventCount.value);

  return (
    <div class={sequence === null ? "events" : "events with-detail"}>
      <div class="events-list">
        <div class="events-tools">
          <input
            type="search"
            value={filter.text}
            placeholder="Search the events"
            aria-label="Search the events"
            onInput={({ currentTarget: { value } }) => setFilter({ ...filter, text: value.trim() })}
          />
          <button
            onClick={() => {
              setHasVerdict(true);
              void live.check();
            }}
          >
            Check rules
          </button>
        </div>
        {hasVerdict && report.value !== null && <Verdict report={report.value} onSelect={select} />}
        <TypeFilter types={report.value?.types ?? {}} chosen={filter.types} onChange={(types) => setFilter({ ...filter, types })} />
        <Progress />
        {index.failure.value !== null && (
          <p class="verdict bad" role="alert">
            The events cannot be read: {index.failure.value}
          </p>
        )}
        <FixedList
          length={length}
          rowHeight={ROW_HEIGHT}
          rowKey={(position) => index.sequenceAt(position)}
          label="Events"
          followEnd={sequence === null}
          target={target}
          render={(position) => <Row sequence={index.sequenceAt(position)} isChosen={index.sequenceAt(position) === sequence} onSelect={select} />}
        />
      </div>
      {sequence !== null &&
        (exists ? (
          <EventDetail
            sequence={sequence}
            previous={neighbour(target ?? 0, sequence, -1)}
            next={neighbour(target ?? 0, sequence, 1)}
            onSelect={select}
          />
        ) : (
          <p class="event-detail loading">
            There is no event {sequence}: the session has {live.eventCount.value.toLocaleString("en")}.{" "}
            <a href={sessionPath(live.id, null, { tab: "events" })}>Close</a>
          </p>
        ))}
    </div>
  );

  /** Sequence of the shown event before or after one, which itself may be hidden by the filter. */
  function neighbour(position: number, from: number, step: 1 | -1): number | null {
    const isShown = index.sequenceAt(position) === from;
    const other = step === 1 && !isShown ? position : position + step;
    return other < 0 || other >= length ? null : index.sequenceAt(other);
  }
}

function Row({ sequence, isChosen, onSelect }: { sequence: number; isChosen: boolean; onSelect: (sequence: number) => void }) {
  const { index } = useSession();
  const row = index.row(sequence);
  return (
    <button class={isChosen ? "event chosen" : "event"} aria-current={isChosen} onClick={() => onSelect(sequence)}>
      <span class="sequence">{sequence}</span>
      {row === undefined ? (
        <span class="summary">…</span>
      ) : (
        <>
          <span class={`event-type type-${row.type.split(".")[0] ?? ""}`}>{sanitize(row.type)}</span>
          <span class="summary" dir="auto">
            {row.summary}
          </span>
          {row.isSynthetic && <span class="badge">synthetic</span>}
        </>
      )}
    </button>
  );
}

/** Buttons for the types of events that the session has. */
function TypeFilter(props: { types: Readonly<Record<string, number>>; chosen: ReadonlySet<string>; onChange: (types: ReadonlySet<string>) => void }) {
  const { types, chosen, onChange } = props;
  const known = useMemo(() => Object.entries(types).sort(([a], [b]) => a.localeCompare(b)), [types]);
  const toggle = (type: string) => {
    const next = new Set(chosen);
    if (!next.delete(type)) next.add(type);
    onChange(next);
  };
  return (
    <div class="types" role="group" aria-label="Types">
      {known.map(([type, count]) => (
        <button key={type} class={chosen.has(type) ? "type chosen" : "type"} aria-pressed={chosen.has(type)} onClick={() => toggle(type)}>
          {sanitize(type)} <small>{count.toLocaleString("en")}</small>
        </button>
      ))}
    </div>
  );
}

/** What a search has found. */
function Progress() {
  const { index } = useSession();
  const { progress } = index;
  if (progress === null) return null;
  return (
    <p class="search-progress" role="status">
      {index.length === 0 && progress >= 1 ? "No event matches." : `${index.length.toLocaleString("en")} found`}
      {progress < 1 && <progress value={progress} aria-label="Searching" />}
    </p>
  );
}

function Verdict({ report, onSelect }: { report: CheckReport; onSelect: (sequence: number) => void }) {
  if (report.valid) {
    return (
      <p class="verdict good" role="status">
        {report.events.toLocaleString("en")} events follow all rules.
      </p>
    );
  }
  return (
    <div class="verdict bad" role="status">
      <p>
        {report.violationCount.toLocaleString("en")} violations in {report.events.toLocaleString("en")} events
      </p>
      <ul>
        {report.violations.slice(0, MAX_VIOLATIONS).map((violation, position) => (
          <li key={position}>
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
