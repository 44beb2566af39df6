import { describe, expect, it } from "vitest";
import type { UniversalEvent } from "interlingua/client";
import { isSafeLink, isShownImage, sanitize } from "../src/format.ts";
import { type Entry, Timeline } from "../src/timeline.ts";

/** Events with their sequence, as a server sends them. */
function events(...data: [type: string, data: unknown][]): UniversalEvent[] {
  return data.map(([type, data], index) => ({
    event_id: `evt_${index + 1}`,
    sequence: index + 1,
    time: "2026-01-01T00:00:00.000Z",
    session_id: "s",
    native_session_id: null,
    source: "agent",
    synthetic: false,
    type,
    data,
    raw: null,
  })) as unknown as UniversalEvent[];
}

const item = (id: string, kind: string, content: unknown[], parent: string | null = null, role = "assistant") => ({
  item: { item_id: id, native_item_id: null, parent_id: parent, kind, role, status: "completed", content },
});
const call = (id: string, parent: string | null = null, kind = "command") =>
  item(`item-${id}`, "tool_call", [{ type: "tool_call", name: "t", arguments: "{}", call_id: id, tool_kind: kind }], parent);
const result = (id: string, output: string) => item(`result-${id}`, "tool_result", [{ type: "tool_result", call_id: id, output }], `item-${id}`);
const message = (id: string, text: string, parent: string | null = null) => item(id, "message", [{ type: "text", text }], parent);

/** A session with a message that streams, a sub-agent that runs a command, and a permission. */
const SESSION = events(
  ["session.started", { metadata: { agent: "mock" } }],
  ["turn.started", { turn_id: "t", phase: "started" }],
  ["item.started", message("m", "")],
  ["item.delta", { item_id: "m", native_item_id: null, delta: "Hel" }],
  ["item.delta", { item_id: "m", native_item_id: null, delta: "lo" }],
  ["item.completed", message("m", "Hello")],
  ["item.started", call("agent", "m", "sub_agent")],
  ["item.completed", call("agent", "m", "sub_agent")],
  ["item.started", message("sub", "", "item-agent")],
  ["item.completed", message("sub", "Working", "item-agent")],
  ["item.started", call("ls", "sub")],
  ["item.completed", call("ls", "sub")],
  ["permission.requested", { permission_id: "p", action: "Run ls", status: "requested", metadata: { call_id: "ls" } }],
  ["permission.resolved", { permission_id: "p", action: "Run ls", status: "approved", metadata: { call_id: "ls" } }],
  ["item.started", result("ls", "")],
  ["item.completed", result("ls", "a.txt")],
  ["item.started", result("agent", "")],
  ["item.completed", result("agent", "done")],
  ["turn.ended", { turn_id: "t", phase: "ended", status: "completed", duration_ms: 5, usage: { input_tokens: 1, output_tokens: 2 } }],
);

/** What is shown, as text. */
function outline(entries: readonly Entry[]): unknown[] {
  return entries.map((entry) => {
    if (entry.kind === "message") return entry.text;
    if (entry.kind === "tool") return { [entry.call.call_id]: entry.output, children: outline(entry.children) };
    return entry.kind;
  });
}

const EXPECTED = ["Hello", { agent: "done", children: ["Working", { ls: "a.txt", children: [] }, "request"] }, "turn-end"];

describe("a timeline", () => {
  it("puts results into their calls, and what a sub-agent does below the call that started it", () => {
    const timeline = new Timeline();
    timeline.append(SESSION);
    expect(outline(timeline.roots)).toEqual(EXPECTED);
    expect(timeline.isRunning.value).toBe(false);
    expect(timeline.usage.value).toMatchObject({ input_tokens: 1, output_tokens: 2 });
  });

  it("shows text and requests while they are open", () => {
    const timeline = new Timeline();
    timeline.append(SESSION.slice(0, 4));
    expect(outline(timeline.roots)).toEqual(["Hel"]);
    timeline.append(SESSION.slice(0, 13));
    expect(timeline.pending.value).toHaveLength(1);
    timeline.append(SESSION.slice(13, 14));
    expect(timeline.pending.value).toEqual([]);
  });

  it("is the same wherever the session is cut into pages", () => {
    for (let first = 1; first < SESSION.length; first += 1) {
      for (const middle of [0, Math.floor(first / 2)]) {
        const timeline = new Timeline();
        timeline.append(SESSION.slice(first));
        timeline.prepend(SESSION.slice(middle, first));
        timeline.prepend(SESSION.slice(0, middle));
        const shown = JSON.stringify(outline(timeline.roots));
        for (const part of ["Hello", '"agent":"done"', '"ls":"a.txt"', "Working"]) expect(shown, `cut at ${first}`).toContain(part);
        expect(shown.match(/Hello/g), `cut at ${first}`).toHaveLength(1);
        expect(timeline.pending.value, `cut at ${first}`).toEqual([]);
      }
    }
  });

  it("ignores events that it has", () => {
    const timeline = new Timeline();
    timeline.append(SESSION);
    timeline.append(SESSION);
    expect(outline(timeline.roots)).toEqual(EXPECTED);
  });
});

describe("hostile text", () => {
  it("has no control characters and shows what reorders it", () => {
    expect(sanitize("a\u001b[31mred\u001b[0m\u0007\u0000\r\nb\u202ec")).toBe("ared\nb[U+202E]c");
  });

  it("links only to the web and to mail, and shows only images whose bytes it has", () => {
    expect(["https://a.b", "HTTP://a", "mailto:a@b"].every(isSafeLink)).toBe(true);
    expect(["javascript:alert(1)", "data:text/html,x", "//a", "/x", "file:///x", " javascript:x"].some(isSafeLink)).toBe(false);
    expect(isShownImage("data:image/png;base64,aGk=")).toBe(true);
    expect(["data:image/svg+xml;base64,aGk=", "https://a/b.png", 'data:image/png;base64,"><script>'].some(isShownImage)).toBe(false);
  });
});
