import type { ContentPart, FileChange, FileRefPart, Item, PlanStep } from "interlingua/client";
import type { ComponentChildren } from "preact";
import { Diff } from "./diff.tsx";
import { isShownImage, sanitize } from "./format.ts";
import { Code, LongText } from "./markdown.tsx";
import { uploadedImage } from "./uploads.ts";

/** A part of an item that is not its text. */
export function Part({ part }: { part: ContentPart }): ComponentChildren {
  switch (part.type) {
    case "file_ref": {
      const file = part as FileRefPart;
      return (
        <div class="file">
          <p class="path" dir="auto">
            {sanitize(file.path)}
          </p>
          {file.diff != null && <Diff text={file.diff} />}
        </div>
      );
    }
    case "image":
      return <Image path={(part as { path: string }).path} />;
    case "json":
      return <Code text={sanitize(JSON.stringify((part as { json: unknown }).json, null, 2))} language="json" />;
    case "text":
    case "reasoning":
      return <LongText text={sanitize((part as { text: string }).text)} />;
    case "status":
      return <p class="note-line">{sanitize((part as { detail?: string | null }).detail ?? "")}</p>;
    case "tool_call":
    case "tool_result":
      return null;
    default:
      return <p class="note-line">Content of an unknown type.</p>;
  }
}

function Image({ path }: { path: string }) {
  const source = isShownImage(path) ? path : uploadedImage(path);
  if (source !== undefined) return <img class="image" src={source} alt="From the session" />;
  return <p class="path">Image: {sanitize(path.startsWith("data:") ? "of a type that is not shown" : path)}</p>;
}

export function fileRefs(item: Item | null): FileRefPart[] {
  return item?.content.filter((part): part is FileRefPart => part.type === "file_ref") ?? [];
}

/** The changes of files that a tool call asks for. */
export function Changes({ changes }: { changes: readonly FileChange[] }) {
  return (
    <>
      {changes.map((change, index) => (
        <div key={index} class="file">
          <p class="path" dir="auto">
            {sanitize(change.change ?? "change")} {sanitize(change.path)} {change.to != null && `→ ${sanitize(change.to)}`}
          </p>
          {change.diff != null && <Diff text={change.diff} />}
          {change.edits?.map((edit, position) => (
            <Diff key={position} text={`${mark(edit.old, "-")}${mark(edit.new, "+")}`} />
          ))}
        </div>
      ))}
    </>
  );
}

/** Puts a mark in front of each line. */
function mark(text: string, sign: string): string {
  return text === "" ? "" : text.replace(/\n$/, "").split("\n").map((line) => `${sign}${line}\n`).join("");
}

/** A plan as a check list. */
export function Plan({ steps }: { steps: readonly PlanStep[] }) {
  return (
    <ul class="plan">
      {steps.map((step, index) => (
        <li key={index} class={`step-${step.status}`}>
          <StepMark status={step.status} />
          <span dir="auto">{sanitize(step.content)}</span>
        </li>
      ))}
    </ul>
  );
}

const MARKS: Record<string, ComponentChildren> = {
  completed: <path d="M4.2 8.2 7 11l4.8-5.6" />,
  in_progress: <path d="M5 8h6M8.6 5.4 11.2 8l-2.6 2.6" />,
  cancelled: <path d="M5.4 5.4l5.2 5.2M10.6 5.4l-5.2 5.2" />,
};

function StepMark({ status }: { status: string }) {
  return (
    <svg class="mark" viewBox="0 0 16 16" width="16" height="16" role="img" aria-label={status.replace("_", " ")}>
      <rect x="1.5" y="1.5" width="13" height="13" rx="4" />
      {MARKS[status]}
    </svg>
  );
}

/** How many steps of a plan are done. */
export function countDone(steps: readonly PlanStep[]): number {
  return steps.filter(({ status }) => status === "completed").length;
}

export function Chevron({ isOpen }: { isOpen: boolean }) {
  return (
    <svg class={isOpen ? "chevron turned" : "chevron"} viewBox="0 0 12 12" width="12" height="12" aria-hidden="true">
      <path d="M4 2.5 7.5 6 4 9.5" fill="none" stroke="currentColor" stroke-width="1.6" stroke-linecap="round" stroke-linejoin="round" />
    </svg>
  );
}
