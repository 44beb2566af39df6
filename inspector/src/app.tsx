import { useEffect, useState } from "preact/hooks";
import { hasToken, serverState, setToken } from "./connection.ts";
import { CreateView } from "./create.tsx";
import { ErrorBoundary } from "./error-boundary.tsx";
import { sanitize } from "./format.ts";
import { dismiss, toast } from "./notify.ts";
import { NEW_PATH, route } from "./router.ts";
import { SessionView } from "./session.tsx";
import { sessions } from "./session-list.ts";
import { Sidebar } from "./sidebar.tsx";

export function App() {
  const shown = route.value;
  if (serverState.value === "unauthorised") return <TokenForm />;
  return (
    <div class={`app view-${shown.view}`}>
      {serverState.value === "offline" && (
        <p class="banner offline" role="alert">
          The server does not answer. This page continues when the server is back.
        </p>
      )}
      <Sidebar />
      <ErrorBoundary what="this view" attempt={shown}>
        {shown.view === "session" ? (
          <SessionView key={shown.id} id={shown.id} part={shown.part} sequence={shown.sequence} />
        ) : shown.view === "new" ? (
          <CreateView />
        ) : (
          <Welcome />
        )}
      </ErrorBoundary>
      {toast.value !== null && (
        <div class={toast.value.isError ? "toast error" : "toast"} role={toast.value.isError ? "alert" : "status"}>
          <p>{sanitize(toast.value.text)}</p>
          {toast.value.isError && (
            <button class="link" aria-label="Dismiss" onClick={dismiss}>
              ✕
            </button>
          )}
        </div>
      )}
    </div>
  );
}

const KEYS: readonly (readonly [keys: readonly string[], meaning: string])[] = [
  [["j", "k"], "next, previous session"],
  [["/"], "search"],
  [["n"], "new session"],
  [["Enter"], "write a message"],
  [["Esc"], "close"],
];

function Welcome() {
  return (
    <main class="welcome">
      <h2>{sessions.value.length === 0 ? "Every coding agent, one stream" : "Choose a session"}</h2>
      <p>
        Run Claude Code, Codex, OpenCode or Amp, answer what they ask, and look at every event beside the line that the agent sent. The mock
        agent shows everything without a key.
      </p>
      <a class="button primary" href={NEW_PATH}>
        New session
      </a>
      <dl class="keys">
        {KEYS.map(([keys, meaning]) => (
          <div key={meaning}>
            <dt>
              {keys.map((key) => (
                <kbd key={key}>{key}</kbd>
              ))}
            </dt>
            <dd>{meaning}</dd>
          </div>
        ))}
      </dl>
    </main>
  );
}

function TokenForm() {
  const [value, setValue] = useState("");
  useEffect(() => {
    document.title = "Interlingua";
  }, []);
  return (
    <main class="token">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (value.trim() !== "") setToken(value.trim());
        }}
      >
        <h1>Interlingua</h1>
        <p>The server needs its token. It is kept until you close this tab.</p>
        {hasToken() && (
          <p class="field-error" role="alert">
            The server refused this token.
          </p>
        )}
        <input
          type="password"
          value={value}
          aria-label="Token"
          placeholder="Token"
          autocomplete="off"
          onInput={(event) => setValue(event.currentTarget.value)}
        />
        <button class="primary">Open</button>
      </form>
    </main>
  );
}
