import { getEventListeners } from "node:events";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { SseDecoder, type UniversalEvent } from "../src/client.js";
import { buildInspectorUrl, SandboxAgent, SandboxAgentError } from "../src/sandbox-agent.js";
import { BINARY, temporaryFolder, TestServer, TOKEN } from "./support/server.js";

let server: TestServer;
let agent: SandboxAgent;

beforeAll(async () => {
  server = await TestServer.start();
  agent = await SandboxAgent.connect({ baseUrl: server.baseUrl, token: TOKEN });
});
afterAll(async () => {
  await agent.dispose();
  await server.kill();
});

async function readSse(response: Response, last: string): Promise<UniversalEvent[]> {
  const decoder = new SseDecoder();
  const events: UniversalEvent[] = [];
  for await (const chunk of response.body as ReadableStream<Uint8Array>) {
    for (const frame of decoder.push(chunk)) events.push(JSON.parse(frame.data) as UniversalEvent);
    if (events.at(-1)?.type === last) break;
  }
  return events;
}

describe("the methods of sandbox-agent 0.1", () => {
  test("getHealth, listAgents, installAgent, getAgentModes, getAgentModels", async () => {
    expect((await agent.getHealth()).status).toBe("ok");
    expect((await agent.listAgents()).agents.map(({ id }) => id)).toContain("mock");
    await agent.installAgent("mock", { reinstall: false });
    expect((await agent.getAgentModes("mock")).modes.length).toBeGreaterThan(0);
    expect((await agent.getAgentModels("mock")).models.map(({ id }) => id)).toEqual(["mock"]);
  });

  test("createSession, listSessions, postMessage, getEvents, terminateSession", async () => {
    expect(await agent.createSession("one", { agent: "mock" })).toMatchObject({ healthy: true });
    await agent.postMessage("one", { message: "echo hi" });
    await expect.poll(async () => (await agent.getEvents("one")).events.at(-1)?.type).toBe("turn.ended");
    const page = await agent.getEvents("one", { offset: 1, limit: 2, includeRaw: true });
    expect(page.events.map(({ sequence }) => sequence)).toEqual([2, 3]);
    expect(page.hasMore).toBe(true);
    await agent.terminateSession("one");
    const { sessions } = await agent.listSessions();
    expect(sessions.find(({ sessionId }) => sessionId === "one")).toMatchObject({ ended: true });
  });

  test("postMessageStream, getEventsSse", async () => {
    await agent.createSession("two", { agent: "mock" });
    const turn = await readSse(await agent.postMessageStream("two", { message: "echo hi" }, { includeRaw: true }), "turn.ended");
    expect(turn[0]?.type).toBe("turn.started");
    expect(turn.at(-1)?.type).toBe("turn.ended");
    const events = await readSse(await agent.getEventsSse("two", { offset: 1 }), "turn.ended");
    expect(events.map(({ sequence }) => sequence)).toEqual(turn.map(({ sequence }) => sequence));
  });

  test("getEventsSse of an ended session is an empty stream", async () => {
    await agent.createSession("ended", { agent: "mock" });
    await agent.terminateSession("ended");
    const { events } = await agent.getEvents("ended");
    const response = await agent.getEventsSse("ended", { offset: events.length });
    expect(response.headers.get("content-type")).toBe("text/event-stream");
    expect(await readSse(response, "session.ended")).toEqual([]);
  });

  test("streams leave no listener on the signal when they end", async () => {
    await agent.createSession("signal", { agent: "mock" });
    const { signal } = new AbortController();
    for (let count = 0; count < 15; count += 1) {
      await readSse(await agent.postMessageStream("signal", { message: "echo hi" }, {}, signal), "");
      // Left before its end.
      const { body } = await agent.getEventsSse("signal", {}, signal);
      for await (const _chunk of body as ReadableStream<Uint8Array>) break;
      await expect(agent.getEventsSse("nobody", {}, signal)).rejects.toBeInstanceOf(SandboxAgentError);
    }
    expect(getEventListeners(signal, "abort")).toEqual([]);
  });

  test("a signal cancels a stream that was opened", async () => {
    await agent.createSession("cancel", { agent: "mock" });
    const controller = new AbortController();
    const response = await agent.getEventsSse("cancel", {}, controller.signal);
    const reading = readSse(response, "session.ended");
    controller.abort(new Error("enough"));
    await expect(reading).rejects.toThrow("enough");
  });

  test("streamEvents, streamTurn, replyPermission", async () => {
    await agent.createSession("three", { agent: "mock" });
    const first = [];
    for await (const event of agent.streamTurn("three", { message: "permission" })) first.push(event);
    expect(first.at(-1)?.type).toBe("permission.requested");
    const types = [];
    for await (const event of agent.streamEvents("three", { offset: 1 })) {
      types.push(event.type);
      if (event.type === "permission.requested") {
        await agent.replyPermission("three", event.data.permission_id, { reply: "once" });
      }
      if (event.type === "turn.ended") break;
    }
    expect(types.filter((type) => type === "permission.resolved")).toHaveLength(2);
  });

  test("replyQuestion, rejectQuestion", async () => {
    await agent.createSession("four", { agent: "mock" });
    const stop = new AbortController();
    await agent.postMessage("four", { message: "question" });
    const statuses: string[] = [];
    let asked = 0;
    for await (const event of agent.streamEvents("four", {}, stop.signal)) {
      if (event.type === "question.requested") {
        asked += 1;
        const { question_id: id, options } = event.data;
        if (asked === 1) await agent.replyQuestion("four", id, { answers: [[options[0] ?? "x"]] });
        else await agent.rejectQuestion("four", id);
      }
      if (event.type === "question.resolved") statuses.push(event.data.status);
      if (event.type === "turn.ended") break;
    }
    expect(statuses.toSorted()).toEqual(["answered", "rejected"]);
  });

  test("errors are SandboxAgentError with status and problem", async () => {
    const error = await agent.getEvents("nobody").catch((error: unknown) => error);
    expect(error).toBeInstanceOf(SandboxAgentError);
    expect(error).toMatchObject({ status: 404, problem: { title: "Session not found" } });
    const { response } = error as SandboxAgentError;
    expect(response?.headers.get("content-type")).toBe("application/problem+json");
    expect(await response?.json()).toMatchObject({ title: "Session not found" });
  });

  test("start and dispose", async () => {
    const env = { XDG_DATA_HOME: temporaryFolder() };
    const started = await SandboxAgent.start({ spawn: { binaryPath: BINARY, log: "silent", env } });
    expect((await started.getHealth()).status).toBe("ok");
    await started.createSession("s", { agent: "mock" });
    await started.dispose();
    await expect(started.getHealth()).rejects.toThrow();
    await expect(SandboxAgent.start({ spawn: false })).rejects.toThrow(/connect/);
  });
});

test("buildInspectorUrl has token and headers in the fragment", () => {
  expect(buildInspectorUrl({ baseUrl: "http://127.0.0.1:2468" })).toBe("http://127.0.0.1:2468/ui/");
  const url = new URL(buildInspectorUrl({ baseUrl: "http://h", token: "t", headers: { "x-key": "a b&c" } }));
  const fragment = new URLSearchParams(url.hash.slice(1));
  expect(fragment.get("token")).toBe("t");
  expect(JSON.parse(fragment.get("headers") ?? "")).toEqual({ "x-key": "a b&c" });
  expect(buildInspectorUrl({ baseUrl: "http://127.0.0.1:2468/", token: "a b" })).toBe(
    "http://127.0.0.1:2468/ui/#token=a%20b",
  );
});
