import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { EMPTY_TRANSCRIPT, fold, Interlingua, reduce, type TranscriptState, type UniversalEvent } from "../src/client.js";
import { TestServer, TOKEN } from "./support/server.js";

let server: TestServer;
let demo: UniversalEvent[];

beforeAll(async () => {
  server = await TestServer.start();
  const client = Interlingua.connect({ baseUrl: server.baseUrl, token: TOKEN });
  const session = await client.createSession({ agent: "mock" });
  await session.send("demo", { onPermission: () => "once", onQuestion: ({ options }) => options[0] ?? "blue" });
  // The session ends after the turn.
  do demo = (await session.history()).events;
  while (demo.at(-1)?.type !== "session.ended");
});
afterAll(() => server.kill());

describe("fold", () => {
  test("gives the same state as reduce, however the events are split", () => {
    const whole = fold(demo);
    expect(demo.reduce(reduce, EMPTY_TRANSCRIPT)).toEqual(whole);
    for (let split = 0; split <= demo.length; split += 5) {
      expect(fold(demo.slice(split), fold(demo.slice(0, split)))).toEqual(whole);
    }
  });

  test("shows the whole session", () => {
    const state = fold(demo);
    expect(state).toMatchObject({ agent: "mock", model: "mock", status: "ended", pending: [], end: { reason: "completed" } });
    expect(state.plan?.length).toBeGreaterThan(0);
    expect(state.errors).toHaveLength(1);
    expect(state.usage.output_tokens).toBeGreaterThan(0);
    expect(state.lastSequence).toBe(demo.at(-1)?.sequence);
    expect(state.items.every(({ item }) => item.status !== "in_progress")).toBe(true);
    const kinds = new Set(state.items.map(({ item }) => item.kind));
    expect([...kinds].toSorted()).toEqual(["message", "status", "tool_call", "tool_result", "unknown"]);
  });

  test("has the text of a message while it streams", () => {
    let state: TranscriptState = EMPTY_TRANSCRIPT;
    const streamed = new Map<string, string>();
    for (const event of demo) {
      state = reduce(state, event);
      if (event.type !== "item.delta") continue;
      const text = (streamed.get(event.data.item_id) ?? "") + event.data.delta;
      streamed.set(event.data.item_id, text);
      const shown = state.items.find(({ id }) => id === event.data.item_id);
      if (shown?.item.kind === "message") expect(shown.text).toBe(text);
    }
    for (const { id, item, text } of state.items) {
      if (item.kind === "message" && item.status === "completed") expect(text).toBe(streamed.get(id));
    }
  });

  test("has what waits for the user, until it is answered", () => {
    const waiting = new Set<string>();
    let state: TranscriptState = EMPTY_TRANSCRIPT;
    let most = 0;
    for (const event of demo) {
      state = reduce(state, event);
      if (event.type === "permission.requested") waiting.add(event.data.permission_id);
      if (event.type === "permission.resolved") waiting.delete(event.data.permission_id);
      if (event.type === "question.requested") waiting.add(event.data.question_id);
      if (event.type === "question.resolved") waiting.delete(event.data.question_id);
      expect(state.pending.map(({ id }) => id)).toEqual([...waiting]);
      if (waiting.size > 0) expect(state.status).toBe("waiting");
      most = Math.max(most, waiting.size);
    }
    expect(most).toBeGreaterThan(1);
  });

  test("never changes a state that it has returned", () => {
    let state: TranscriptState = EMPTY_TRANSCRIPT;
    const states: [TranscriptState, string][] = [];
    for (const event of demo) {
      states.push([state, JSON.stringify(state)]);
      state = reduce(state, event);
    }
    for (const [before, text] of states) expect(JSON.stringify(before)).toBe(text);
  });

  test("ignores events that are part of the state already", () => {
    const state = fold(demo);
    expect(reduce(state, demo[3] as UniversalEvent)).toBe(state);
  });
});
