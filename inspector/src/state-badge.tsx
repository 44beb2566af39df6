import type { SessionInfo } from "interlingua/client";
import { sanitize } from "./format.ts";

/** Names of the states, in the order of the filter. */
export const STATE_NAMES: Readonly<Record<string, string>> = {
  waiting: "Waiting for you",
  running: "Running",
  needs_secrets: "Needs secrets",
  failed: "Failed",
  idle: "Idle",
  ended: "Ended",
};

/** The state of a session for a person: a session whose last turn failed is `failed`. */
export function sessionState({ state, lastTurnStatus }: SessionInfo): string {
  return state === "idle" && lastTurnStatus === "failed" ? "failed" : state;
}

export function StateBadge({ state }: { state: string }) {
  return <span class={`state state-${state}`}>{STATE_NAMES[state] ?? sanitize(state)}</span>;
}
