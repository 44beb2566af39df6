import type { CreateSession, McpServerConfig } from "interlingua/client";

/** An MCP server as the user enters it. */
export interface McpDraft {
  readonly id: number;
  readonly name: string;
  readonly isRemote: boolean;
  /** Command line of a program, or a URL. */
  readonly target: string;
  /** Environment variables or headers, one `NAME=VALUE` or `Name: value` per line. */
  readonly values: string;
}

export function newMcpDraft(id: number): McpDraft {
  return { id, name: "", isRemote: false, target: "", values: "" };
}

interface Props {
  drafts: readonly McpDraft[];
  failure: string | null;
  onChange: (drafts: readonly McpDraft[]) => void;
}

/** The MCP servers of a new session. */
export function McpForm({ drafts, failure, onChange }: Props) {
  const change = (id: number, changes: Partial<McpDraft>) =>
    onChange(drafts.map((draft) => (draft.id === id ? { ...draft, ...changes } : draft)));
  return (
    <fieldset class="wide mcp">
      <legend>MCP servers</legend>
      {drafts.map((draft, index) => (
        <div key={draft.id} class="mcp-server" role="group" aria-label={`MCP server ${index + 1}`}>
          <input
            value={draft.name}
            placeholder="Name"
            aria-label="Name"
            spellcheck={false}
            onInput={(event) => change(draft.id, { name: event.currentTarget.value })}
          />
          <select
            value={draft.isRemote ? "url" : "command"}
            aria-label="Kind"
            onChange={(event) => change(draft.id, { isRemote: event.currentTarget.value === "url" })}
          >
            <option value="command">Program</option>
            <option value="url">URL</option>
          </select>
          <button type="button" class="link" aria-label="Remove the MCP server" onClick={() => onChange(drafts.filter(({ id }) => id !== draft.id))}>
            ✕
          </button>
          <input
            class="mcp-target"
            value={draft.target}
            placeholder={draft.isRemote ? "https://example.com/mcp" : "github-mcp-server stdio"}
            aria-label={draft.isRemote ? "URL" : "Command"}
            spellcheck={false}
            onInput={(event) => change(draft.id, { target: event.currentTarget.value })}
          />
          <textarea
            rows={2}
            value={draft.values}
            placeholder={draft.isRemote ? "Authorization: Bearer …" : "TOKEN=…"}
            aria-label={draft.isRemote ? "Headers" : "Environment"}
            spellcheck={false}
            onInput={(event) => change(draft.id, { values: event.currentTarget.value })}
          />
        </div>
      ))}
      {failure !== null && (
        <p class="field-error" role="alert">
          {failure}
        </p>
      )}
      <button type="button" onClick={() => onChange([...drafts, newMcpDraft((drafts.at(-1)?.id ?? 0) + 1)])}>
        Add an MCP server
      </button>
    </fieldset>
  );
}

/** The servers as the API takes them. Throws with a sentence for the user. */
export function toMcp(drafts: readonly McpDraft[]): NonNullable<CreateSession["mcp"]> {
  const servers: Record<string, McpServerConfig> = {};
  for (const draft of drafts) {
    const name = draft.name.trim();
    if (name === "") throw new Error("an MCP server has no name");
    if (name in servers) throw new Error(`two MCP servers have the name ${name}`);
    if (draft.target.trim() === "") throw new Error(`the MCP server ${name} has no ${draft.isRemote ? "URL" : "command"}`);
    servers[name] = draft.isRemote
      ? { type: "http", url: draft.target.trim(), headers: parseValues(draft.values, ":") }
      : { command: splitCommand(draft.target), env: parseValues(draft.values, "=") };
  }
  return servers;
}

function parseValues(text: string, separator: ":" | "="): Record<string, string> {
  const values: Record<string, string> = {};
  for (const line of text.split("\n")) {
    if (line.trim() === "") continue;
    const end = line.indexOf(separator);
    if (end < 1) throw new Error(`expected NAME${separator}VALUE, found ${JSON.stringify(line)}`);
    values[line.slice(0, end).trim()] = line.slice(end + 1).trim();
  }
  return values;
}

/** The words of a command line. Quotes keep words together. */
export function splitCommand(line: string): string[] {
  const words = line.match(/(?:"[^"]*"|'[^']*'|[^\s"'])+/g) ?? [];
  return words.map((word) => word.replace(/"([^"]*)"|'([^']*)'/g, "$1$2"));
}
