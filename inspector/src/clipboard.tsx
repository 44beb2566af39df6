import { useState } from "preact/hooks";
import { attempt } from "./notify.ts";

/** Time for which the button says that the text was copied. */
const CONFIRM_MS = 1_200;

/** Copies a text. Browsers offer their clipboard only to pages of a secure origin. */
async function copyText(text: string): Promise<void> {
  if (navigator.clipboard !== undefined) return navigator.clipboard.writeText(text);
  const field = document.createElement("textarea");
  field.value = text;
  field.className = "hidden";
  document.body.append(field);
  field.select();
  const isCopied = document.execCommand("copy");
  field.remove();
  if (!isCopied) throw new Error("the browser did not copy the text; open the page over HTTPS or from this machine");
}

export function CopyButton({ text, label, title = "Copy" }: { text: string | (() => string); label: string; title?: string }) {
  const [isCopied, setCopied] = useState(false);
  const copy = () =>
    attempt(async () => {
      await copyText(typeof text === "string" ? text : text());
      setCopied(true);
      setTimeout(() => setCopied(false), CONFIRM_MS);
    });
  return (
    <button type="button" class="link copy" aria-label={label} onClick={() => void copy()}>
      {isCopied ? "Copied" : title}
    </button>
  );
}
