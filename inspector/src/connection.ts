import { signal } from "@preact/signals";
import { Interlingua, InterlinguaError } from "interlingua/client";
import type { Reachability } from "./feed.ts";
import { listen, subscribe } from "./subscription.ts";

/** Where the token and the headers for a proxy are kept: until the tab is closed. */
const TOKEN_KEY = "interlingua-token";
const HEADERS_KEY = "interlingua-headers";

export const serverState = signal<Reachability | "connecting">("connecting");
export const serverVersion = signal("");

const given = takeFragment();
let token = given.token;
/** Headers of every request, for a proxy before the server. */
const proxyHeaders = given.headers;
export let client = connect();

/** Takes token and headers from the fragment of the address, and removes them from there and from the history. */
function takeFragment(): { token: string | undefined; headers: Headers } {
  const fragment = new URLSearchParams(location.hash.slice(1));
  for (const [name, key] of [["token", TOKEN_KEY], ["headers", HEADERS_KEY]] as const) {
    const value = fragment.get(name);
    if (value === null) continue;
    sessionStorage.setItem(key, value);
    history.replaceState(null, "", location.pathname + location.search);
  }
  return { token: sessionStorage.getItem(TOKEN_KEY) ?? undefined, headers: parseHeaders(sessionStorage.getItem(HEADERS_KEY)) };
}

/** Headers as `buildInspectorUrl` of the SDK writes them; none if the text is something else. */
function parseHeaders(json: string | null): Headers {
  try {
    return new Headers((JSON.parse(json ?? "{}") ?? {}) as Record<string, string>);
  } catch {
    return new Headers();
  }
}

/** Whether the server was given a token. */
export function hasToken(): boolean {
  return token !== undefined;
}

function connect(): Interlingua {
  const options = { token, headers: proxyHeaders, reconnectTimeoutMs: Infinity, fetch: observedFetch };
  return Interlingua.connect({ baseUrl: location.origin, ...options });
}

/** Begins to follow the server. */
export function startConnection(): void {
  listen((message) => {
    if (message.kind === "server") observe(message.state);
    else if (message.kind === "open") void readVersion();
  });
  subscribe(token);
}

export function setToken(value: string): void {
  token = value;
  sessionStorage.setItem(TOKEN_KEY, value);
  client = connect();
  serverState.value = "connecting";
  subscribe(token);
}

async function readVersion(): Promise<void> {
  try {
    serverVersion.value = (await client.health()).version;
  } catch {
    // The state of the server says that it does not answer.
  }
}

function observe(state: Reachability): void {
  if (state === "online" && serverState.peek() === "unauthorised") return;
  serverState.value = state;
}

/** `fetch` that notices whether the server is there. */
async function observedFetch(input: RequestInfo | URL, init?: RequestInit): Promise<Response> {
  const sentWith = token;
  try {
    const response = await fetch(input, init);
    // A late answer to a request with an earlier token says nothing about this one.
    if (response.status === 401) {
      if (sentWith === token) observe("unauthorised");
    } else {
      observe("online");
    }
    return response;
  } catch (error) {
    if (init?.signal?.aborted !== true && serverState.peek() !== "unauthorised") observe("offline");
    throw error;
  }
}

/** Sends a request to a path for which the client has no method. */
export async function request(path: string, init: RequestInit = {}): Promise<Response> {
  const headers = new Headers(proxyHeaders);
  new Headers(init.headers).forEach((value, name) => headers.set(name, value));
  if (token !== undefined) headers.set("authorization", `Bearer ${token}`);
  const response = await observedFetch(path, { ...init, headers });
  if (!response.ok) {
    const problem = (await response.json().catch(() => null)) as ConstructorParameters<typeof InterlinguaError>[0] | null;
    throw new InterlinguaError(problem ?? { type: "", title: response.statusText, status: response.status, detail: "" });
  }
  return response;
}

/** Path of a session in the API. */
export function apiPath(sessionId: string): string {
  return `/v1/sessions/${encodeURIComponent(sessionId)}`;
}

/** Saves an answer of the server as a file. */
export async function download(path: string, name: string): Promise<void> {
  const response = await request(path);
  const url = URL.createObjectURL(await response.blob());
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 1_000);
}
