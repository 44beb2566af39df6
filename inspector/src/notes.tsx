import type { StderrOutput, Usage } from "interlingua/client";
import { formatCount, formatDuration, sanitize } from "./format.ts";
import { Code, LongText, Markdown } from "./markdown.tsx";
import { Chevron, countDone, Plan } from "./parts.tsx";
import { sessionPath } from "./router.ts";
import { current, useSession, useUnfolded } from "./session-context.ts";
import { type ErrorEntry, planSteps, type RequestEntry, type SessionEndEntry, type StatusEntry, type TurnEndEntry } from "./entry.ts";

/** A status of the agent in one line, and what belongs to it. */
export function StatusView({ entry }: { entry: StatusEntry }) {
  const { item } = current(entry);
  const steps = planSteps(item);
  const { planKey } = useSession().timeline;
  const part = item.content.find((part) => part.type === "status");
  const data = item.content.find((part) => part.type === "json")?.json as { summary?: unknown } | null | undefined;
  const [isUnfolded, toggle] = useUnfolded(entry.key, steps !== null && planKey.value === entry.key);
  const isFailed = item.status === "failed";
  if (steps !== null) {
    return (
      <section class="card plan-card">
        <button class="fold" aria-expanded={isUnfolded} onClick={toggle}>
          <Chevron isOpen={isUnfolded} />
          <h3>Plan</h3>
          <span class="badge">{`${countDone(steps)} of ${steps.length}`}</span>
        </button>
        {isUnfolded && <Plan steps={steps} />}
      </section>
    );
  }
  const summary = typeof data?.summary === "string" && data.summary !== "" ? data.summary : null;
  return (
    <div class={`note status-${part?.label ?? "status"}`}>
      <p class="note-line">
        <strong class={isFailed ? "bad" : undefined}>{sanitize((part?.label ?? "status").replaceAll("_", " "))}</strong>{" "}
        <span dir="auto">{sanitize(part?.detail ?? "")}</span>
        {summary !== null && (
          <button class="link" aria-expanded={isUnfolded} onClick={toggle}>
            {isUnfolded ? "Hide the summary" : "Show the summary"}
          </button>
        )}
      </p>
      {summary !== null && isUnfolded && (
        <div class="quoted">
          <Markdown text={summary} />
        </div>
      )}
    </div>
  );
}

const DECISIONS: Record<string, string> = { approved: "Allowed", denied: "Denied" };
const SCOPES: Record<string, string> = { session: "for this session", always: "always" };

/** A request that has its answer. Others are at the bottom of the page. */
export function RequestView({ entry }: { entry: RequestEntry }) {
  const { request } = current(entry);
  if (request.data.status === "requested") return null;
  if (request.kind === "permission") {
    const { action, status, metadata } = request.data;
    const scope = SCOPES[metadata?.scope ?? ""];
    return (
      <p class={`note-line request ${status}`}>
        <strong>{DECISIONS[status] ?? sanitize(status)}</strong> <span dir="auto">{sanitize(action)}</span>
        {status === "approved" && scope !== undefined && <span class="badge">{scope}</span>}
        {metadata?.expired === true && <span class="badge">no answer in time</span>}
        {metadata?.by != null && <span class="badge">by {sanitize(metadata.by)}</span>}
      </p>
    );
  }
  const { prompt, response, status, metadata } = request.data;
  const answer = metadata?.secret === true && response !== null ? "secret, not shown" : sanitize(response ?? "");
  return (
    <section class={`card answered ${status}`}>
      <Markdown text={prompt} />
      <p class="answer" dir="auto">
        <strong>{status === "answered" ? "Answer" : "Rejected"}</strong> {answer}
        {metadata?.expired === true && <span class="badge">no answer in time</span>}
      </p>
    </section>
  );
}

