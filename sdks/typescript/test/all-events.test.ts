import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type AllEvents, GapError, Interlingua, SseDecoder, type UniversalEvent } from "../src/client.js";
import { Proxy } from "./support/proxy.js";
import { TestServer, TOKEN } from "./support/server.js";

let server: TestServer;
let client: Interlingua;

beforeAll(async () => {
  server = await TestServer.start();
  client = Interlingua.connect({ baseUrl: server.baseUrl, token: TOKEN });
});
afterAll(() => server.kill());

async function createSessions(prefix: string, count: number, labels?: Record<string, string>) {
  const created = Array.from({ length: count }, (_, number) =>
    client.createSession({ agent: "mock", id: `${prefix}-${number}`, ...(labels && { labels }) }),
  );
  return Promise.all(created);
}

/** Reads events of sessions with a prefix until this number of their turns has ended. */
async function readTurns(events: AllEvents, prefix: string, turns: number): Promise<Map<string, UniversalEvent[]>> {
  const sessions = new Map<string, UniversalEvent[]>();
  let ended = 0;
  for await (const event of events) {
    if (!event.session_id.startsWith(prefix)) continue;
    sessions.set(event.session_id, [...(sessions.get(event.session_id) ?? []), event]);
    if (event.type === "turn.ended") ended += 1;
    if (ended === turns) break;
  }
  return sessions;
}

async function expectComplete(sessions: Map<string, UniversalEvent[]>) {
  for (const [id, events] of sessions) {
    expect(events).toEqual((await client.session(id).history({ limit: 10_000 })).events);
  }
}

describe("the events of all sessions", () => {
  test("are those that are stored and those to come", async () => {
    const [first] = await createSessions("stored", 3);
    await first!.send("echo stored");
    const events = client.allEvents();
    expect(events.cursor).toBeUndefined();
    const reading = readTurns(events, "stored", 2);
    await client.session("stored-2").send("markdown");
    const sessions = await reading;
    expect([...sessions.keys()].sort()).toEqual(["stored-0", "stored-1", "stored-2"]);
    await expectComplete(sessions);
    // Another stream continues after the last event.
    expect(events.cursor).toMatch(/^[0-9a-f]{8}\./);
    const rest = readTurns(client.allEvents({ cursor: events.cursor }), "stored", 1);
    await client.session("stored-1").send("echo rest");
    expect([...(await rest).keys()]).toEqual(["stored-1"]);
  });

  test("are limited to sessions, labels and agents", async () => {
    await createSessions("labelled", 1, { team: "core" });
    await createSessions("plain", 1);
    for (const filter of [{ labels: { team: "core" } }, { labels: { team: null } }, { sessions: ["labelled-0", "absent"] }]) {
      const reading = readTurns(client.allEvents({ ...filter, cursor: "latest", agent: "mock" }), "", 1);
      // The stream may begin a moment later.
      let finished = false;
      void reading.finally(() => (finished = true));
      while (!finished) {
        await client.session("plain-0").send("echo no");
        await client.session("labelled-0").send("echo yes");
      }
      expect([...(await reading).keys()]).toEqual(["labelled-0"]);
    }
  });

  test("come exactly once over connections that are cut", { timeout: 60_000 }, async () => {
    const proxy = await Proxy.start(server.port, { cutAfterEvents: 23, pieceBytes: 700 });
    const cut = Interlingua.connect({ baseUrl: proxy.baseUrl, token: TOKEN });
    const sessions = await createSessions("cut", 12);
    const reading = readTurns(cut.allEvents(), "cut", 24);
    await Promise.all(sessions.flatMap((session) => [session.send("markdown"), session.send("tool")]));
    const read = await reading;
    expect(read.size).toBe(12);
    expect(proxy.cuts).toBeGreaterThan(5);
    await expectComplete(read);
    proxy.close();
  });

  test("go on after a restart of the server", { timeout: 60_000 }, async () => {
    const [session] = await createSessions("restart", 1);
    const reading = readTurns(client.allEvents(), "restart", 2);
    await session!.send("echo one");
    await server.restart();
    await session!.send("echo two");
    await expectComplete(await reading);
  });

  test("report a gap", async () => {
    const frame = (sequence: number) => `id: c${sequence}\ndata: {"session_id":"s","sequence":${sequence},"type":"x"}\n\n`;
    const body = frame(4) + frame(5) + frame(7);
    const fake = Interlingua.connect({
      baseUrl: "http://fake",
      fetch: async () => new Response(body, { headers: { "content-type": "text/event-stream" } }),
    });
    const sequences: number[] = [];
    const read = async () => {
      for await (const { sequence } of fake.allEvents()) sequences.push(sequence);
    };
    await expect(read()).rejects.toThrow(GapError);
    expect(sequences).toEqual([4, 5]);
  });

  test("are refused with an invalid cursor", async () => {
    const read = async () => {
      for await (const event of client.allEvents({ cursor: "7" })) return event;
      return undefined;
    };
    await expect(read()).rejects.toMatchObject({ kind: "invalid_request" });
  });
});

test("an id counts once its frame is complete", () => {
  const decoder = new SseDecoder();
  const push = (text: string) => decoder.push(new TextEncoder().encode(text));
  expect(push("id: 1\n\n")).toEqual([]);
  expect(decoder.lastEventId).toBe("1");
  push("id: 2\ndata: {");
  expect(decoder.lastEventId).toBe("1");
  expect(push("}\n\n")).toEqual([{ id: "2", event: undefined, data: "{}" }]);
  expect(decoder.lastEventId).toBe("2");
});

describe("a search", () => {
  test("finds events by their words", async () => {
    const [session] = await createSessions("search", 1);
    await session!.send("echo the zebra crosses");
    const found = await client.search("zebra", { limit: 1, agent: "mock" });
    expect(found).toMatchObject({ hasMore: true, complete: true });
    expect(found.results).toMatchObject([{ sessionId: "search-0", agent: "mock", title: null }]);
    const { sequence, snippet } = found.results[0]!;
    expect(snippet).toContain("zebra");
    const { events } = await session!.history({ after: sequence - 1, limit: 1 });
    expect(JSON.stringify(events)).toContain("zebra");
    expect((await client.search('"crosses zebra"')).results).toEqual([]);
    expect((await client.search("zebra", { since: new Date(Date.now() + 60_000) })).results).toEqual([]);
    await expect(client.search("")).rejects.toMatchObject({ kind: "invalid_request" });
  });
});
