import { signal } from "@preact/signals";
import { type AgentInfo, Interlingua, InterlinguaError, type SessionInfo } from "interlingua/client";

/** Where the token is kept: until the tab is closed. */
const TOKEN_KEY = "interlingua-token";

/** Whether the server answers. */
export type ServerState = "connecting" | "online" | "offline" | "unauthorised";

export const serverState = signal<ServerState>("connecting");
export const serverVersion = signal("");
export const sessions = signal<readonly SessionInfo[]>([]);
export const sessionsLoaded = signal(false);
export const agents = signal<readonly AgentInfo[]>([]);
export const toast = signal<{ text: string; isError: boolean } | null>(null);

let token = takeToken();
export let client = connect();

/** Takes the token from the fragment of the address, and removes it from there and from the history. */
function takeToken(): string | undefined {
  const fragment = new URLSearchParams(location.hash.slice(1));
  const given = fragment.get("token");
  if (given !== null) {
    sessionStorage.setItem(TOKEN_KEY, given);
    history.replaceState(null, "", location.pathname + location.search);
  }
  return sessionStorage.getItem(TOKEN_KEY) ?? undefined;
}

function connect(): Interlingua {
  return Interlingua.connect({ baseUrl: location.origin, token, reconnectTimeoutMs: Infinity, fetch: observedFetch });
}

export function setToken(value: string): void {
  token = value;
  sessionStorage.setItem(TOKEN_KEY, value);
  client = connect();
  serverState.value = "connecting";
  void refresh();
}

/** `fetch` that notices whether the server is there. */
async function observedFetch(input: RequestInfo | URL, init?: RequestInit): Promise<Response> {
  try {
    const response = await fetch(input, init);
    if (response.status === 401) serverState.value = "unauthorised";
    else if (serverState.peek() !== "unauthorised" || response.ok) serverState.value = "online";
    return response;
  } catch (error) {
    if (!init?.signal?.aborted && serverState.peek() !== "unauthorised") serverState.value = "offline";
    throw error;
  }
}

/** Sends a request to a path for which the client has no method. */
export async function request(path: string, init: RequestInit = {}): Promise<Response> {
  const headers = new Headers(init.headers);
  if (token !== undefined) headers.set("authorization", `Bearer ${token}`);
  if (init.body != null) headers.set("content-type", "application/json");
  const response = await observedFetch(path, { ...init, headers });
  if (!response.ok) {
    const problem = (await response.json().catch(() => null)) as ConstructorParameters<typeof InterlinguaError>[0] | null;
    throw new InterlinguaError(problem ?? { type: "", title: response.statusText, status: response.status, detail: "" });
  }
  return response;
}

/** Reads the sessions and agents. */
export async function refresh(): Promise<void> {
  try {
    const found: SessionInfo[] = [];
    for await (const session of client.sessions()) found.push(session);
    sessions.value = found.sort((a, b) => b.updatedAt - a.updatedAt);
    sessionsLoaded.value = true;
    if (agents.peek().length === 0) {
      agents.value = await client.agents();
      serverVersion.value = (await client.health()).version;
    }
  } catch (error) {
    if (!(error instanceof InterlinguaError)) serverState.value = "offline";
  }
}

export async function refreshAgents(): Promise<void> {
  agents.value = await client.agents();
}

let toastTimer: ReturnType<typeof setTimeout> | undefined;

/** Shows a short text for some seconds. */
export function notify(text: string, isError = false): void {
  toast.value = { text, isError };
  clearTimeout(toastTimer);
  toastTimer = setTimeout(() => (toast.value = null), isError ? 8_000 : 2_500);
}

/** Runs an action of the user, and shows why it failed. */
export async function attempt<T>(action: () => Promise<T>): Promise<T | undefined> {
  try {
    return await action();
  } catch (error) {
    notify(error instanceof Error ? error.message : String(error), true);
    return undefined;
  }
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
