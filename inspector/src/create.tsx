import type { AgentInfo, CreateSession, ModeInfo, ModelList } from "interlingua/client";
import { useEffect, useState } from "preact/hooks";
import { agents, attempt, client, notify, refresh, refreshAgents, request } from "./connection.ts";
import { sanitize } from "./format.ts";
import { navigate, sessionPath } from "./router.ts";
import { AgentMark } from "./sidebar.tsx";

/** How often the progress of an installation is read. */
const PROGRESS_INTERVAL_MS = 1_000;

const PERMISSION_MODES = [
  { id: "default", name: "Ask before changes" },
  { id: "acceptEdits", name: "Accept edits" },
  { id: "plan", name: "Plan only" },
  { id: "bypass", name: "Allow everything" },
];

/** The form that creates a session. */
export function CreateView() {
  const list = agents.value;
  const [agent, setAgent] = useState("");
  const chosen = list.find(({ id }) => id === agent) ?? list.find(({ installed }) => installed) ?? list[0];
  const [modes, setModes] = useState<readonly ModeInfo[]>([]);
  const [models, setModels] = useState<ModelList | null>(null);
  const [form, setForm] = useState({ title: "", directory: "", agentMode: "", permissionMode: "default", model: "", variant: "", mcp: "", message: "" });
  const [mcpError, setMcpError] = useState("");
  const [isSending, setSending] = useState(false);
  const id = chosen?.id ?? "";
  const isInstalled = chosen?.installed === true;

  useEffect(() => {
    setModes([]);
    setModels(null);
    setForm((known) => ({ ...known, agentMode: "", model: "", variant: "" }));
    if (id === "") return;
    const abort = new AbortController();
    // An agent that is not installed may have no modes and models to show.
    void client.modes(id, { signal: abort.signal }).then(setModes, () => {});
    void client.models(id, { signal: abort.signal }).then(setModels, () => {});
    return () => abort.abort();
  }, [id, isInstalled]);

  const set = (name: keyof typeof form) => (event: { currentTarget: { value: string } }) => setForm({ ...form, [name]: event.currentTarget.value });
  const model = models?.models.find((known) => known.id === form.model);

  const create = async () => {
    let mcp: CreateSession["mcp"];
    setMcpError("");
    if (form.mcp.trim() !== "") {
      try {
        mcp = JSON.parse(form.mcp) as CreateSession["mcp"];
      } catch (error) {
        setMcpError(`The MCP servers are not valid JSON: ${(error as Error).message}`);
        return;
      }
    }
    setSending(true);
    const given = Object.fromEntries(
      Object.entries({
        title: form.title.trim(),
        directory: form.directory.trim(),
        agentMode: form.agentMode,
        permissionMode: form.permissionMode,
        model: form.model.trim(),
        variant: form.variant,
      }).filter(([, value]) => value !== ""),
    );
    const session = await attempt(() => client.createSession({ agent: id, ...given, ...(mcp != null && { mcp }) }));
    if (session !== undefined && form.message.trim() !== "") {
      await attempt(() =>
        request(`/v1/sessions/${encodeURIComponent(session.id)}/messages`, { method: "POST", body: JSON.stringify({ message: form.message }) }),
      );
    }
    setSending(false);
    if (session === undefined) return;
    navigate(sessionPath(session.id));
    void refresh();
  };

  return (
    <main class="create">
      <a class="back" href="/ui/" aria-label="All sessions">
        ‹
      </a>
      <h2>New session</h2>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void create();
        }}
      >
        <fieldset class="agents">
          <legend>Agent</legend>
          {list.map((known) => (
            <label key={known.id} class={known.id === id ? "agent-card chosen" : "agent-card"}>
              <input type="radio" name="agent" value={known.id} checked={known.id === id} onChange={() => setAgent(known.id)} />
              <AgentMark agent={known.id} />
              <span>
                <strong>{known.id}</strong>
                <small>{agentState(known)}</small>
              </span>
            </label>
          ))}
        </fieldset>
        {chosen !== undefined && !chosen.installed && <Install key={id} agent={chosen} />}
        <label class="wide">
          Message
          <textarea
            rows={3}
            value={form.message}
            placeholder={id === "mock" ? "demo" : "What shall the agent do?"}
            onInput={set("message")}
            onKeyDown={(event) => {
              if (event.key === "Enter" && (event.metaKey || event.ctrlKey)) event.currentTarget.form?.requestSubmit();
            }}
          />
        </label>
        <label class="wide">
          Directory
          <input value={form.directory} placeholder="The server's working directory" spellcheck={false} onInput={set("directory")} />
        </label>
        <label>
          Title
          <input value={form.title} onInput={set("title")} />
        </label>
        <label>
          Permissions
          <select value={form.permissionMode} onChange={set("permissionMode")}>
            {PERMISSION_MODES.map((mode) => (
              <option key={mode.id} value={mode.id}>
                {mode.name}
              </option>
            ))}
          </select>
        </label>
        <label>
          Mode
          <select value={form.agentMode} onChange={set("agentMode")}>
            <option value="">Default</option>
            {modes.map((mode) => (
              <option key={mode.id} value={mode.id} title={mode.description}>
                {mode.name}
              </option>
            ))}
          </select>
        </label>
        <label>
          Model
          <input value={form.model} list="models" placeholder={models?.defaultModel ?? "Default"} spellcheck={false} onInput={set("model")} />
          <datalist id="models">
            {models?.models.map((known) => (
              <option key={known.id} value={known.id}>
                {known.name ?? known.id}
              </option>
            ))}
          </datalist>
        </label>
        {model?.variants != null && model.variants.length > 0 && (
          <label>
            Variant
            <select value={form.variant} onChange={set("variant")}>
              <option value="">{model.defaultVariant ?? "Default"}</option>
              {model.variants.map((variant) => (
                <option key={variant} value={variant}>
                  {variant}
                </option>
              ))}
            </select>
          </label>
        )}
        <details class="wide">
          <summary>MCP servers</summary>
          <textarea
            rows={4}
            value={form.mcp}
            aria-label="MCP servers as JSON"
            placeholder={'{"github": {"command": "github-mcp-server", "args": ["stdio"]}}'}
            spellcheck={false}
            onInput={set("mcp")}
          />
          {mcpError !== "" && (
            <p class="field-error" role="alert">
              {mcpError}
            </p>
          )}
        </details>
        <div class="wide actions">
          <button class="primary" disabled={isSending || id === ""}>
            {form.message.trim() === "" ? "Create" : "Create and send"}
          </button>
        </div>
      </form>
    </main>
  );
}