/** What a user can do about an error, by its code. */
const REMEDIES: Record<string, string> = {
  auth: "Check the agent's credentials: its key in the environment of the server, or in the session's `env`.",
  rate_limited: "Wait, then send the message again.",
  overloaded: "The provider is overloaded. Send the message again later.",
  invalid_request: "The provider refused the request. Look at the model and the message.",
  context_overflow: "The conversation is too long for the model. Begin a new session.",
  connection: "The agent cannot reach its provider. Check the network of the server.",
  limit: "A limit of the agent was reached. Send a message to continue.",
  agent_error: "The next message starts the agent again.",
};

/** The sentence of an error. Some agents pass the provider's whole answer on, as JSON. */
function errorSentence(message: string): string {
  if (!message.startsWith("{")) return message;
  try {
    const { error } = JSON.parse(message) as { error?: { message?: unknown } | null };
    return typeof error?.message === "string" ? error.message : message;
  } catch {
    return message;
  }
}

export function ErrorView({ entry }: { entry: ErrorEntry }) {
  const { code, details, message } = entry.error;
  const remedy = REMEDIES[code ?? ""];
  const [isUnfolded, toggle] = useUnfolded(entry.key, false);
  const { id } = useSession();
  return (
    <section class="card error" role="alert">
      <h3>
        Error {code != null && <span class="badge bad">{sanitize(code)}</span>}
        {details?.status != null && <span class="badge">HTTP {details.status}</span>}
        {details?.type != null && <span class="badge">{sanitize(details.type)}</span>}
      </h3>
      <LongText text={sanitize(errorSentence(message))} />
      {details?.stderr != null && <Stderr stderr={details.stderr} />}
      <p class="remedy">
        {remedy}{" "}
        {details?.native != null && (
          <button class="link" aria-expanded={isUnfolded} onClick={toggle}>
            {isUnfolded ? "Hide the details" : "Show the details"}
          </button>
        )}{" "}
        <a href={sessionPath(id, entry.sequence, { tab: "events" })}>Event {entry.sequence}</a>
      </p>
      {isUnfolded && details?.native != null && <Code text={sanitize(JSON.stringify(details.native, null, 2))} language="json" />}
    </section>
  );
}

/** What the agent wrote to its standard error before it ended. */
function Stderr({ stderr }: { stderr: StderrOutput }) {
  const text = [stderr.head, stderr.tail].filter((part) => part != null).join("\n…\n");
  return text === "" ? null : <LongText className="output" text={sanitize(text)} />;
}

const OUTCOMES: Record<string, string> = { completed: "Done", failed: "Failed", interrupted: "Interrupted" };

export function TurnEndView({ entry }: { entry: TurnEndEntry }) {
  const { status, duration_ms: duration, usage } = entry.turn;
  return (
    <p class={`turn-end ${status}`}>
      <span class="outcome">{OUTCOMES[status] ?? sanitize(status)}</span>
      {duration > 0 && <span>{formatDuration(duration)}</span>}
      {usage != null && <UsageView usage={usage} />}
    </p>
  );
}

export function UsageView({ usage }: { usage: Usage }) {
  return (
    <>
      <span title="Input tokens, cached included">{formatCount(usage.input_tokens)} in</span>
      <span title="Output tokens, reasoning included">{formatCount(usage.output_tokens)} out</span>
      {usage.cost_usd != null && <span title="Cost in US dollars">${usage.cost_usd.toFixed(4)}</span>}
    </>
  );
}

export function SessionEndView({ entry }: { entry: SessionEndEntry }) {
  const { reason, message, exit_code: exitCode, stderr } = entry.end;
  const isError = reason === "error";
  return (
    <section class={`card session-end ${isError ? "error" : ""}`}>
      <h3>
        {isError ? "The session ended with an error" : reason === "terminated" ? "The session was terminated" : "The session ended"}
        {exitCode != null && <span class="badge bad">exit code {exitCode}</span>}
      </h3>
      {message != null && <LongText text={sanitize(message)} />}
      {stderr != null && <Stderr stderr={stderr} />}
    </section>
  );
}
