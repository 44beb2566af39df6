import { mkdirSync } from "node:fs";
import { type Browser, type BrowserContext, type BrowserContextOptions, chromium as playwright, type Page } from "playwright-core";
import { chromium, type TestServer } from "./server.ts";

/** Where the screenshots go. */
export const SHOTS = new URL("../test-results/", import.meta.url).pathname;
export const WIDE = { width: 1280, height: 800 };
/** Factor for the time limits, for a machine that does other work. */
export const SLACK = Number(process.env["INSPECTOR_SLACK"] ?? 1);
/** Name of the function through which a page reports that it violated its policy. */
const REPORT = "reportViolation";

if (chromium === undefined) {
  if (process.env["CI"] !== undefined) throw new Error("no Chromium; install it, or name it with CHROMIUM_BIN");
  console.warn("SKIPPED: the browser tests need Chromium; install it, or name it with CHROMIUM_BIN");
}

export function launchBrowser(): Promise<Browser> {
  mkdirSync(SHOTS, { recursive: true });
  const args = ["--no-sandbox", "--disable-dev-shm-usage"];
  return playwright.launch({ executablePath: chromium as string, args });
}

/** A browser that watches the pages of one server. */
export class TestBrowser {
  readonly browser: Browser;
  readonly #server: TestServer;
  /** What a page must never do: violate its policy, fail, ask another host, or show the token in an address. */
  problems: string[] = [];

  constructor(browser: Browser, server: TestServer) {
    this.browser = browser;
    this.#server = server;
  }


  async newContext(options: BrowserContextOptions = {}): Promise<BrowserContext> {
    const created = await this.browser.newContext({ viewport: WIDE, colorScheme: "light", ...options });
    created.setDefaultTimeout(10_000 * SLACK);
    await created.exposeFunction(REPORT, (text: string) => void this.problems.push(`policy: ${text}`));
    await created.addInitScript((report) => {
      document.addEventListener("securitypolicyviolation", ({ violatedDirective, blockedURI }) => {
        (window as unknown as Record<string, (text: string) => void>)[report]?.(`${violatedDirective} ${blockedURI}`);
      });
    }, REPORT);
    created.on("weberror", (error) => this.problems.push(`error: ${error.error().stack ?? ""}`));
    created.on("request", (request) => {
      const { origin, protocol, search } = new URL(request.url());
      const isLocal = origin === this.#server.address || ["data:", "blob:"].includes(protocol);
      if (!isLocal) this.problems.push(`request: ${request.url()}`);
      if (search.includes(this.#server.token)) this.problems.push(`token in ${request.url()}`);
    });
    return created;
  }

  /** Opens a page of the inspector, and accepts its dialogs. */
  async open(path: string, context: BrowserContext): Promise<Page> {
    const page = await context.newPage();
    page.on("dialog", (dialog) => void dialog.accept());
    await page.goto(this.#server.page(path));
    await page.locator(".session-header, .create, .session-row, .welcome").first().waitFor({ state: "attached" });
    return page;
  }

  close(): Promise<void> {
    return this.browser.close();
  }
}

export const shot = (page: Page, name: string) => page.screenshot({ path: `${SHOTS}${name}.png` });
export const texts = (page: Page, selector: string) => page.locator(selector).allInnerTexts();
