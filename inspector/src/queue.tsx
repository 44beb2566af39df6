import type { QueuedMessageInfo } from "interlingua/client";
import { useEffect, useState } from "preact/hooks";
import { attempt, client } from "./connection.ts";
import { sanitize } from "./format.ts";

/** The messages whose turns have not begun. Each can be removed. */
export function Queue({ sessionId, count, onChange }: { sessionId: string; count: number; onChange: () => void }) {
  const [isOpen, setOpen] = useState(false);
  const [messages, setMessages] = useState<readonly QueuedMessageInfo[]>([]);

  useEffect(() => {
    if (!isOpen) return;
    const abort = new AbortController();
    // The next change of the queue tries again.
    void client.session(sessionId).queue({ signal: abort.signal }).then(setMessages, () => {});
    return () => abort.abort();
  }, [sessionId, isOpen, count]);

  const remove = async (id: string) => {
    await attempt(() => client.session(sessionId).cancelMessage(id));
    onChange();
  };

  return (
    <details class="queue menu" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary class="badge">{count} in the queue</summary>
      <ol class="menu-items">
        {messages.map(({ id, message }) => (
          <li key={id}>
            <span dir="auto">{sanitize(message.slice(0, 200))}</span>
            <button type="button" class="link" aria-label="Remove from the queue" onClick={() => void remove(id)}>
              ✕
            </button>
          </li>
        ))}
      </ol>
    </details>
  );
}
