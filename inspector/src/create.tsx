import type { AgentInfo, ModeInfo, ModelList } from "interlingua/client";
import { useEffect, useState } from "preact/hooks";
import { AgentMark } from "./agent-mark.tsx";
import { agents, installations, refreshAgents } from "./agents.ts";
import { client } from "./connection.ts";
import { sanitize } from "./format.ts";
import { Install } from "./install.tsx";
import { McpForm, type McpDraft, toMcp } from "./mcp-form.tsx";
import { errorText, notify } from "./notify.ts";
import { HOME_PATH, navigate, sessionPath } from "./router.ts";
import { readSessions } from "./session-list.ts";

const MOCK = "mock";

const PERMISSION_MODES = [
  { id: "default", name: "Ask before changes" },
  { id: "acceptEdits", name: "Accept edits" },
  { id: "plan", name: "Plan only" },
  { id: "bypass", name: "Allow everything" },
];

const EMPTY_FORM = { title: "", directory: "", agentMode: "", permissionMode: "default", model: "", variant: "", message: "" };

/** The form that creates a session. */
export function CreateView() {
  const list = agents.value;
  const [agent, setAgent] = useState("");
  const chosen = list.find(({ id }) => id === agent) ?? list.find(({ installed }) => installed);
  const id = chosen?.id ?? "";
  const { modes, models } = useOptions(id, chosen?.installed === true);
  const [form, setForm] = useState(EMPTY_FORM);
  const [mcp, setMcp] = useState<readonly McpDraft[]>([]);
  const [mcpFailure, setMcpFailure] = useState<string | null>(null);
  const [failure, setFailure] = useState<string | null>(null);
  const [isSending, setSending] = useState(false);
  useEffect(() => {
    void refreshAgents().catch(() => {});
  }, []);
  useEffect(() => setForm((known) => ({ ...known, agentMode: "", model: "", variant: "" })), [id]);

  const set = (name: keyof typeof form) => (event: { currentTarget: { value: string } }) =>
    setForm({ ...form, [name]: event.currentTarget.value });
  const modelId = form.model.trim() === "" ? models?.defaultModel : form.model.trim();
  const model = models?.models.find((known) => known.id === modelId);

  const create = async () => {
    setFailure(null);
    setMcpFailure(null);
    let servers;
    try {
      servers = toMcp(mcp);
    } catch (error) {
      setMcpFailure(errorText(error));
      return;
    }
    setSending(true);
    const { message, ...fields } = form;
    const given = Object.fromEntries(Object.entries(fields).flatMap(([name, value]) => (value.trim() === "" ? [] : [[name, value.trim()]])));
    try {
      const session = await client.createSession({ agent: id, ...given, ...(mcp.length > 0 && { mcp: servers }) });
      navigate(sessionPath(session.id));
      void readSessions([session.id]);
      if (message.trim() !== "") session.queueMessage(message).catch((error: unknown) => notify(errorText(error), true));
    } catch (error) {
      setFailure(errorText(error));
      setSending(false);
    }
  };

  return (
    <main class="create">
      <a class="back" href={HOME_PATH} aria-label="All sessions">
        ‹
      </a>
      <h2>New session</h2>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void create();
        }}
      >
        <AgentChoice list={list} chosen={id} onChange={setAgent} />
        {chosen !== undefined && !chosen.installed && <Install agent={chosen} />}
        <label class="wide">
          Message
          <textarea
            rows={3}
            value={form.message}
            placeholder={id === MOCK ? "demo" : "What should the agent do?"}
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
          <input value={form.title} placeholder="Optional" onInput={set("title")} />
        </label>
        <Select label="Permissions" value={form.permissionMode} options={PERMISSION_MODES} onChange={set("permissionMode")} />
        <Select
          label="Mode"
          value={form.agentMode}
          options={[{ id: "", name: "Default" }, ...modes]}
          onChange={set("agentMode")}
        />
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
        {model?.variants !== undefined && model.variants.length > 0 && (
          <Select
            label="Variant"
            value={form.variant}
            options={[{ id: "", name: model.defaultVariant ?? "Default" }, ...model.variants.map((variant) => ({ id: variant, name: variant }))]}
            onChange={set("variant")}
          />
        )}
        <McpForm drafts={mcp} failure={mcpFailure} onChange={setMcp} />
        {failure !== null && (
          <p class="wide field-error" role="alert">
            {sanitize(failure)}
          </p>
        )}
        <div class="wide actions">
          <button class="primary" disabled={isSending || id === ""}>
            {form.message.trim() === "" ? "Create" : "Create and send"}
          </button>
        </div>
      </form>
    </main>
  );
}

/** The modes and models of an agent, once the server knows them. */
function useOptions(id: string, isInstalled: boolean): { modes: readonly ModeInfo[]; models: ModelList | null } {
  const [modes, setModes] = useState<readonly ModeInfo[]>([]);
  const [models, setModels] = useState<ModelList | null>(null);
  useEffect(() => {
    setModes([]);
    setModels(null);
    if (id === "") return;
    const abort = new AbortController();
    // An agent that is not installed may have no modes and models to show.
    void client.modes(id, { signal: abort.signal }).then(setModes, () => {});
    void client.models(id, { signal: abort.signal }).then(setModels, () => {});
    return () => abort.abort();
  }, [id, isInstalled]);
  return { modes, models };
}

interface SelectProps {
  label: string;
  value: string;
  options: readonly { readonly id: string; readonly name: string; readonly description?: string }[];
  onChange: (event: { currentTarget: { value: string } }) => void;
}

function Select({ label, value, options, onChange }: SelectProps) {
  return (
    <label>
      {label}
      <select value={value} onChange={onChange}>
        {options.map((option) => (
          <option key={option.id} value={option.id} title={option.description}>
            {option.name}
          </option>
        ))}
      </select>
    </label>
  );
}

/** The agents that can run at once; the others on demand. */
function AgentChoice({ list, chosen, onChange }: { list: readonly AgentInfo[]; chosen: string; onChange: (id: string) => void }) {
  const [isWhole, setWhole] = useState(false);
  const isReady = ({ id, installed }: AgentInfo) => installed || id === chosen || installations.value.has(id);
  const ready = list.filter(isReady);
  const others = list.filter((agent) => !isReady(agent));
  return (
    <fieldset class="agents">
      <legend>Agent</legend>
      {[...ready, ...(isWhole ? others : [])].map((agent) => (
        <label key={agent.id} class={agent.id === chosen ? "agent-card chosen" : "agent-card"}>
          <input type="radio" name="agent" value={agent.id} checked={agent.id === chosen} onChange={() => onChange(agent.id)} />
          <AgentMark agent={agent.id} />
          <span>
            <strong>{agent.name}</strong>
            <small>{agentState(agent)}</small>
          </span>
        </label>
      ))}
      {others.length > 0 && (
        <button type="button" class="more-agents" aria-expanded={isWhole} onClick={() => setWhole(!isWhole)}>
          {isWhole ? "Fewer agents" : `${others.length} agents to install`}
        </button>
      )}
    </fieldset>
  );
}

function agentState(agent: AgentInfo): string {
  if (agent.id === MOCK) return "Built in, needs no key";
  if (!agent.installed) return installations.value.get(agent.id)?.failure === null ? "Installing…" : "Not installed";
  const version = agent.version == null ? "Installed" : `Version ${agent.version}`;
  return agent.credentialsAvailable ? version : `${version}, no key found`;
}
