import { signal } from "@preact/signals";
import type { AgentInfo, InstallInfo } from "interlingua/client";
import { client } from "./connection.ts";
import { errorText, notify } from "./notify.ts";

/** An installation that this page follows, by the agent's id. */
export interface Installation {
  readonly bytes: number | null;
  /** Why it failed; null while it runs. */
  readonly failure: string | null;
}

export const agents = signal<readonly AgentInfo[]>([]);
export const installations = signal<ReadonlyMap<string, Installation>>(new Map());

/** Reads the agents, and joins the installations that run. */
export async function refreshAgents(): Promise<void> {
  agents.value = await client.agents();
  const uninstalled = agents.peek().filter(({ id, installed }) => !installed && !installations.peek().has(id));
  const states = await Promise.all(uninstalled.map(async ({ id }): Promise<[string, InstallInfo]> => [id, await client.installation(id)]));
  for (const [id, { state }] of states) if (state === "running") void install(id);
}

/** Name of an agent for people. */
export function agentName(id: string): string {
  return agents.value.find((agent) => agent.id === id)?.name ?? id;
}

/** Installs an agent, or joins its running installation. It goes on when the page is closed. */
export async function install(id: string): Promise<void> {
  setInstallation(id, { bytes: null, failure: null });
  try {
    await client.installAgent(id, { onProgress: (bytes) => setInstallation(id, { bytes, failure: null }) });
    setInstallation(id, undefined);
    agents.value = await client.agents();
    notify(`${agentName(id)} is installed`);
  } catch (error) {
    setInstallation(id, { bytes: null, failure: errorText(error) });
  }
}

function setInstallation(id: string, installation: Installation | undefined): void {
  const next = new Map(installations.peek());
  if (installation === undefined) next.delete(id);
  else next.set(id, installation);
  installations.value = next;
}
