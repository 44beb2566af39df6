import { signal } from "@preact/signals";

/** Which part of a session the page shows. */
export type SessionPart =
  | { readonly tab: "chat" }
  | { readonly tab: "events" }
  /** What one sub-agent did: the sequence of the event that called it. */
  | { readonly tab: "agent"; readonly call: number };

/** What the page shows. */
export type Route =
  | { readonly view: "home" }
  | { readonly view: "new" }
  | { readonly view: "import" }
  | { readonly view: "session"; readonly id: string; readonly part: SessionPart; readonly sequence: number | null };

const BASE = "/ui/";

export const HOME_PATH = BASE;
export const NEW_PATH = `${BASE}new`;
export const IMPORT_PATH = `${BASE}import`;

export const route = signal<Route>(parse());

function parse(): Route {
  const path = location.pathname.slice(BASE.length);
  if (path === "new" || path === "import") return { view: path };
  const [, id, events, call] = /^sessions\/([^/]+)(?:\/(events)|\/agents\/(\d+))?$/.exec(path) ?? [];
  if (id === undefined) return { view: "home" };
  const sequence = /^#(\d+)$/.exec(location.hash)?.[1];
  const part: SessionPart =
    call !== undefined ? { tab: "agent", call: Number(call) } : events !== undefined ? { tab: "events" } : { tab: "chat" };
  try {
    return { view: "session", id: decodeURIComponent(id), part, sequence: sequence === undefined ? null : Number(sequence) };
  } catch {
    return { view: "home" };
  }
}

/** Path of a session, of one of its events, or of another part of it. */
export function sessionPath(id: string, sequence?: number | null, part: SessionPart = { tab: "chat" }): string {
  const path = part.tab === "events" ? "/events" : part.tab === "agent" ? `/agents/${part.call}` : "";
  return `${BASE}sessions/${encodeURIComponent(id)}${path}${sequence == null ? "" : `#${sequence}`}`;
}

export function navigate(path: string): void {
  if (path !== location.pathname + location.hash) history.pushState(null, "", path);
  route.value = parse();
}

/** Changes the address without a step in the browser's history. */
export function replacePath(path: string): void {
  history.replaceState(null, "", path);
  route.value = parse();
}

export function startRouter(): void {
  const update = () => (route.value = parse());
  addEventListener("popstate", update);
  addEventListener("hashchange", update);
  // A link of the page itself does not load it again.
  document.addEventListener("click", (event) => {
    if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey) return;
    const link = (event.target as Element | null)?.closest("a");
    if (link == null || link.target !== "" || link.hasAttribute("download") || link.origin !== location.origin) return;
    if (!link.pathname.startsWith(BASE)) return;
    event.preventDefault();
    navigate(link.pathname + link.hash);
  });
}
