import type { SearchHit, SearchResults as Found, SessionInfo } from "interlingua/client";
import { useEffect, useRef, useState } from "preact/hooks";
import { client } from "./connection.ts";
import { formatAge, sanitize } from "./format.ts";
import { sessionPath } from "./router.ts";
import { SessionRow } from "./sidebar.tsx";

/** Delay between typing and a search. */
const SEARCH_DELAY_MS = 200;
/** Length of a text from which it is searched for. */
const MIN_LENGTH = 2;
const MAX_HITS = 30;
/** Number of sessions that are shown. */
const MAX_SESSIONS = 50;

/** What a search has found so far, and which result is chosen. */
export interface Search {
  readonly query: string;
  /** Sessions with the words in their title, id, agent, directory or model. */
  readonly sessions: readonly SessionInfo[];
  /** Events with the words in their text; null while the server searches. */
  readonly found: Found | null;
  /** Path of the result that Enter opens. */
  readonly chosen: string | null;
  /** Chooses the next or previous result. */
  move(step: number): void;
}

/** Searches the sessions, and the text of all sessions; null without a query. */
export function useSearch(query: string, sessions: readonly SessionInfo[], agent: string): Search | null {
  const [found, setFound] = useState<Found | null>(null);
  const [choice, setChoice] = useState(0);
  useEffect(() => {
    setFound(null);
    setChoice(0);
    if (query.length < MIN_LENGTH) return;
    const abort = new AbortController();
    const timer = setTimeout(() => {
      const options = { limit: MAX_HITS, signal: abort.signal, ...(agent !== "" && { agent }) };
      // A search that fails finds nothing: titles are searched anyway.
      client.search(toSearch(query), options).then(setFound, () => {
        if (!abort.signal.aborted) setFound({ results: [], complete: true, hasMore: false });
      });
    }, SEARCH_DELAY_MS);
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [query, agent]);
  if (query === "") return null;
  const words = query.toLowerCase();
  const matching = sessions.filter((session) =>
    [session.title, session.sessionId, session.agent, session.directory, session.model].some((text) => text?.toLowerCase().includes(words)),
  );
  const shown = matching.slice(0, MAX_SESSIONS);
  const paths = [...shown.map(({ sessionId }) => sessionPath(sessionId)), ...(found?.results ?? []).map(hitPath)];
  const chosen = Math.min(choice, paths.length - 1);
  return {
    query,
    sessions: shown,
    found,
    chosen: paths[chosen] ?? null,
    move: (step) => setChoice(Math.max(0, Math.min(paths.length - 1, chosen + step))),
  };
}

/** The sessions and events that a search has found. */
export function SearchResults({ search, currentId }: { search: Search; currentId: string | null }) {
  const { query, sessions, found, chosen } = search;
  const list = useRef<HTMLDivElement>(null);
  useEffect(() => list.current?.querySelector(".chosen")?.scrollIntoView({ block: "nearest" }), [chosen]);
  const isSearching = found === null && query.length >= MIN_LENGTH;
  return (
    <div class="scroller results" id="results" ref={list} tabIndex={0} role="region" aria-label="Found">
      {sessions.length > 0 && <h3>Sessions</h3>}
      {sessions.map((session) => (
        <SessionRow
          key={session.sessionId}
          session={session}
          isCurrent={session.sessionId === currentId}
          isChosen={sessionPath(session.sessionId) === chosen}
        />
      ))}
      {found !== null && found.results.length > 0 && (
        <section class="hits" aria-label="Found in the text">
          <h3>In the text</h3>
          {found.results.map((hit) => (
            <Hit key={hitPath(hit)} hit={hit} query={query} isChosen={hitPath(hit) === chosen} />
          ))}
          {found.hasMore && <p class="hint">There are more: add words.</p>}
        </section>
      )}
      {isSearching && <p class="hint">Searching the text…</p>}
      {!isSearching && sessions.length === 0 && (found?.results.length ?? 0) === 0 && <p class="hint">Nothing found.</p>}
      {found?.complete === false && <p class="hint">The server is still indexing its sessions.</p>}
    </div>
  );
}

function hitPath(hit: SearchHit): string {
  return sessionPath(hit.sessionId, hit.sequence);
}

function Hit({ hit, query, isChosen }: { hit: SearchHit; query: string; isChosen: boolean }) {
  return (
    <a class={isChosen ? "hit chosen" : "hit"} href={hitPath(hit)}>
      <strong dir="auto">{sanitize(hit.title ?? hit.sessionId)}</strong> <small>{formatAge(hit.time)}</small>
      <span dir="auto">
        {markWords(sanitize(hit.snippet), query).map(({ text, isMarked }) => (isMarked ? <mark>{text}</mark> : text))}
      </span>
    </a>
  );
}

/** The search for what is typed: the last word may be the beginning of one. */
export function toSearch(query: string): string {
  return /[\p{L}\p{N}]$/u.test(query) && query.split('"').length % 2 === 1 ? `${query}*` : query;
}

/** Divides a text into parts that have the words of a query and parts that do not. */
export function markWords(text: string, query: string): { text: string; isMarked: boolean }[] {
  const words = query.match(/[\p{L}\p{N}]+/gu) ?? [];
  if (words.length === 0) return [{ text, isMarked: false }];
  const pattern = new RegExp(`(${words.sort((a, b) => b.length - a.length).join("|")})`, "giu");
  return text.split(pattern).flatMap((part, index) => (part === "" ? [] : [{ text: part, isMarked: index % 2 === 1 }]));
}
