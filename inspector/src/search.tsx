import type { SearchHit, SearchResults } from "interlingua/client";
import { useEffect, useState } from "preact/hooks";
import { client } from "./connection.ts";
import { formatAge, sanitize } from "./format.ts";
import { sessionPath } from "./router.ts";

/** Delay between typing and a search. */
const SEARCH_DELAY_MS = 200;
/** Length of a text from which it is searched for. */
const MIN_LENGTH = 2;
const MAX_HITS = 30;

/** What is found in the text of all sessions. */
export function TextHits({ query }: { query: string }) {
  const [found, setFound] = useState<SearchResults | null>(null);
  useEffect(() => {
    setFound(null);
    if (query.length < MIN_LENGTH) return;
    const abort = new AbortController();
    const timer = setTimeout(() => {
      // A search that fails finds nothing: titles are searched anyway.
      client.search(toSearch(query), { limit: MAX_HITS, signal: abort.signal }).then(setFound, () => {});
    }, SEARCH_DELAY_MS);
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [query]);
  if (found === null || (found.results.length === 0 && found.complete)) return null;
  return (
    <section class="hits" aria-label="Found in the text">
      <h3>In the text</h3>
      {found.results.map((hit) => (
        <Hit key={`${hit.sessionId}#${hit.sequence}`} hit={hit} query={query} />
      ))}
      {found.hasMore && <p class="hint">There are more: add words.</p>}
      {!found.complete && <p class="hint">The server is still indexing its sessions.</p>}
    </section>
  );
}

function Hit({ hit, query }: { hit: SearchHit; query: string }) {
  return (
    <a href={sessionPath(hit.sessionId, hit.sequence)}>
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
