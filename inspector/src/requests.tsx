import type { FileChange, Permission, Question, Reply } from "interlingua/client";
import { useState } from "preact/hooks";
import { attempt, client } from "./connection.ts";
import { Changes } from "./entries.tsx";
import { sanitize } from "./format.ts";
import { LongText, Markdown } from "./markdown.tsx";
import { type PendingRequest, requestId } from "./timeline.ts";

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

function PermissionCard({ sessionId, permission }: { sessionId: string; permission: Permission }) {
  const [isSending, setSending] = useState(false);
  const scopes = permission.metadata?.scopes ?? ["once"];
  const input = permission.metadata?.input as Record<string, unknown> | null | undefined;
  const reply = async (answer: Reply) => {
    setSending(true);
    await attempt(() => client.session(sessionId).replyPermission(permission.permission_id, answer));
    setSending(false);
  };
  return (
    <section class="request-card">
      <h3>
        <span class="ask">Permission</span> <span dir="auto">{sanitize(permission.action)}</span>
      </h3>
      {permission.metadata?.reason != null && <p dir="auto">{sanitize(permission.metadata.reason)}</p>}
      {typeof input?.["command"] === "string" && <LongText className="command" text={sanitize(input["command"])} />}
      {Array.isArray(input?.["changes"]) && <Changes changes={input["changes"] as FileChange[]} />}
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

function QuestionCard({ sessionId, question }: { sessionId: string; question: Question }) {
  const { metadata, question_id: id } = question;
  const options = metadata?.options?.length ? metadata.options : question.options.map((label) => ({ label, description: null }));
  const isMultiple = metadata?.multi_select === true;
  const [chosen, setChosen] = useState<readonly string[]>([]);
  const [text, setText] = useState("");
  const [isSending, setSending] = useState(false);
  const hasText = options.length === 0 || metadata?.free_text !== false;
  const answer = async (answers: readonly string[]) => {
    setSending(true);
    await attempt(() => client.session(sessionId).replyQuestion(id, answers));
    setSending(false);
  };
  const reject = async () => {
    setSending(true);
    await attempt(() => client.session(sessionId).rejectQuestion(id));
    setSending(false);
  };
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
      <div class="options" role="group" aria-label="Choices">
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
        <button type="button" class="danger" disabled={isSending} onClick={() => void reject()}>
          Reject
        </button>
      </form>
    </section>
  );
}
