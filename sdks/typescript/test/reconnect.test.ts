import process from "node:process";
import { setTimeout as wait } from "node:timers/promises";
import { afterEach, describe, expect, test } from "vitest";
import { fold, Interlingua, type UniversalEvent } from "../src/client.js";
import { Proxy } from "./support/proxy.js";
import { longTurn } from "./support/scenario.js";
import { TestServer, TOKEN } from "./support/server.js";

/** How often the server is killed. */
const KILLS = Number(process.env["INTERLINGUA_SDK_KILLS"] ?? 3);
const TURN_EVENTS = 2_000;

const cleanup: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of cleanup.splice(0)) await close();
});

async function startServer(...args: string[]): Promise<TestServer> {
  const server = await TestServer.start(...args);
  cleanup.push(() => server.kill());
  return server;
}

const connect = (baseUrl: string) => Interlingua.connect({ baseUrl, token: TOKEN });

/** Fails unless the sequences are consecutive. */
function expectConsecutive(events: UniversalEvent[], first: number): void {
  const wrong = events.findIndex((event, index) => event.sequence !== first + index);
  expect(wrong === -1 ? undefined : events.slice(Math.max(0, wrong - 1), wrong + 2)).toBeUndefined();
}

describe("kill -9 of the server", () => {
  test(`in ${KILLS} turns with ${TURN_EVENTS} events loses and repeats no event, and each turn ends`, { timeout: 60_000 + KILLS * 15_000 }, async () => {
    const server = await startServer("--mock-scenario", longTurn(TURN_EVENTS));
    const session = await connect(server.baseUrl).createSession({ agent: "mock" });
    let next = 2;
    const outcomes = { completed: 0, failed: 0 };
    const followed: UniversalEvent[] = [];
    const following = (async () => {
      for await (const event of session.events()) followed.push(event);
    })();
    for (let round = 0; round < KILLS; round += 1) {
      const turn = session.send("long");
      const events: UniversalEvent[] = [];
      const killAfter = Math.floor(Math.random() * TURN_EVENTS);
      const byTime = round % 2 === 0;
      let killing: Promise<void> | undefined = byTime ? wait(Math.random() * 150).then(() => server.restart()) : undefined;
      for await (const event of turn) {
        events.push(event);
        if (!byTime && events.length === killAfter) killing = server.restart();
      }
      await killing;
      const { status } = await turn;
      expectConsecutive(events, next);
      expect(events[0]?.type).toBe("turn.started");
      expect(events.at(-1)?.type).toBe("turn.ended");
      expect(events.filter((event) => event.type === "turn.started")).toHaveLength(1);
      expect(["completed", "failed"]).toContain(status);
      outcomes[status as keyof typeof outcomes] += 1;
      next += events.length;
    }
    await session.terminate();
    await following;
    expectConsecutive(followed, 1);
    const stored: UniversalEvent[] = [];
    for await (const page of session.history()) stored.push(...page.events);
    expect(stored).toEqual(followed);
    // A message that was sent once ran once.
    expect(stored.filter((event) => event.type === "turn.started")).toHaveLength(KILLS);
    if (KILLS > 10) console.log(`${KILLS} kills, ${stored.length} events, turns: ${JSON.stringify(outcomes)}`);
  });

  test("while a permission waits ends the turn `failed` and throws nothing", async () => {
    const server = await startServer();
    const session = await connect(server.baseUrl).createSession({ agent: "mock" });
    const asked: string[] = [];
    const { status, items } = await session.send("permission", {
      onPermission: async ({ permission_id }, { signal }) => {
        asked.push(permission_id);
        if (asked.length === 1) void server.restart();
        await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
        return "once";
      },
    });
    expect(status).toBe("failed");
    expect(asked).toHaveLength(2);
    expect(items.some(({ item }) => item.status === "in_progress")).toBe(false);
  });
});

describe("a proxy", () => {
  test("that cuts every 50 events costs no event", async () => {
    const server = await startServer("--mock-scenario", longTurn(TURN_EVENTS));
    const proxy = await Proxy.start(server.port, { cutAfterEvents: 50 });
    cleanup.push(() => proxy.close());
    const session = await connect(proxy.baseUrl).createSession({ agent: "mock" });
    const turn = session.send("long");
    const events: UniversalEvent[] = [];
    for await (const event of turn) events.push(event);
    expectConsecutive(events, 2);
    expect(events.length).toBeGreaterThan(TURN_EVENTS - 50);
    expect(proxy.cuts).toBeGreaterThan(30);
    expect((await turn).status).toBe("completed");
  });

  test("that splits bytes anywhere does not change an event", async () => {
    const server = await startServer("--mock-scenario", longTurn(200));
    const session = await connect(server.baseUrl).createSession({ agent: "mock" });
    const { text } = await session.send("long");
    expect(text).toContain("grüße 100 👋");
    const whole = (await session.history()).events;
    for (const pieceBytes of [1, 2, 3, 7]) {
      const proxy = await Proxy.start(server.port, { pieceBytes });
      cleanup.push(() => proxy.close());
      const pieces: UniversalEvent[] = [];
      for await (const event of connect(proxy.baseUrl).session(session.id).events()) {
        pieces.push(event);
        if (pieces.length === whole.length) break;
      }
      expect(pieces).toEqual(whole);
    }
  });
});

describe("a consumer", () => {
  test("that stalls misses nothing of 10,000 events", async () => {
    const server = await startServer("--mock-scenario", longTurn(10_000));
    const session = await connect(server.baseUrl).createSession({ agent: "mock" });
    const events: UniversalEvent[] = [];
    for await (const event of session.send("long")) {
      events.push(event);
      if (events.length % 2_500 === 0) await wait(300);
    }
    expectConsecutive(events, 2);
    expect(events.length).toBeGreaterThan(9_900);
    const state = fold(events);
    expect(state.items.at(-1)?.text.startsWith("grüße 0 👋 grüße 1 👋")).toBe(true);
  });

  test("is told when the server stays away", async () => {
    const server = await startServer();
    const client = Interlingua.connect({ baseUrl: server.baseUrl, token: TOKEN, reconnectTimeoutMs: 500 });
    const session = await client.createSession({ agent: "mock" });
    const turn = session.send("permission");
    for await (const event of turn) {
      if (event.type === "permission.requested") break;
    }
    await server.kill();
    await expect(turn).rejects.toMatchObject({ name: "ConnectionError", message: expect.stringContaining("500 ms") });
  });

  test("gets a new connection when the old one is silent", async () => {
    const server = await startServer();
    let opened = 0;
    const client = Interlingua.connect({
      baseUrl: server.baseUrl,
      token: TOKEN,
      idleTimeoutMs: 200,
      fetch: async (input, init) => {
        if (String(input).includes("/sse")) opened += 1;
        return fetch(input, init);
      },
    });
    const session = await client.createSession({ agent: "mock" });
    const seen: number[] = [];
    for await (const event of session.events()) {
      seen.push(event.sequence);
      if (seen.length === 1) {
        setTimeout(() => void session.send("echo late").then(() => session.terminate()), 1_000);
      }
    }
    expect(opened).toBeGreaterThan(2);
    expect(seen).toEqual(seen.map((_, index) => index + 1));
  });
});
