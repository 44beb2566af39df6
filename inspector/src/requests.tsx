import type { Permission, Question, Reply } from "interlingua/client";
import { useState } from "preact/hooks";
import { client } from "./connection.ts";
import { sanitize } from "./format.ts";
import { Code, Markdown } from "./markdown.tsx";
import { attempt } from "./notify.ts";
import { type PendingRequest, requestId } from "./session-state.ts";
import { useSession } from "./session-context.ts";
import type { Timeline } from "./timeline.ts";
import { asInput, ToolInputDetails } from "./tool-input.tsx";

/** The requests without an answer. */
export function PendingRequests({ sessionId, requests }: { sessionId: string; requests: readonly PendingRequest[] }) {
  if (requests.length === 0) return null;
  return (
    <div class="pending" role="region" aria-label="The agent waits for you" aria-live="polite">
      {requests.map((request) =>
        request.kind === "permission" ? (
          <PermissionCard key={requestId(request)} sessionId={sessionId} permission={request.data} />
        ) : (
          <QuestionCard key={requestId(request)} sessionId={sessionId} question={request.data} />
        ),
      )}
    </div>
  );
}

/** Runs an action, and tells whether it is still running. */
function useSending(): [boolean, (action: () => Promise<void>) => Promise<void>] {
  const [isSending, setSending] = useState(false);
  const send = async (action: () => Promise<void>) => {
    setSending(true);
    await attempt(action);
    setSending(false);
  };
  return [isSending, send];
}

function PermissionCard({ sessionId, permission }: { sessionId: string; permission: Permission }) {
  const [isSending, send] = useSending();
  const { metadata } = permission;
  const scopes = metadata?.scopes ?? ["once"];
  const { timeline } = useSession();
  // The call may come a moment later than the request.
  void timeline.version.value;
  const native = asInput(metadata?.native);
  const input = asInput(metadata?.input) ?? (native === null ? callArguments(timeline, metadata?.call_id) : null);
  const reply = (answer: Reply) => send(() => client.session(sessionId).replyPermission(permission.permission_id, answer));
  return (
    <section class="request-card">
      <h3>
        <span class="ask">Permission</span> <span dir="auto">{sanitize(permission.action)}</span>
      </h3>
      {metadata?.reason != null && <p dir="auto">{sanitize(metadata.reason)}</p>}
      {(input ?? native) !== null && (
        <div class="request-input">
          {input === null ? <Code text={sanitize(JSON.stringify(native, null, 2))} language="json" /> : <ToolInputDetails input={input} />}
          {input !== null && native !== null && (
            <details>
              <summary>As the agent sent it</summary>
              <Code text={sanitize(JSON.stringify(native, null, 2))} language="json" />
            </details>
          )}
        </div>
      )}
      <div class="actions">
        <button class="primary" disabled={isSending} onClick={() => void reply("once")}>
          Allow once
        </button>
        {scopes.some((scope) => scope === "always" || scope === "session") && (
          <button disabled={isSending} onClick={() => void reply("always")}>
            {scopes.includes("always") ? "Always allow" : "Allow for this session"}
          </button>
        )}
        <button class="danger" disabled={isSending} onClick={() => void reply("reject")}>
          Reject
        </button>
      </div>
    </section>
  );
}

/** The arguments of the call that waits, for a request that does not repeat them. */
function callArguments(timeline: Timeline, callId: string | null | undefined): Record<string, unknown> | null {
  const call = callId == null ? undefined : timeline.call(callId)?.call;
  if (call === undefined) return null;
  try {
    const value: unknown = JSON.parse(call.arguments);
    return asInput(value) ?? (value === null || typeof value === "object" ? null : { arguments: value });
  } catch {
    return { arguments: call.arguments };
  }
}

function QuestionCard({ sessionId, question }: { sessionId: string; question: Question }) {
  const { metadata, question_id: id } = question;
  const options = metadata?.options?.length ? metadata.options : question.options.map((label) => ({ label, description: null }));
  const isMultiple = metadata?.multi_select === true;
  const [chosen, setChosen] = useState<readonly string[]>([]);
  const [text, setText] = useState("");
  const [isSending, send] = useSending();
  const hasText = options.length === 0 || metadata?.free_text !== false;
  const answer = (answers: readonly string[]) => send(() => client.session(sessionId).replyQuestion(id, answers));
  const choose = (label: string) => {
    if (!isMultiple) void answer([label]);
    else setChosen(chosen.includes(label) ? chosen.filter((other) => other !== label) : [...chosen, label]);
  };
  const answers = text.trim() === "" ? chosen : [...chosen, text.trim()];
  return (
    <section class="request-card">
      <h3>
        <span class="ask">Question</span> {metadata?.header != null && <span dir="auto">{sanitize(metadata.header)}</span>}
      </h3>
      <Markdown text={question.prompt} />
      {options.length > 0 && (
        <div class="options" role="group" aria-label={isMultiple ? "Choices, several possible" : "Choices"}>
          {options.map((option) => (
            <button
              key={option.label}
              class={chosen.includes(option.label) ? "option chosen" : "option"}
              aria-pressed={isMultiple ? chosen.includes(option.label) : undefined}
              disabled={isSending}
              onClick={() => choose(option.label)}
            >
              <span dir="auto">{sanitize(option.label)}</span>
              {option.description != null && <small dir="auto">{sanitize(option.description)}</small>}
            </button>
          ))}
        </div>
      )}
      <form
        class="actions"
        onSubmit={(event) => {
          event.preventDefault();
          if (answers.length > 0) void answer(answers);
        }}
      >
        {hasText && (
          <input
            type={metadata?.secret === true ? "password" : "text"}
            value={text}
            placeholder={options.length > 0 ? "Or your own answer" : "Your answer"}
            aria-label="Answer"
            autocomplete="off"
            onInput={(event) => setText(event.currentTarget.value)}
          />
        )}
        {(hasText || isMultiple) && (
          <button class="primary" disabled={isSending || answers.length === 0}>
            Answer
          </button>
        )}
        <button type="button" class="danger" disabled={isSending} onClick={() => void send(() => client.session(sessionId).rejectQuestion(id))}>
          Reject
        </button>
      </form>
    </section>
  );
}