function agentState(agent: AgentInfo): string {
  if (agent.id === "mock") return "Built in, needs no key";
  if (!agent.installed) return "Not installed";
  const version = agent.version == null ? "Installed" : `Version ${agent.version}`;
  return agent.credentialsAvailable ? version : `${version}, no key found`;
}

/** Installs an agent, and shows how far it is. The installation goes on when the page is closed. */
function Install({ agent }: { agent: AgentInfo }) {
  const [state, setState] = useState<"idle" | "running" | "failed">("idle");
  const [progress, setProgress] = useState("");
  useEffect(() => {
    if (state !== "running") return;
    const timer = setInterval(() => {
      void request(`/v1/agents/${encodeURIComponent(agent.id)}/install`)
        .then(async (response) => {
          const job = (await response.json()) as { progress?: unknown; message?: unknown };
          const text = [job.message, job.progress].find((value) => typeof value === "string" && value !== "");
          if (typeof text === "string") setProgress(text);
        })
        .catch(() => {});
    }, PROGRESS_INTERVAL_MS);
    return () => clearInterval(timer);
  }, [state]);
  const install = async () => {
    setState("running");
    setProgress("");
    try {
      await client.installAgent(agent.id);
      await refreshAgents();
      notify(`${agent.id} is installed`);
    } catch (error) {
      setState("failed");
      setProgress(error instanceof Error ? error.message : String(error));
    }
  };
  return (
    <div class="install wide" role="status">
      <p>
        {state === "failed" ? `Installing failed: ${sanitize(progress)}` : state === "running" ? `Installing ${agent.id}… ${sanitize(progress)}` : `${agent.id} is not installed on the server.`}
      </p>
      {state === "running" ? (
        <progress aria-label="Installing" />
      ) : (
        <button type="button" onClick={() => void install()}>
          {state === "failed" ? "Try again" : "Install"}
        </button>
      )}
    </div>
  );
}
