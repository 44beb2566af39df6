import { useState } from "preact/hooks";
import { serverState, sessions, setToken, toast } from "./connection.ts";
import { CreateView } from "./create.tsx";
import { NEW_PATH, route } from "./router.ts";
import { SessionView } from "./session.tsx";
import { Sidebar } from "./sidebar.tsx";

export function App() {
  const current = route.value;
  if (serverState.value === "unauthorised") return <TokenForm />;
  return (
    <div class={`app view-${current.view}`}>
      {serverState.value === "offline" && (
        <p class="banner" role="alert">
          The server does not answer. The page goes on by itself when it is back.
        </p>
      )}
      <Sidebar />
      {current.view === "session" ? (
        <SessionView key={current.id} id={current.id} sequence={current.sequence} />
      ) : current.view === "new" ? (
        <CreateView />
      ) : (
        <Welcome />
      )}
      {toast.value !== null && (
        <p class={toast.value.isError ? "toast error" : "toast"} role={toast.value.isError ? "alert" : "status"}>
          {toast.value.text}
        </p>
      )}
    </div>
  );
}

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
        <div>
          <dt>
            <kbd>j</kbd> <kbd>k</kbd>
          </dt>
          <dd>next, previous session</dd>
        </div>
        <div>
          <dt>
            <kbd>/</kbd>
          </dt>
          <dd>search</dd>
        </div>
        <div>
          <dt>
            <kbd>n</kbd>
          </dt>
          <dd>new session</dd>
        </div>
        <div>
          <dt>
            <kbd>Enter</kbd>
          </dt>
          <dd>write a message</dd>
        </div>
        <div>
          <dt>
            <kbd>Esc</kbd>
          </dt>
          <dd>close</dd>
        </div>
      </dl>
    </main>
  );
}

function TokenForm() {
  const [value, setValue] = useState("");
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
