import { useState } from "preact/hooks";
import { sanitize } from "./format.ts";

/** Number of lines of a diff that are shown at first. */
const MAX_DIFF_LINES = 400;

/** A unified diff in colour. */
export function Diff({ text }: { text: string }) {
  const [isWhole, setWhole] = useState(false);
  const lines = sanitize(text).replace(/\n$/, "").split("\n");
  const shown = isWhole ? lines : lines.slice(0, MAX_DIFF_LINES);
  return (
    <pre class="diff" dir="ltr">
      {shown.map((line, index) => (
        <span key={index} class={lineClass(line)}>
          {line}
          {"\n"}
        </span>
      ))}
      {shown.length < lines.length && (
        <button class="link" onClick={() => setWhole(true)}>
          Show {lines.length - shown.length} more lines
        </button>
      )}
    </pre>
  );
}

function lineClass(line: string): string {
  if (/^(\+\+\+|---|diff |index )/.test(line)) return "head";
  if (line.startsWith("+")) return "add";
  if (line.startsWith("-")) return "del";
  if (line.startsWith("@@")) return "hunk";
  return "same";
}

/** Added and removed lines of a diff. */
export function diffStat(text: string): { added: number; removed: number } {
  let added = 0;
  let removed = 0;
  for (const line of text.split("\n")) {
    if (line.startsWith("+") && !line.startsWith("+++")) added += 1;
    else if (line.startsWith("-") && !line.startsWith("---")) removed += 1;
  }
  return { added, removed };
}
