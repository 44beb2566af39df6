import type { UniversalEvent } from "interlingua/client";
import { useEffect, useState } from "preact/hooks";
import { CopyButton } from "./clipboard.tsx";
import { apiPath, client } from "./connection.ts";
import { sanitize } from "./format.ts";
import { Code } from "./markdown.tsx";
import { errorText } from "./notify.ts";
import { sessionPath } from "./router.ts";
import { isTyping } from "./session.tsx";
import { useSession } from "./session-context.ts";

interface Props {
  sequence: number;
  previous: number | null;
  next: number | null;
  onSelect: (sequence: number | null) => void;
}

/** An event beside the native payload that it was made from. */
export function EventDetail({ sequence, previous, next, onSelect }: Props) {
  const live = useSession();
  const [event, setEvent] = useState<UniversalEvent | null>(null);
  const [failure, setFailure] = useState<string | null>(null);
  useEffect(() => {
    const abort = new AbortController();
    setFailure(null);
    client
      .session(live.id)
      .history({ after: sequence - 1, limit: 1, raw: true, signal: abort.signal })
      .then(
        (page) => setEvent(page.events[0] ?? null),
        (error: unknown) => {
          if (!abort.signal.aborted) setFailure(errorText(error));
        },
      );
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

  if (failure !== null) return <p class="event-detail loading">The event cannot be read: {failure}</p>;
  if (event === null) return <p class="event-detail loading">Loading event {sequence}…</p>;
  const path = `${apiPath(live.id)}/events?offset=${event.sequence - 1}&limit=1&include_raw=true`;
  const curl = `curl -H "Authorization: Bearer $INTERLINGUA_TOKEN" '${location.origin}${path.replaceAll("'", "%27")}'`;
  return (
    <div class="event-detail" role="region" aria-label={`Event ${event.sequence}`}>
      <header>
        <h3>
          {sanitize(event.type)} <small>{event.sequence}</small>
        </h3>
        <time dateTime={event.time}>{event.time}</time>
        <span class="spacer" />
        <button class="link" aria-label="Previous event" disabled={previous === null} onClick={() => onSelect(previous)}>
          ↑
        </button>
        <button class="link" aria-label="Next event" disabled={next === null} onClick={() => onSelect(next)}>
          ↓
        </button>
        <a class="link" href={sessionPath(live.id, event.sequence)}>
          In the chat
        </a>
        <CopyButton text={() => JSON.stringify(event, null, 2)} label="Copy event" title="Copy event" />
        <CopyButton text={curl} label="Copy as curl" title="Copy as curl" />
        <button class="link" aria-label="Close event" onClick={() => onSelect(null)}>
          ✕
        </button>
      </header>
      <Sides event={event} />
    </div>
  );
}

function Sides({ event }: { event: UniversalEvent }) {
  const { raw, ...universal } = event;
  return (
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
  );
}
