import type { SessionInfo } from "interlingua/client";
import { useRef, useState } from "preact/hooks";
import { attempt, client, notify, request } from "./connection.ts";
import { formatBytes } from "./format.ts";

/** Size up to which a file becomes part of the message. */
const MAX_INLINE_BYTES = 64 * 1024;

interface Attachment {
  readonly name: string;
  /** A file on the server's machine. */
  readonly path?: string;
  /** The content of a text file, which becomes part of the message. */
  readonly text?: string;
  readonly size?: number;
}

/** Texts that were not sent yet, by session. */
const drafts = new Map<string, string>();

/** Where the user writes. A message that is sent while a turn runs waits in the queue. */
export function Composer({ info, isRunning, isEnded }: { info: SessionInfo | null; isRunning: boolean; isEnded: boolean }) {
  const id = info?.sessionId ?? "";
  const [text, setText] = useState(drafts.get(id) ?? "");
  const [attachments, setAttachments] = useState<readonly Attachment[]>([]);
  const [isSending, setSending] = useState(false);
  const [isOver, setOver] = useState(false);
  const field = useRef<HTMLTextAreaElement>(null);
  const queued = (info as { queued?: number } | null)?.queued ?? 0;

  const change = (value: string) => {
    drafts.set(id, value);
    setText(value);
    const element = field.current;
    if (element !== null) {
      element.style.height = "auto";
      element.style.height = `${Math.min(element.scrollHeight, 240)}px`;
    }
  };

  const send = async () => {
    if (isSending || (text.trim() === "" && attachments.length === 0)) return;
    setSending(true);
    const inline = attachments.flatMap(({ name, text: content }) => (content === undefined ? [] : [fenced(name, content)]));
    const files = attachments.flatMap(({ path }) => (path === undefined ? [] : [{ path }]));
    const body = { message: [text, ...inline].join("\n\n"), ...(files.length > 0 && { attachments: files }) };
    const sent = await attempt(() =>
      request(`/v1/sessions/${encodeURIComponent(id)}/messages`, { method: "POST", body: JSON.stringify(body) }),
    );
    setSending(false);
    if (sent !== undefined) {
      change("");
      setAttachments([]);
      field.current?.focus();
    }
  };

  const add = async (files: Iterable<File>) => {
    for (const file of files) {
      if (file.size > MAX_INLINE_BYTES) {
        notify(`${file.name} is larger than ${formatBytes(MAX_INLINE_BYTES)}; give its path on the server instead`, true);
        continue;
      }
      const content = await file.text();
      if (content.includes("\0") || content.includes("\ufffd")) {
        notify(`${file.name} is not a text file; give its path on the server instead`, true);
        continue;
      }
      setAttachments((known) => [...known, { name: file.name, text: content, size: file.size }]);
    }
  };

  const addPath = () => {
    const path = prompt("Path of the file on the server's machine");
    if (path !== null && path.trim() !== "") setAttachments((known) => [...known, { name: path.trim(), path: path.trim() }]);
  };

  if (isEnded) return <p class="composer ended">This session has ended. Its events stay readable.</p>;
  return (
    <form
      class={isOver ? "composer over" : "composer"}
      onSubmit={(event) => {
        event.preventDefault();
        void send();
      }}
      onDragOver={(event) => {
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={(event) => {
        event.preventDefault();
        setOver(false);
        void add(event.dataTransfer?.files ?? []);
      }}
    >
      {attachments.length > 0 && (
        <ul class="attachments">
          {attachments.map((attachment, index) => (
            <li key={index}>
              {attachment.name} {attachment.size !== undefined && <small>{formatBytes(attachment.size)}</small>}
              <button
                type="button"
                class="link"
                aria-label={`Remove ${attachment.name}`}
                onClick={() => setAttachments(attachments.filter((other) => other !== attachment))}
              >
                ✕
              </button>
            </li>
          ))}
        </ul>
      )}
      <textarea
        ref={field}
        rows={1}
        value={text}
        placeholder={isRunning ? "Send a message to the queue" : "Send a message"}
        aria-label="Message"
        onInput={(event) => change(event.currentTarget.value)}
        onPaste={(event) => {
          const files = event.clipboardData?.files;
          if (files === undefined || files.length === 0) return;
          event.preventDefault();
          void add(files);
        }}
        onKeyDown={(event) => {
          if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
            event.preventDefault();
            void send();
          } else if (event.key === "Escape") {
            event.currentTarget.blur();
          }
        }}
      />
      <div class="composer-actions">
        <button type="button" class="link" onClick={addPath}>
          Attach
        </button>
        {queued > 0 && <span class="badge">{queued} in the queue</span>}
        <span class="spacer" />
        {isRunning && (
          <button type="button" onClick={() => void attempt(() => client.session(id).interrupt())}>
            Interrupt
          </button>
        )}
        <button class="primary" disabled={isSending || (text.trim() === "" && attachments.length === 0)}>
          {isRunning ? "Queue" : "Send"}
        </button>
      </div>
    </form>
  );
}

/** A file as a code block whose fence is longer than those in the file. */
function fenced(name: string, content: string): string {
  const longest = Math.max(2, ...(content.match(/`+/g) ?? []).map((run) => run.length));
  const fence = "`".repeat(longest + 1);
  return `${name}:\n${fence}\n${content}\n${fence}`;
}
