import type { SessionInfo } from "interlingua/client";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { client } from "./connection.ts";
import { droppedFiles } from "./drop.ts";
import { formatBytes, sanitize } from "./format.ts";
import { Menu } from "./menu.tsx";
import { attempt } from "./notify.ts";
import { Queue } from "./queue.tsx";
import { announce } from "./subscription.ts";
import { upload } from "./uploads.ts";

/** Height up to which the field grows. */
const MAX_FIELD_HEIGHT = 240;

/** A file of the user, or the path of a file on the server's machine. */
type AttachmentDraft = { readonly file: File } | { readonly path: string };

/** Texts that were not sent yet, by session. */
const drafts = new Map<string, string>();

interface Props {
  info: SessionInfo;
  isRunning: boolean;
  isEnded: boolean;
  /** Reads the session's state again. */
  onQueueChange: () => void;
}

/** Where the user writes. A message that is sent while a turn runs waits in the queue. */
export function Composer({ info, isRunning, isEnded, onQueueChange }: Props) {
  const id = info.sessionId;
  const [text, setText] = useState(drafts.get(id) ?? "");
  const [attachments, setAttachments] = useState<readonly AttachmentDraft[]>([]);
  const [isSending, setSending] = useState(false);
  const field = useRef<HTMLTextAreaElement>(null);
  const isEmpty = text.trim() === "" && attachments.length === 0;

  useLayoutEffect(() => {
    const element = field.current;
    if (element === null) return;
    element.style.height = "auto";
    element.style.height = `${Math.min(element.scrollHeight, MAX_FIELD_HEIGHT)}px`;
  }, [text]);

  const change = (value: string) => {
    if (value === "") drafts.delete(id);
    else drafts.set(id, value);
    setText(value);
  };

  const send = async () => {
    if (isSending || isEmpty) return;
    setSending(true);
    const session = client.session(id);
    const sent = await attempt(async () => {
      const uploads = attachments.map((draft) => ("path" in draft ? { path: draft.path } : upload(session, draft.file)));
      await session.queueMessage(text, { attachments: await Promise.all(uploads) });
      return true;
    });
    setSending(false);
    if (sent === undefined) return;
    change("");
    setAttachments([]);
    field.current?.focus();
    onQueueChange();
    announce(id);
  };

  const add = (files: Iterable<File>) => setAttachments((known) => [...known, ...[...files].map((file) => ({ file }))]);

  const dropped = droppedFiles.value;
  useEffect(() => {
    if (dropped.length === 0) return;
    droppedFiles.value = [];
    if (!isEnded) add(dropped);
  }, [dropped]);

  if (isEnded) return <p class="composer ended">This session has ended. Its events stay readable.</p>;
  return (
    <form
      class="composer"
      onSubmit={(event) => {
        event.preventDefault();
        void send();
      }}
    >
      {attachments.length > 0 && (
        <ul class="attachments" aria-label="Attachments">
          {attachments.map((attachment, index) => (
            <li key={index}>
              <span class="attachment-name" title={attachmentName(attachment)}>
                {sanitize(attachmentName(attachment))}
              </span>
              {"file" in attachment && <small>{formatBytes(attachment.file.size)}</small>}
              <button
                type="button"
                class="link"
                aria-label={`Remove ${sanitize(attachmentName(attachment))}`}
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
        placeholder={isRunning ? "Add a message to the queue" : "Write a message"}
        aria-label="Message"
        onInput={(event) => change(event.currentTarget.value)}
        // A text that comes with a picture is pasted as well.
        onPaste={(event) => add(event.clipboardData?.files ?? [])}
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
        <AttachMenu onFiles={add} onPath={(path) => setAttachments((known) => [...known, { path }])} />
        {info.queued > 0 && <Queue sessionId={id} count={info.queued} onChange={onQueueChange} />}
        <span class="spacer" />
        {isRunning && (
          <button type="button" onClick={() => void attempt(() => client.session(id).interrupt())}>
            Interrupt
          </button>
        )}
        <button class="primary" disabled={isSending || isEmpty}>
          {isSending ? "Sending…" : isRunning ? "Queue" : "Send"}
        </button>
      </div>
    </form>
  );
}

function AttachMenu({ onFiles, onPath }: { onFiles: (files: Iterable<File>) => void; onPath: (path: string) => void }) {
  const [path, setPath] = useState("");
  const add = () => {
    if (path.trim() === "") return;
    onPath(path.trim());
    setPath("");
  };
  return (
    <Menu class="attach upwards" title="+" label="Attach">
      <label class="button">
        Upload files
        <input
          type="file"
          multiple
          class="hidden"
          onChange={(event) => {
            onFiles(event.currentTarget.files ?? []);
            event.currentTarget.value = "";
          }}
        />
      </label>
      <label>
        A file on the server
        <span class="field-row">
          <input
            value={path}
            placeholder="Path"
            spellcheck={false}
            onInput={(event) => setPath(event.currentTarget.value)}
            onKeyDown={(event) => {
              if (event.key !== "Enter") return;
              event.preventDefault();
              add();
            }}
          />
          <button type="button" onClick={add}>
            Add
          </button>
        </span>
      </label>
    </Menu>
  );
}

function attachmentName(draft: AttachmentDraft): string {
  return "path" in draft ? draft.path : draft.file.name;
}
