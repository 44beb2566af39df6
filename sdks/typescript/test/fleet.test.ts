import { afterEach, describe, expect, test } from "vitest";
import { Interlingua, type UniversalEvent } from "../src/client.js";
import { HAS_POSTGRES, Postgres } from "./support/postgres.js";
import { RoundRobinProxy } from "./support/proxy.js";
import { longTurn } from "./support/scenario.js";
import { TestServer, TOKEN } from "./support/server.js";

const SERVERS = 3;
const TURN_EVENTS = 300;

const cleanup: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of cleanup.splice(0).reverse()) await close();
});

async function startFleet(...args: string[]): Promise<{ servers: TestServer[]; proxy: RoundRobinProxy }> {
  const postgres = await Postgres.start();
  cleanup.push(() => postgres.stop());
  const servers: TestServer[] = [];
  for (let number = 0; number < SERVERS; number += 1) {
    const server = await TestServer.start("--store", postgres.url, "--server-name", `server-${number}`, ...args);
    cleanup.push(() => server.kill());
    servers.push(server);
  }
  const proxy = await RoundRobinProxy.start(servers.map((server) => server.port));
  cleanup.push(() => proxy.close());
  return { servers, proxy };
}

describe.skipIf(!HAS_POSTGRES)("servers that share a store, behind a round-robin proxy", () => {
  test("restart one after the other, and a client that follows a session misses nothing", { timeout: 120_000 }, async () => {
    const { servers, proxy } = await startFleet("--drain", "30s", "--mock-scenario", longTurn(TURN_EVENTS));
    const client = Interlingua.connect({ baseUrl: proxy.baseUrl, token: TOKEN });
    const session = await client.createSession({ agent: "mock" });
    const followed: UniversalEvent[] = [];
    const following = (async () => {
      for await (const event of session.events()) followed.push(event);
    })();
    let isRestarting = true;
    const statuses: string[] = [];
    const sending = (async () => {
      while (isRestarting) statuses.push((await session.send("long")).status);
    })();
    for (const server of servers) {
      await server.stop("SIGTERM");
      await server.run();
    }
    isRestarting = false;
    await sending;
    await session.terminate();
    await following;
    const wrong = followed.findIndex((event, index) => event.sequence !== 1 + index);
    expect(wrong).toBe(-1);
    // A server that is stopped lets its turns end.
    expect(statuses.length).toBeGreaterThanOrEqual(SERVERS);
    expect(new Set(statuses)).toEqual(new Set(["completed"]));
    expect(followed.filter((event) => event.type === "turn.started")).toHaveLength(statuses.length);
    for (const server of servers) {
      const direct = Interlingua.connect({ baseUrl: server.baseUrl, token: TOKEN });
      const stored: UniversalEvent[] = [];
      for await (const page of direct.session(session.id).history()) stored.push(...page.events);
      expect(stored).toEqual(followed);
    }
    expect(proxy.connections.every((count) => count > 0)).toBe(true);
  });

  test("are killed one after the other, and no message is lost or runs twice", { timeout: 120_000 }, async () => {
    const { servers, proxy } = await startFleet();
    const client = Interlingua.connect({ baseUrl: proxy.baseUrl, token: TOKEN });
    const session = await client.createSession({ agent: "mock" });
    const followed: UniversalEvent[] = [];
    const following = (async () => {
      for await (const event of session.events()) followed.push(event);
    })();
    let sent = 0;
    for (const server of servers) {
      await session.send(`echo ${(sent += 1)}`);
      const restarting = server.restart();
      await session.send(`echo ${(sent += 1)}`);
      await restarting;
    }
    await session.terminate();
    await following;
    expect(followed.findIndex((event, index) => event.sequence !== 1 + index)).toBe(-1);
    const texts = followed
      .filter((event) => event.type === "item.completed" && event.data.item.role === "user")
      .map((event) => JSON.stringify(event.data));
    for (let number = 1; number <= sent; number += 1) {
      expect(texts.filter((text) => text.includes(`"echo ${number}"`))).toHaveLength(1);
    }
  });
});
