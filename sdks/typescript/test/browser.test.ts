import { once } from "node:events";
import { existsSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { type Browser, chromium } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { longTurn } from "./support/scenario.js";
import { TestServer, TOKEN } from "./support/server.js";

const CHROMIUM = process.env["CHROMIUM_BIN"] ?? "/usr/bin/chromium";
const ENTRY = fileURLToPath(new URL("../src/client.ts", import.meta.url));

declare global {
  /** What the page gets from `src/client.ts`. */
  var sdk: typeof import("../src/client.js");
}

// In CI a browser that is missing fails the test.
describe.skipIf(!existsSync(CHROMIUM) && process.env["CI"] === undefined)("in Chromium", () => {
  let page: Server;
  let server: TestServer;
  let browser: Browser;

  beforeAll(async () => {
    const bundle = await build({ entryPoints: [ENTRY], bundle: true, format: "iife", globalName: "sdk", platform: "browser", write: false });
    const script = bundle.outputFiles[0]?.text ?? "";
    page = createServer((request, response) => {
      const isScript = request.url === "/sdk.js";
      response.writeHead(200, { "content-type": isScript ? "text/javascript" : "text/html" });
      response.end(isScript ? script : '<!doctype html><script src="/sdk.js"></script>');
    }).listen(0, "127.0.0.1");
    await once(page, "listening");
    server = await TestServer.start("--cors-allow-origin", origin(), "--mock-scenario", longTurn(2_000));
    browser = await chromium.launch({ executablePath: CHROMIUM, args: ["--no-sandbox"] });
  }, 60_000);
  afterAll(async () => {
    await browser?.close();
    await server?.kill();
    page?.close();
  });

  const origin = () => `http://127.0.0.1:${(page.address() as AddressInfo).port}`;

  test("a turn goes on across a restart of the server, and loses no event", async () => {
    const tab = await browser.newPage();
    const errors: string[] = [];
    tab.on("pageerror", (error) => errors.push(String(error)));
    await tab.goto(origin());
    await tab.exposeFunction("restartServer", () => server.restart());
    const result = await tab.evaluate(
      async ([baseUrl, token]) => {
        const client = sdk.Interlingua.connect({ baseUrl: baseUrl as string, token });
        const session = await client.createSession({ agent: "mock" });
        const sequences: number[] = [];
        let restart: Promise<void> | undefined;
        const turn = session.send("long");
        for await (const event of turn) {
          sequences.push(event.sequence);
          if (sequences.length === 300) {
            restart = (globalThis as unknown as { restartServer(): Promise<void> }).restartServer();
          }
        }
        await restart;
        const second = await session.send("echo after");
        const all = [];
        for await (const { events } of session.history()) all.push(...events);
        return { sequences, status: (await turn).status, text: second.text, items: sdk.fold(all).items.length };
      },
      [server.baseUrl, TOKEN],
    );
    expect(result.sequences).toEqual(result.sequences.map((_, index) => 2 + index));
    expect(["completed", "failed"]).toContain(result.status);
    expect(result.text).toBe("after");
    expect(result.items).toBe(4);
    expect(errors).toEqual([]);
  }, 60_000);

  test("a page of another origin can install an agent, and read the id of a request", async () => {
    const tab = await browser.newPage();
    await tab.goto(origin());
    const readable = await tab.evaluate(
      async ([baseUrl, token]) => {
        await sdk.Interlingua.connect({ baseUrl: baseUrl as string, token }).installAgent("mock");
        const response = await fetch(`${baseUrl}/v1/health`, { headers: { traceparent: "00-1-1-01", "x-request-id": "tab-1" } });
        return response.headers.get("x-request-id");
      },
      [server.baseUrl, TOKEN],
    );
    expect(readable).toBe("tab-1");
  }, 60_000);

  test("a server that is away is a ConnectionError", async () => {
    const tab = await browser.newPage();
    await tab.goto(origin());
    const name = await tab.evaluate(async () => {
      const client = sdk.Interlingua.connect({ baseUrl: "http://127.0.0.1:9" });
      return client.health().catch((error: unknown) => (error as Error).name);
    });
    expect(name).toBe("ConnectionError");
  });
});
