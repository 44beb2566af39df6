import { agentName } from "./agents.ts";
import { sanitize } from "./format.ts";

/** Steps of the hue, so that agents differ visibly. */
const HUES = 18;

/** Two letters of an agent in its colour. */
export function AgentMark({ agent }: { agent: string }) {
  const name = agentName(agent);
  return (
    <span class="agent-mark" style={{ "--hue": String(hue(agent)) }} title={name} role="img" aria-label={name}>
      {sanitize(letters(name))}
    </span>
  );
}

/** The beginnings of two words, or of one. */
function letters(name: string): string {
  const [first = "?", second] = name.match(/[\p{L}\p{N}]+/gu) ?? [];
  return second === undefined ? first.slice(0, 2) : first.slice(0, 1) + second.slice(0, 1);
}

function hue(agent: string): number {
  let hash = 0;
  for (const character of agent) hash = (hash * 31 + (character.codePointAt(0) ?? 0)) % 9973;
  return (hash % HUES) * (360 / HUES);
}
