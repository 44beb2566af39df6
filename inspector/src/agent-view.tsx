import { useEffect, useMemo, useState } from "preact/hooks";
import { EntryRow } from "./entry-view.tsx";
import { sanitize } from "./format.ts";
import { LongText } from "./markdown.tsx";
import { sessionPath } from "./router.ts";
import { current, useSession } from "./session-context.ts";
import type { Entry, ToolEntry } from "./entry.ts";
import type { Timeline } from "./timeline.ts";
import { splitTitle } from "./tool.tsx";
import { VirtualList } from "./virtual.tsx";

/** What one sub-agent did: the steps below the call that started it. */
export function AgentView({ call }: { call: number }) {
  const live = useSession();
  const [isRead, setRead] = useState(false);
  void live.timeline.version.value;
  useEffect(() => {
    setRead(false);
    void live.show(call).then(() => setRead(true));
  }, [live, call]);
  const entry = findCall(live.timeline, call);
  if (entry === undefined) {
    return <p class="loading">{isRead ? `Event ${call} is not the call of a sub-agent.` : "Loading…"}</p>;
  }
  return <Steps entry={entry} />;
}

function Steps({ entry }: { entry: ToolEntry }) {
  const live = useSession();
  const { call, children, output, isOpen } = current(entry);
  const rows = useMemo(() => [...children], [entry.version.value]);
  const parents: ToolEntry[] = [];
  for (let parent = entry.parent; parent !== null; parent = parent.parent) parents.unshift(parent);
  return (
    <>
      <nav class="crumbs" aria-label="Sub-agent">
        <a href={sessionPath(live.id, entry.sequence)}>Chat</a>
        {parents.map((parent) => (
          <a key={parent.key} href={sessionPath(live.id, null, { tab: "agent", call: parent.sequence })}>
            {splitTitle(parent.call).title}
          </a>
        ))}
        <strong dir="auto">{splitTitle(call).title}</strong>
        {isOpen && live.state.isRunning.value && <span class="spinner" role="status" aria-label="Running" />}
      </nav>
      <VirtualList
        key={entry.key}
        rows={rows}
        rowKey={(child) => child.key}
        render={(child) => <EntryRow entry={child} />}
        label="Steps of the sub-agent"
        role="log"
        followEnd={isOpen}
        onNearEnd={isOpen && !live.isAtTail.value ? () => void live.loadNewer() : undefined}
        footer={output === "" ? undefined : <LongText className="output" text={sanitize(output)} />}
      />
    </>
  );
}

/** The call of a sub-agent that an event began, at any depth. */
function findCall(timeline: Timeline, sequence: number): ToolEntry | undefined {
  const find = (entries: readonly Entry[]): ToolEntry | undefined => {
    for (const entry of entries) {
      if (entry.kind !== "tool") continue;
      const found = entry.sequence === sequence ? entry : find(entry.children);
      if (found !== undefined) return found;
    }
    return undefined;
  };
  return find(timeline.roots);
}
