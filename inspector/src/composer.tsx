import type { SessionInfo } from "interlingua/client";
import { useRef, useState } from "preact/hooks";
import { attempt, client, notify } from "./connection.ts";
import { formatBytes } from "./format.ts";
import { Queue } from "./queue.tsx";

/** Size up to which the server takes a file. */
const MAX_UPLOAD_BYTES = 32 * 1024 * 1024;

/** A file of the user, or the path of a file on the server's machine. */
type AttachmentDraft = { readonly file: File } | { readonly path: string };

/** Texts that were not sent yet, by session. */
const drafts = new Map<string, string>();

interface Props {
  info: SessionInfo | null;
  isRunning: boolean;
  isEnded: boolean;
  /** Reads the session's state again. */
  onQueueChange: () => void;
}

/** Where the user writes. A message that is sent while a turn runs waits in the queue. */
export function Composer({ info, isRunning, isEnded, onQueueChange }: Props) {
  const id = info?.sessionId ?? "";
  const [text, setText] = useState(drafts.get(id) ?? "");
  const [attachments, setAttachments] = useState<readonly AttachmentDraft[]>([]);
  const [isSending, setSending] = useState(false);
  const [isOver, setOver] = useState(false);
  const field = useRef<HTMLTextAreaElement>(null);
  const queued = info?.queued ?? 0;

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
    const session = client.session(id);
    const sent = await attempt(async () => {
      const uploads = attachments.map((draft) => ("path" in draft ? { path: draft.path } : session.upload(draft.file)));
      await session.queueMessage(text, { attachments: await Promise.all(uploads) });
      return true;
    });
    setSending(false);
    if (sent === undefined) return;
    change("");
    setAttachments([]);
    field.current?.focus();
    onQueueChange();
  };

  const add = (files: Iterable<File>) => {
    for (const file of files) {
      if (file.size > MAX_UPLOAD_BYTES) {
        notify(`${file.name} is larger than ${formatBytes(MAX_UPLOAD_BYTES)}; attach its path on the server instead`, true);
      } else {
        setAttachments((known) => [...known, { file }]);
      }
    }
  };

  const addPath = () => {
    const path = prompt("Path of the file on the server's machine");
    if (path !== null && path.trim() !== "") setAttachments((known) => [...known, { path: path.trim() }]);
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
        add(event.dataTransfer?.files ?? []);
      }}
    >
      {attachments.length > 0 && (
        <ul class="attachments">
          {attachments.map((attachment, index) => (
            <li key={index}>
              {attachmentName(attachment)} {"file" in attachment && <small>{formatBytes(attachment.file.size)}</small>}
              <button
                type="button"
                class="link"
                aria-label={`Remove ${attachmentName(attachment)}`}
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
          add(files);
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
        <label class="link button">
          Attach
          <input
            type="file"
            multiple
            class="hidden"
            onChange={(event) => {
              add(event.currentTarget.files ?? []);
              event.currentTarget.value = "";
            }}
          />
        </label>
        <button type="button" class="link" title="Attach a file on the server's machine" onClick={addPath}>
          Attach path
        </button>
        {queued > 0 && <Queue sessionId={id} count={queued} onChange={onQueueChange} />}
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

function attachmentName(draft: AttachmentDraft): string {
  return "path" in draft ? draft.path : draft.file.name;
}
