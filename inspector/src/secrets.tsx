import type { SessionSecrets } from "interlingua/client";
import { useState } from "preact/hooks";
import { client } from "./connection.ts";
import { sanitize } from "./format.ts";
import { attempt } from "./notify.ts";

/** Name of a value of an MCP server, such as `mcp.github.env.TOKEN`. */
const MCP_NAME = /^mcp\.(.+)\.(env|headers)\.([^.]+)$/;

/** Asks for the values that a restart of the server has lost. */
export function SecretsForm({ sessionId, names, onSent }: { sessionId: string; names: readonly string[]; onSent: () => void }) {
  const [values, setValues] = useState<Readonly<Record<string, string>>>({});
  const [isSending, setSending] = useState(false);
  const given = names.filter((name) => (values[name] ?? "") !== "");
  const send = async () => {
    setSending(true);
    await attempt(() => client.session(sessionId).setSecrets(toSecrets(given.map((name) => [name, values[name] ?? ""]))));
    setSending(false);
    onSent();
  };
  return (
    <form
      class="request-card secrets"
      onSubmit={(event) => {
        event.preventDefault();
        if (given.length > 0) void send();
      }}
    >
      <h3>
        <span class="ask">Needs secrets</span> The server was restarted
      </h3>
      <p>These values are kept in memory only. The messages of the session wait until you enter them again.</p>
      {names.map((name) => (
        <label key={name}>
          <code>{sanitize(name)}</code>
          <input
            type="password"
            autocomplete="off"
            value={values[name] ?? ""}
            onInput={({ currentTarget: { value } }) => setValues((known) => ({ ...known, [name]: value }))}
          />
        </label>
      ))}
      <div class="actions">
        <button class="primary" disabled={isSending || given.length === 0}>
          Continue
        </button>
      </div>
    </form>
  );
}

/** Values under the names by which the server misses them. */
export function toSecrets(values: readonly (readonly [name: string, value: string])[]): SessionSecrets {
  const env: Record<string, string> = {};
  const mcp: Record<string, { env?: Record<string, string>; headers?: Record<string, string> }> = {};
  for (const [name, value] of values) {
    const [, server, place, key] = MCP_NAME.exec(name) ?? [];
    if (server === undefined || key === undefined) env[name] = value;
    else ((mcp[server] ??= {})[place as "env" | "headers"] ??= {})[key] = value;
  }
  return { env, mcp };
}
