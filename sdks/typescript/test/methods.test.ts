import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Interlingua, type SessionFilter } from "../src/client.js";
import { TestServer, TOKEN } from "./support/server.js";

let server: TestServer;
let client: Interlingua;

beforeAll(async () => {
  server = await TestServer.start();
  client = Interlingua.connect({ baseUrl: server.baseUrl, token: TOKEN });
});
afterAll(() => server.kill());

describe("a client", () => {
  test("reads health, agents, modes and models", async () => {
    expect(await client.health()).toMatchObject({ status: "ok", version: expect.any(String) });
    const agents = await client.agents();
    const ids = agents.map(({ id }) => id);
    expect(ids.slice(0, 4)).toEqual(["claude", "codex", "opencode", "amp"]);
    // Agents of the Agent Client Protocol.
    expect(ids).toContain("gemini");
    expect(ids.at(-1)).toBe("mock");
    expect(agents.at(-1)).toMatchObject({ installed: true, capabilities: { permissions: true } });
    expect((await client.modes("mock")).map(({ id }) => id)).toContain("plan");
    expect(await client.models("mock")).toMatchObject({ defaultModel: "mock", models: [{ id: "mock" }] });
  });

  test("installs an agent", async () => {
    expect(await client.installation("mock")).toMatchObject({ state: "none" });
    await client.installAgent("mock");
    expect(await client.installation("mock")).toMatchObject({ state: "done" });
    await expect(client.installAgent("nobody")).rejects.toMatchObject({ kind: "unsupported_agent" });
  });

  test("creates sessions with and without an id, and lists all of them", async () => {
    const created = [];
    for (let number = 0; number < 3; number += 1) created.push((await client.createSession({ agent: "mock" })).id);
    const named = await client.createSession({ agent: "mock", id: "named", title: "A title", permissionMode: "bypass" });
    expect(await named.info()).toMatchObject({ sessionId: "named", title: "A title", permissionMode: "bypass" });
    const listed = [];
    for await (const session of client.sessions()) listed.push(session.sessionId);
    expect(listed.slice(0, 4)).toEqual(["named", ...created.toReversed()]);
  });

  test("pages through more sessions than one request reads", { timeout: 60_000 }, async () => {
    for (let batch = 0; batch < 11; batch += 1) {
      await Promise.all(Array.from({ length: 20 }, () => client.createSession({ agent: "mock" })));
    }
    const listed = new Set<string>();
    for await (const session of client.sessions()) listed.add(session.sessionId);
    expect(listed.size).toBeGreaterThanOrEqual(220);
  });

  test("sends the headers and uses the `fetch` that it was given", async () => {
    const seen: string[] = [];
    const watched = Interlingua.connect({
      baseUrl: server.baseUrl,
      token: TOKEN,
      headers: { "x-trace": "7" },
      fetch: (input, init) => {
        const headers = new Headers(init?.headers);
        seen.push(`${headers.get("x-trace")} ${headers.get("authorization")}`);
        return fetch(input, init);
      },
    });
    await watched.agents();
    expect(seen).toEqual([`7 Bearer ${TOKEN}`]);
  });
});

