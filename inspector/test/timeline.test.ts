import { describe, expect, it } from "vitest";
import type { SessionInfo, UniversalEvent } from "interlingua/client";
import { isSafeLink, isShownImage, sanitize } from "../src/format.ts";
import { requestId, SessionState } from "../src/session-state.ts";
import type { Entry, ToolEntry } from "../src/entry.ts";
import { Timeline } from "../src/timeline.ts";

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

/** The timeline of the events after `first`, to which earlier pages were added that begin after these sequences. */
function paged(session: readonly UniversalEvent[], ...cuts: number[]): Timeline {
  const timeline = new Timeline();
  cuts.forEach((cut, index) => {
    const end = index === 0 ? session.length : (cuts[index - 1] as number);
    if (index === 0) timeline.append(session.slice(cut, end));
    else timeline.prepend(session.slice(cut, end));
  });
  return timeline;
}

describe("a timeline", () => {
  it("puts results into their calls, and what a sub-agent does below the call that started it", () => {
    expect(outline(paged(SESSION, 0).roots)).toEqual(EXPECTED);
  });

  it("shows text while it is written", () => {
    const timeline = paged(SESSION.slice(0, 4), 0);
    expect(outline(timeline.roots)).toEqual(["Hel"]);
  });

  it("changes the version of an entry with every change, and of the calls around it", () => {
    const timeline = paged(SESSION.slice(0, 15), 0);
    const agent = timeline.roots[1] as ToolEntry;
    const ls = agent.children[1] as ToolEntry;
    const versions = () => [agent.version.value, ls.version.value];
    const before = versions();
    timeline.append(SESSION.slice(0, 16));
    expect(versions().every((version, index) => version > (before[index] as number))).toBe(true);
    expect(ls.isOpen).toBe(false);
  });

  it("is the same wherever the session is cut into pages", () => {
    for (let first = 1; first < SESSION.length; first += 1) {
      for (let middle = 0; middle <= first; middle += 1) {
        expect(outline(paged(SESSION, first, middle, 0).roots), `cut at ${first} and ${middle}`).toEqual(EXPECTED);
      }
    }
  });

  it("has the whole text of a message that is still written, wherever it is cut", () => {
    const text = SESSION.slice(0, 5);
    for (let first = 0; first < text.length; first += 1) {
      for (let middle = 0; middle <= first; middle += 1) {
        const timeline = paged(text, first, middle);
        const begun = middle <= 2;
        expect(outline(timeline.roots).join(""), `cut at ${first} and ${middle}`).toBe(begun ? "Hello" : text.slice(middle).map(delta).join(""));
        expect(timeline.hasPartialText).toBe(!begun);
        // What is written then comes once.
        timeline.append([...SESSION.slice(0, 5), ...deltasAfter(5, "m", " you")]);
        if (begun) expect(outline(timeline.roots)).toEqual(["Hello you"]);
      }
    }
  });

  it("ignores events that it has", () => {
    const timeline = paged(SESSION, 0);
    timeline.append(SESSION);
    expect(outline(timeline.roots)).toEqual(EXPECTED);
  });

  it("is complete again after either end was removed and read once more", () => {
    for (let cut = 1; cut < SESSION.length; cut += 1) {
      const timeline = paged(SESSION, 0);
      timeline.removeBefore(cut);
      expect(timeline.firstSequence).toBe(cut);
      timeline.prepend(SESSION.slice(0, cut - 1));
      expect(outline(timeline.roots), `front removed up to ${cut}`).toEqual(EXPECTED);
      timeline.removeAfter(cut);
      expect(timeline.lastSequence).toBe(cut);
      timeline.append(SESSION);
      expect(outline(timeline.roots), `end removed from ${cut}`).toEqual(EXPECTED);
    }
  });

  it("keeps only a part of a long session", () => {
    const many = Array.from({ length: 500 }, (_, index) => [
      ["item.started", message(`m${index}`, "")] as [string, unknown],
      ["item.completed", message(`m${index}`, `text ${index}`)] as [string, unknown],
    ]).flat();
    const timeline = new Timeline();
    timeline.append(events(...many));
    timeline.removeBefore(901);
    expect(outline(timeline.roots)[0]).toBe("text 450");
    expect(timeline.roots).toHaveLength(50);
    timeline.removeAfter(920);
    expect(timeline.roots).toHaveLength(10);
    timeline.clear();
    expect(timeline.roots).toEqual([]);
  });

  it("shows a plan once, and knows which is the current one", () => {
    const plan = (id: string, done: boolean) =>
      item(id, "status", [
        { type: "status", label: "plan", detail: null },
        { type: "json", json: { steps: [{ content: "look", status: done ? "completed" : "pending" }] } },
      ]);
    const planned = events(
      ["item.completed", call("todo", null, "plan")],
      ["item.completed", plan("p1", false)],
      ["item.completed", result("todo", "ok")],
      ["item.completed", plan("p2", true)],
    );
    const timeline = new Timeline();
    timeline.append(planned);
    expect(timeline.roots.map(({ kind }) => kind)).toEqual(["tool", "status"]);
    expect((timeline.roots[0] as ToolEntry).plan).toHaveLength(1);
    expect(timeline.planKey.value).toBe("p2");
  });
});

/** The delta of an event. */
function delta(event: UniversalEvent): string {
  return event.type === "item.delta" ? event.data.delta : "";
}

/** Events with more text of an item. */
function deltasAfter(sequence: number, id: string, text: string): UniversalEvent[] {
  return events(...Array.from({ length: sequence + 1 }, (): [string, unknown] => ["item.delta", { item_id: id, native_item_id: null, delta: text }])).slice(
    sequence,
  );
}

describe("the state of a session", () => {
  const info = { state: "idle", pending: [], ended: false } as unknown as SessionInfo;

  it("follows the events", () => {
    const state = new SessionState();
    state.reset(info);
    const seen = SESSION.map((event) => {
      state.observe(event);
      return [state.isRunning.value, state.pending.value.length];
    });
    expect(seen[0]).toEqual([false, 0]);
    expect(seen[1]).toEqual([true, 0]);
    expect(seen[12]).toEqual([true, 1]);
    expect(seen[13]).toEqual([true, 0]);
    expect(seen.at(-1)).toEqual([false, 0]);
  });

  it("begins with what the server says", () => {
    const state = new SessionState();
    state.reset({ ...info, state: "waiting", pending: [{ kind: "permission", permission_id: "p" }] } as unknown as SessionInfo);
    expect(state.isRunning.value).toBe(true);
    expect(state.pending.value.map(requestId)).toEqual(["p"]);
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
