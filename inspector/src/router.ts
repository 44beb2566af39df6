import { signal } from "@preact/signals";

/** What the page shows. */
export type Route =
  | { readonly view: "home" }
  | { readonly view: "new" }
  | { readonly view: "session"; readonly id: string; readonly sequence: number | null };

const BASE = "/ui/";

export const route = signal<Route>(parse());

function parse(): Route {
  const path = location.pathname.slice(BASE.length);
  if (path === "new") return { view: "new" };
  const id = /^sessions\/([^/]+)$/.exec(path)?.[1];
  if (id === undefined) return { view: "home" };
  const sequence = /^#(\d+)$/.exec(location.hash)?.[1];
  try {
    return { view: "session", id: decodeURIComponent(id), sequence: sequence === undefined ? null : Number(sequence) };
  } catch {
    return { view: "home" };
  }
}

export function sessionPath(id: string, sequence?: number): string {
  return `${BASE}sessions/${encodeURIComponent(id)}${sequence === undefined ? "" : `#${sequence}`}`;
}

export const NEW_PATH = `${BASE}new`;

export function navigate(path: string): void {
  if (path !== location.pathname + location.hash) history.pushState(null, "", path);
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
    if (!link.pathname.startsWith(BASE) || link.pathname.includes(".")) return;
    event.preventDefault();
    navigate(link.pathname + link.hash);
  });
}
