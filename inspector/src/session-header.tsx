import { useRef } from "preact/hooks";
import { agentName } from "./agents.ts";
import { AgentMark } from "./agent-mark.tsx";
import { apiPath, client, download } from "./connection.ts";
import { isAnswerOnly, setAnswerOnly } from "./conversation.tsx";
import { sanitize } from "./format.ts";
import type { LiveSession } from "./live.ts";
import { Menu } from "./menu.tsx";
import { UsageView } from "./notes.tsx";
import { attempt, notify } from "./notify.ts";
import { HOME_PATH, navigate, type SessionPart, sessionPath } from "./router.ts";
import { useSession } from "./session-context.ts";
import { forgetSession } from "./session-list.ts";
import { StateBadge } from "./state-badge.tsx";

/** Title, state and settings of a session, its views and what can be done with it. */
export function SessionHeader({ part }: { part: SessionPart }) {
  const live = useSession();
  const info = live.info.value;
  const title = info?.title ?? live.id;
  return (
    <header class="session-header">
      <a class="back" href={HOME_PATH} aria-label="All sessions">
        ‹
      </a>
      <AgentMark agent={info?.agent ?? ""} />
      <div class="titles">
        <h2 dir="auto" title={title}>
          {sanitize(title)}
        </h2>
        <p class="facts">
          <StateBadge state={liveState(live)} />
          <Unparsed live={live} />
          {info !== null && (
            <>
              {info.model !== "default" && <span class="fact-model">{sanitize(info.model)}</span>}
              {info.permissionMode !== null && info.permissionMode !== "default" && <span class="fact-mode">{sanitize(info.permissionMode)}</span>}
              {info.usage !== null && <UsageView usage={info.usage} />}
              {info.directory !== null && (
                <span class="directory" dir="auto" title={info.directory}>
                  {sanitize(info.directory)}
                </span>
              )}
            </>
          )}
        </p>
      </div>
      <div class="session-actions">
        <Tabs live={live} part={part} />
        <SessionMenu live={live} title={title} />
      </div>
    </header>
  );
}

/** The state of the session, which its events tell earlier than the list of sessions. */
function liveState(live: LiveSession): string {
  const { isEnded, isRunning, pending } = live.state;
  const info = live.info.value;
  if (isEnded.value) return "ended";
  if (pending.value.length > 0) return "waiting";
  if (info?.state === "needs_secrets") return "needs_secrets";
  if (isRunning.value) return "running";
  return info?.lastTurnStatus === "failed" ? "failed" : "idle";
}

function Unparsed({ live }: { live: LiveSession }) {
  if (live.unparsedCount === 0) return null;
  return (
    <a class="badge bad" href={sessionPath(live.id, null, { tab: "events" })} title="Payloads of the agent that could not be understood">
      {live.unparsedCount} not understood
    </a>
  );
}

/** The views of a session. Arrow keys change between them. */
function Tabs({ live, part }: { live: LiveSession; part: SessionPart }) {
  const root = useRef<HTMLDivElement>(null);
  const chosen = part.tab === "events" ? 1 : 0;
  const paths = [sessionPath(live.id), sessionPath(live.id, null, { tab: "events" })];
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== "ArrowLeft" && event.key !== "ArrowRight") return;
    event.preventDefault();
    navigate(paths[1 - chosen] as string);
    (root.current?.children[1 - chosen] as HTMLElement | undefined)?.focus();
  };
  return (
    <div class="tabs" role="tablist" aria-label="View" ref={root} onKeyDown={onKeyDown}>
      {["chat", "events"].map((name, index) => (
        <a
          key={name}
          id={`tab-${name}`}
          role="tab"
          aria-selected={index === chosen}
          aria-controls="panel"
          tabIndex={index === chosen ? 0 : -1}
          href={paths[index]}
        >
          {name === "chat" ? (
            "Chat"
          ) : (
            <>
              Events <small>{live.eventCount.value.toLocaleString("en")}</small>
            </>
          )}
        </a>
      ))}
    </div>
  );
}

function SessionMenu({ live, title }: { live: LiveSession; title: string }) {
  const info = live.info.value;
  const save = (format: "jsonl" | "markdown" | "html", extension: string) =>
    void attempt(() => download(`${apiPath(live.id)}/export?format=${format}`, `${live.id}.${extension}`));
  const remove = () => {
    if (!confirm(`Delete the session "${title}" with all its events?`)) return;
    void attempt(async () => {
      await client.session(live.id).delete();
      navigate(HOME_PATH);
      forgetSession(live.id);
      notify("Deleted");
    });
  };
  return (
    <Menu title="⋯" label="More">
      {info !== null && (
        <dl class="menu-facts">
          <div>
            <dt>Agent</dt>
            <dd>{sanitize(agentName(info.agent))}</dd>
          </div>
          <div>
            <dt>Model</dt>
            <dd>{sanitize([info.model, info.variant].filter((part) => part !== null).join(", "))}</dd>
          </div>
          <div>
            <dt>Mode</dt>
            <dd>{sanitize(info.agentMode)}</dd>
          </div>
          {info.directory !== null && (
            <div>
              <dt>Directory</dt>
              <dd dir="auto">{sanitize(info.directory)}</dd>
            </div>
          )}
          <div>
            <dt>Id</dt>
            <dd>{sanitize(live.id)}</dd>
          </div>
        </dl>
      )}
      <label class="menu-check">
        <input type="checkbox" checked={isAnswerOnly.value} onChange={(event) => setAnswerOnly(event.currentTarget.checked)} /> Only the answer
      </label>
      <hr />
      <button onClick={() => save("html", "html")}>Download HTML</button>
      <button onClick={() => save("markdown", "md")}>Download Markdown</button>
      <button onClick={() => save("jsonl", "jsonl")}>Download JSONL</button>
      <hr />
      {!live.state.isEnded.value && <button onClick={() => void attempt(() => client.session(live.id).terminate())}>Terminate</button>}
      <button class="danger" onClick={remove}>
        Delete
      </button>
    </Menu>
  );
}
