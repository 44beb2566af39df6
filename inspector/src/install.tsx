import type { AgentInfo } from "interlingua/client";
import { install, installations } from "./agents.ts";
import { formatBytes, sanitize } from "./format.ts";

/** Installs an agent, and shows the progress. The installation goes on when the page is closed. */
export function Install({ agent }: { agent: AgentInfo }) {
  const installation = installations.value.get(agent.id);
  const isRunning = installation !== undefined && installation.failure === null;
  return (
    <div class="install wide" role="status">
      <p>
        {installation === undefined
          ? `${agent.name} is not installed on the server.`
          : installation.failure !== null
            ? `Installing failed: ${sanitize(installation.failure)}`
            : `Installing ${agent.name}… ${installation.bytes === null ? "" : `${formatBytes(installation.bytes)} so far`}`}
      </p>
      {isRunning ? (
        <progress aria-label="Installing" />
      ) : (
        <button type="button" onClick={() => void install(agent.id)}>
          {installation === undefined ? "Install" : "Try again"}
        </button>
      )}
    </div>
  );
}