describe("a session", () => {
  test("is interrupted, terminated and deleted", async () => {
    const session = await client.createSession({ agent: "mock" });
    await session.interrupt();
    await session.terminate();
    await session.terminate();
    expect(await session.info()).toMatchObject({ ended: true, state: "ended" });
    await session.delete();
    await expect(session.info()).rejects.toMatchObject({ kind: "session_not_found" });
  });

  test("has a queue, from which a message is taken", async () => {
    const session = await client.createSession({ agent: "mock" });
    const first = session.send("permission");
    for await (const event of first) {
      if (event.type === "permission.requested") break;
    }
    const second = session.send("echo two", { id: "second" });
    const third = session.send("echo three", { id: "third" });
    const dropped = third.catch((error: unknown) => error);
    await expect.poll(async () => (await session.queue()).map(({ id }) => id)).toEqual(["second", "third"]);
    await session.cancelMessage("third");
    expect((await session.queue()).map(({ id }) => id)).toEqual(["second"]);
    await session.interrupt();
    expect((await second).text).toBe("two");
    // Nothing hangs, and the message does not run after all.
    await expect.poll(() => Promise.race([dropped, null]), { timeout: 20_000 }).toMatchObject({ status: 409 });
    await expect(session.cancelMessage("second")).rejects.toMatchObject({ status: 409 });
    expect((await session.history()).events.filter(({ type }) => type === "turn.started")).toHaveLength(2);
  });

  test("queues messages in order without following their turns", async () => {
    const session = await client.createSession({ agent: "mock" });
    const turn = session.send("permission");
    const ids = await Promise.all([session.queueMessage("echo one"), session.queueMessage("echo two", { id: "two" })]);
    expect(ids[1]).toBe("two");
    expect((await session.queue()).map(({ id }) => id)).toEqual(ids);
    await session.interrupt();
    await turn;
    expect((await session.send("echo two", { id: "two" })).text).toBe("two");
    await session.terminate();
    await expect(session.queueMessage("echo late")).rejects.toMatchObject({ kind: "session_ended" });
  });

  test("checks a session, and counts its events by type", async () => {
    const session = await client.createSession({ agent: "mock" });
    await session.send("unparsed");
    const { eventCount } = await session.info();
    expect(await session.check()).toMatchObject({ valid: true, events: eventCount, types: { "agent.unparsed": 1, "turn.ended": 1 } });
  });

  test("runs a message once, however often it is sent", async () => {
    const session = await client.createSession({ agent: "mock" });
    const results = await Promise.all([1, 2, 3].map(() => session.send("echo once", { id: "one" })));
    expect(new Set(results.map(({ turnId }) => turnId)).size).toBe(1);
    expect(results.map(({ text }) => text)).toEqual(["once", "once", "once"]);
    // Another process, later.
    const again = Interlingua.connect({ baseUrl: server.baseUrl, token: TOKEN }).session(session.id);
    expect(await again.send("echo once", { id: "one" })).toEqual(results[0]);
    await expect(session.send("echo twice", { id: "one" })).rejects.toMatchObject({ kind: "message_conflict" });
    const { events } = await session.history();
    const started = events.flatMap((event) => (event.type === "turn.started" ? [event.data.metadata?.message_ids] : []));
    expect(started).toEqual([["one"]]);
  });

  test("is changed, and found by what it is", async () => {
    const session = await client.createSession({ agent: "mock", labels: { team: "core" } });
    await session.update({ title: "Renamed", labels: { stage: "test" } });
    expect(await session.info()).toMatchObject({ title: "Renamed", labels: { team: "core", stage: "test" } });
    const find = async (filter: SessionFilter) => {
      const found = [];
      for await (const { sessionId } of client.sessions(filter)) found.push(sessionId);
      return found;
    };
    expect(await find({ labels: { team: "core", stage: null } })).toEqual([session.id]);
    expect(await find({ search: "renam", agent: "mock", state: "idle" })).toEqual([session.id]);
    expect(await find({ labels: { team: "other" } })).toEqual([]);
    expect(await find({ since: new Date(Date.now() + 60_000) })).toEqual([]);
  });

  test("waits for its secrets after a restart of the server", async () => {
    const session = await client.createSession({ agent: "mock", env: { API_KEY: "k1" } });
    await server.restart();
    expect(await session.info()).toMatchObject({ state: "needs_secrets", secretsMissing: ["API_KEY"] });
    await session.setSecrets({ env: { API_KEY: "k2" } });
    expect((await session.send("echo hi")).text).toBe("hi");
  });

  test("lists and imports the sessions that agents keep on disk", async () => {
    const id = "0a1b2c3d-0000-4000-8000-000000000001";
    const project = join(server.home, ".claude/projects/-workspace");
    mkdirSync(project, { recursive: true });
    const common = { sessionId: id, version: "2.1.326", cwd: "/workspace", isSidechain: false };
    const lines = [
      { type: "user", uuid: "u1", parentUuid: null, message: { role: "user", content: "hi" } },
      {
        type: "assistant",
        uuid: "u2",
        parentUuid: "u1",
        message: { id: "m", role: "assistant", model: "x", content: [{ type: "text", text: "hello" }] },
      },
    ].map((line, index) => JSON.stringify({ ...common, ...line, timestamp: `2026-11-18T01:00:0${index}.000Z` }));
    writeFileSync(join(project, `${id}.jsonl`), `${lines.join("\n")}\n`);

    const onDisk = [];
    for await (const session of client.sessionsOnDisk({ agent: "claude" })) onDisk.push(session);
    expect(onDisk).toMatchObject([{ nativeSessionId: id, title: "hi", directory: "/workspace" }]);
    expect(onDisk[0]?.sessionId).toBeUndefined();
    const result = await client.importSessions({ agent: "claude", since: new Date(0) });
    expect(result).toMatchObject({ sessions: 1, imported: 1, problems: [] });
    for await (const session of client.sessionsOnDisk()) {
      expect(await client.session(session.sessionId as string).info()).toMatchObject({ agent: "claude", title: "hi" });
    }
    expect(await client.importSessions({ all: true })).toMatchObject({ imported: 0, unchanged: 1 });
    await expect(client.importSessions({})).rejects.toMatchObject({ kind: "invalid_request" });
    await expect(client.importSessions({ nativeSessionIds: ["no"] })).rejects.toThrow(/no session on disk has the id no/);
  });

  test("answers questions by their id", async () => {
    const session = await client.createSession({ agent: "mock" });
    const turn = session.send("question");
    const seen: string[] = [];
    for await (const event of turn) {
      if (event.type !== "question.requested") continue;
      seen.push(event.data.question_id);
      if (seen.length === 1) await session.replyQuestion(event.data.question_id, event.data.options[0] ?? "text");
      else await session.rejectQuestion(event.data.question_id);
    }
    expect(seen).toHaveLength(2);
    await expect(session.replyQuestion(seen[0] as string, ["again"])).rejects.toMatchObject({ kind: "already_resolved" });
    await expect(session.rejectQuestion("none")).rejects.toMatchObject({ kind: "question_not_found" });
  });
});
