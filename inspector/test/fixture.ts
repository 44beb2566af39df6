import type { BrowserContext, BrowserContextOptions, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect } from "vitest";
import { chromium, type ServerOptions, TestServer } from "./server.ts";
import { launchBrowser, TestBrowser } from "./test-browser.ts";

/** Turns of the mock agent for the tests, besides its commands. */
export const SCENARIO = new URL("scenario.toml", import.meta.url).pathname;

/** A server and a browser for the tests of a file. Each test has a browser context of its own. */
export class Fixture {
  server!: TestServer;
  browser!: TestBrowser;
  context!: BrowserContext;

  /** Opens a page of the inspector. */
  open(path: string, context: BrowserContext = this.context): Promise<Page> {
    return this.browser.open(path, context);
  }

  newContext(options: BrowserContextOptions = {}): Promise<BrowserContext> {
    return this.browser.newContext(options);
  }
}

/** Describes what the page does in a browser. A page must never violate its policy, fail, or ask another host. */
export function describePage(name: string, options: ServerOptions, define: (fixture: Fixture) => void): void {
  describe.skipIf(chromium === undefined)(name, () => {
    const fixture = new Fixture();
    beforeAll(async () => {
      fixture.server = await TestServer.start(options);
      fixture.browser = new TestBrowser(await launchBrowser(), fixture.server);
    });
    afterAll(async () => {
      await fixture.browser?.close();
      await fixture.server?.stop();
    });
    beforeEach(async () => {
      fixture.browser.problems = [];
      fixture.context = await fixture.newContext();
    });
    afterEach(async () => {
      await fixture.context.close();
      expect(fixture.browser.problems).toEqual([]);
    });
    define(fixture);
  });
}
