import type { FileRefPart, PlanStep, ToolCallPart } from "interlingua/client";
import { diffStat } from "./diff.tsx";
import { EntryRow } from "./entry-view.tsx";
import { formatDuration, sanitize } from "./format.ts";
import { Code, LongText } from "./markdown.tsx";
import { Changes, Chevron, countDone, fileRefs, Part, Plan } from "./parts.tsx";
import { sessionPath } from "./router.ts";
import { current, useSession, useUnfolded } from "./session-context.ts";
import type { ToolEntry } from "./entry.ts";
import { asInput, ToolInputDetails } from "./tool-input.tsx";

/** Number of lines up to which a diff is shown without unfolding its call. */
const MAX_UNFOLDED_DIFF_LINES = 60;
/** Number of steps of a sub-agent that are shown inside of its call. */
const MAX_SHOWN_STEPS = 20;

/** Labels of calls whose titles do not begin with a verb. */
const LABELS: Record<string, string> = { mcp: "MCP", other: "Tool" };

/** The verb of a call's title and the rest: "Edit" and "src/add.rs". */
export function splitTitle(call: ToolCallPart): { label: string; title: string } {
  const title = sanitize(call.title ?? call.name);
  const label = LABELS[call.tool_kind ?? "other"];
  if (label !== undefined || call.title == null) return { label: label ?? "Tool", title };
  const [, verb, rest] = /^(\S+?):? ([\s\S]+)$/.exec(title) ?? [];
  return verb === undefined || rest === undefined ? { label: "Tool", title } : { label: verb, title: rest };
}

export function ToolView({ entry }: { entry: ToolEntry }) {
  const { call, resultItem, plan } = current(entry);
  const { planKey } = useSession().timeline;
  const { label, title } = splitTitle(call);
  const isSubAgent = call.tool_kind === "sub_agent";
  const diffs = fileRefs(resultItem).filter((part) => part.diff != null);
  const stat = diffStat(diffs.map((part) => part.diff).join("\n"));
  const lines = stat.added + stat.removed;
  const isShort = lines > 0 && lines <= MAX_UNFOLDED_DIFF_LINES;
  const [isUnfolded, toggle] = useUnfolded(entry.key, isShort || (isSubAgent && entry.isOpen) || planKey.value === entry.key);
  const isFailed = resultItem?.status === "failed" && !entry.isOpen;
  return (
    <section class={["tool", isFailed && "failed", entry.isOpen && "open", plan !== null && "plan-card"].filter(Boolean).join(" ")}>
      <button class="fold" aria-expanded={isUnfolded} onClick={toggle}>
        <Chevron isOpen={isUnfolded} />
        <span class={`kind kind-${call.tool_kind ?? "other"}`}>{label}</span>
        <span class="tool-title" dir="auto" title={sanitize(call.title ?? call.name)}>
          {plan === null ? title : `${countDone(plan)} of ${plan.length} done`}
        </span>
        {lines > 0 && (
          <span class="stat">
            <span class="add">+{stat.added}</span> <span class="del">−{stat.removed}</span>
          </span>
        )}
        {entry.children.length > 0 && <span class="badge">{entry.children.length} steps</span>}
        <Outcome entry={entry} isFailed={isFailed} />
      </button>
      {isUnfolded && <ToolBody entry={entry} diffs={diffs} plan={plan} />}
    </section>
  );
}

/** How a call ended, or that it runs. */
function Outcome({ entry, isFailed }: { entry: ToolEntry; isFailed: boolean }) {
  const { result, isOpen } = current(entry);
  const live = useSession();
  if (isOpen) {
    if (live.state.isRunning.value) return <span class="spinner" role="status" aria-label="Running" />;
    // A later page may have the result.
    return live.isAtTail.value ? <span class="badge">in the background</span> : null;
  }
  const exitCode = result?.exit_code;
  return (
    <>
      {exitCode != null && exitCode !== 0 && <span class="badge bad">exit {exitCode}</span>}
      {isFailed && (exitCode == null || exitCode === 0) && <span class="badge bad">failed</span>}
      {exitCode === 0 && <span class="badge good">exit 0</span>}
      {result?.duration_ms != null && <span class="badge">{formatDuration(result.duration_ms)}</span>}
    </>
  );
}

interface BodyProps {
  entry: ToolEntry;
  diffs: readonly FileRefPart[];
  plan: readonly PlanStep[] | null;
}

function ToolBody({ entry, diffs, plan }: BodyProps) {
  const { call, output, resultItem, children, isOpen } = current(entry);
  if (plan !== null) {
    return (
      <div class="tool-body">
        <Plan steps={plan} />
      </div>
    );
  }
  const others = resultItem?.content.filter((part) => part.type !== "tool_result" && part.type !== "file_ref") ?? [];
  const repeats = diffs.some((part) => part.diff === output);
  return (
    <div class="tool-body">
      <ToolInputView call={call} hasDiff={diffs.length > 0} />
      {children.length > 0 && <Steps entry={entry} />}
      {diffs.map((part, index) => (
        <Part key={index} part={part} />
      ))}
      {fileRefs(resultItem)
        .filter((part) => part.diff == null)
        .map((part) => (
          <p key={part.path} class="path" dir="auto">
            {part.action} {sanitize(part.path)}
          </p>
        ))}
      {output !== "" && !repeats && <LongText className="output" text={sanitize(output)} />}
      {output === "" && !isOpen && diffs.length === 0 && others.length === 0 && children.length === 0 && <p class="note-line">No output.</p>}
      {others.map((part, index) => (
        <Part key={index} part={part} />
      ))}
    </div>
  );
}

/** The last steps of a sub-agent, and the way to all of them. */
function Steps({ entry }: { entry: ToolEntry }) {
  const { id } = useSession();
  const { children } = current(entry);
  const hidden = Math.max(0, children.length - MAX_SHOWN_STEPS);
  return (
    <div class="children" role="group" aria-label="What the sub-agent did">
      <p class="note-line">
        <a href={sessionPath(id, null, { tab: "agent", call: entry.sequence })}>
          {hidden > 0 ? `Open the sub-agent: ${hidden} earlier steps` : "Open the sub-agent"}
        </a>
      </p>
      {children.slice(hidden).map((child) => (
        <EntryRow key={child.key} entry={child} />
      ))}
    </div>
  );
}

function ToolInputView({ call, hasDiff }: { call: ToolCallPart; hasDiff: boolean }) {
  const input = asInput(call.input);
  if (input === null) {
    return call.arguments === "{}" || call.arguments === "" ? null : <Code text={sanitize(call.arguments)} language="json" />;
  }
  switch (call.tool_kind) {
    case "file_change":
      if (hasDiff) return null;
      return <Changes changes={(input["changes"] ?? []) as Parameters<typeof Changes>[0]["changes"]} />;
    case "file_read":
    case "search":
    case "web":
    case "question":
      // The title says it.
      return call.title == null ? <ToolInputDetails input={input} /> : null;
    default:
      return <ToolInputDetails input={input} />;
  }
}
