import type { QueuedMessageInfo } from "interlingua/client";
import { useEffect, useState } from "preact/hooks";
import { client } from "./connection.ts";
import { sanitize } from "./format.ts";
import { Menu } from "./menu.tsx";
import { attempt } from "./notify.ts";
import { announce } from "./subscription.ts";

/** The messages whose turns have not begun. Each can be removed. */
export function Queue({ sessionId, count, onChange }: { sessionId: string; count: number; onChange: () => void }) {
  return (
    <Menu class="queue upwards" title={`${count} queued`} label={`${count} messages in the queue`}>
      <QueuedMessages sessionId={sessionId} count={count} onChange={onChange} />
    </Menu>
  );
}

function QueuedMessages({ sessionId, count, onChange }: { sessionId: string; count: number; onChange: () => void }) {
  const [messages, setMessages] = useState<readonly QueuedMessageInfo[]>([]);
  useEffect(() => {
    const abort = new AbortController();
    // The next change of the queue tries again.
    void client.session(sessionId).queue({ signal: abort.signal }).then(setMessages, () => {});
    return () => abort.abort();
  }, [sessionId, count]);
  const remove = async (id: string) => {
    await attempt(() => client.session(sessionId).cancelMessage(id));
    onChange();
    announce(sessionId);
  };
  return (
    <ol>
      {messages.map(({ id, message, attachments }) => (
        <li key={id}>
          <span dir="auto">{sanitize(message.slice(0, 200)) || `${attachments.length} attachments`}</span>
          <button type="button" class="link" aria-label="Remove from the queue" onClick={() => void remove(id)}>
            ✕
          </button>
        </li>
      ))}
    </ol>
  );
}
