import type { Page } from "playwright-core";
import { expect, it } from "vitest";
import { describePage } from "./fixture.ts";
import { shot, SHOTS, SLACK, texts, WIDE } from "./test-browser.ts";

describePage("the inspector", {}, (fixture) => {
  const open = (path: string, context = fixture.context): Promise<Page> => fixture.open(path, context);
  it("asks for the token, and keeps it out of the address", async () => {
    const page = await fixture.context.newPage();
    await page.goto(`${fixture.server.address}/ui/`);
    await page.getByLabel("Token").fill(fixture.server.token);
    await page.getByRole("button", { name: "Open" }).click();
    await page.waitForSelector(".sidebar");
    const other = await open("");
    expect(new URL(other.url()).hash).toBe("");
    await other.reload();
    await other.waitForSelector(".sidebar .dot.online");
  });

  it("sends the headers that the address names, and removes them from it", async () => {
    const { server } = fixture;
    const page = await fixture.context.newPage();
    const sent: (string | undefined)[] = [];
    page.on("request", (request) => {
      if (request.url().includes("/v1/")) sent.push(request.headers()["x-proxy-key"]);
    });
    const headers = encodeURIComponent(JSON.stringify({ "x-proxy-key": "k1" }));
    await page.goto(`${server.address}/ui/#token=${server.token}&headers=${headers}`);
    await page.waitForSelector(".sidebar .dot.online");
    expect(new URL(page.url()).hash).toBe("");
    expect(new Set(sent)).toEqual(new Set(["k1"]));
  });

  it("runs a turn that the user writes, with a diff and markdown", async () => {
    const page = await open("new");
    await page.locator('.agent-card:has-text("mock")').click();
    await page.getByLabel("Title").fill("Fix the parser");
    await page.getByLabel("Message", { exact: true }).fill("tool");
    await page.getByRole("button", { name: "Create and send" }).click();
    await page.waitForSelector(".turn-end");
    await page.locator(".diff .add").first().waitFor();
    await page.getByLabel("Message").fill("markdown");
    await page.getByLabel("Message").press("Enter");
    await page.waitForSelector(".markdown table");
    await page.locator(".turn-end").nth(1).waitFor();
    expect((await texts(page, ".message.user")).join()).toContain("markdown");
    await shot(page, "turn");
  });

  it("is readable in light, dark and on a narrow screen", async () => {
    await fixture.server.create("tools", "Release the next version", "status", "reasoning", "tool", "error");
    for (const [colorScheme, viewport, suffix] of [
      ["light", WIDE, ""],
      ["dark", WIDE, "-dark"],
      ["light", { width: 375, height: 740 }, "-375"],
    ] as const) {
      const other = await fixture.newContext({ colorScheme, viewport });
      const page = await open("sessions/tools", other);
      await page.waitForSelector(".card.error .remedy");
      await shot(page, `conversation${suffix}`);
      await page.getByRole("tab", { name: "Events" }).click();
      await page.locator(".event").nth(6).click();
      await page.locator(".sides pre").first().waitFor();
      await shot(page, `events${suffix}`);
      expect(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth)).toBe(true);
      await page.goto(`${fixture.server.address}/ui/`);
      await page.locator(".session-row").first().waitFor();
      await shot(page, `sessions${suffix}`);
      await other.close();
    }
  });

  it("answers permissions in two browsers at once", async () => {
    await fixture.server.create("permission", "Run the release", "permission");
    const other = await fixture.newContext({});
    const pages = await Promise.all([open("sessions/permission"), open("sessions/permission", other)]);
    const [first, second] = pages;
    await Promise.all(pages.map((page) => page.locator(".request-card").nth(1).waitFor()));
    await shot(first, "permission");
    await first.getByRole("button", { name: "Allow once" }).first().click();
    await second.waitForFunction(() => document.querySelectorAll(".request-card").length === 1);
    await second.getByRole("button", { name: "Reject" }).click();
    await Promise.all(pages.map((page) => page.waitForSelector(".turn-end")));
    expect((await texts(first, ".note-line.request strong")).sort()).toEqual(["Allowed", "Denied"]);
    await other.close();
  });

  it("answers questions with one choice and with several", async () => {
    await fixture.server.create("question", "Choose a database", "question");
    const page = await open("sessions/question");
    await page.locator(".request-card").nth(1).waitFor();
    await shot(page, "question");
    await page.locator(".option", { hasText: "SQLite" }).click();
    await page.waitForFunction(() => document.querySelectorAll(".request-card").length === 1);
    await page.locator(".option").nth(0).click();
    await page.locator(".option").nth(1).click();
    await page.getByRole("button", { name: "Answer" }).click();
    await page.waitForSelector(".turn-end");
    expect((await texts(page, ".answer")).join()).toContain("SQLite");
  });

  it("interrupts a turn, terminates and deletes a session", async () => {
    await fixture.server.create("ends", "Ends", "permission");
    const page = await open("sessions/ends");
    await page.getByRole("button", { name: "Interrupt" }).click();
    await page.waitForSelector(".turn-end.interrupted");
    await page.getByLabel("More").click();
    await page.getByRole("button", { name: "Terminate" }).click();
    await page.waitForSelector(".session-end");
    await page.waitForSelector(".composer.ended");
    await page.getByRole("button", { name: "Delete" }).click();
    await page.waitForSelector(".welcome");
    expect((await fixture.server.get<{ status: number }>("/v1/sessions/ends")).status).toBe(404);
  });

  it("goes on after kill -9 of the server, without loss or doubles", async () => {
    await fixture.server.create("restart", "Restart", "echo one");
    const page = await open("sessions/restart");
    await page.waitForSelector(".turn-end");
    const restart = await fixture.server.kill();
    await page.waitForSelector(".banner");
    await restart();
    await page.waitForSelector(".banner", { state: "detached" });
    await fixture.server.post("/v1/sessions/restart/messages", { message: "echo two" });
    await page.locator(".turn-end").nth(1).waitFor();
    expect(await texts(page, ".message.agent .markdown")).toEqual(["one", "two"]);
  });

  it("shows hostile text as text", async () => {
    const hostile =
      "say <script>alert(1)</script> <img src=x onerror=alert(1)> [link](javascript:alert(1)) \u001b[31mred\u001b[0m \u202etxt.exe שלום";
    await fixture.server.create("hostile", "<b>Title</b>", hostile);
    const page = await open("sessions/hostile");
    await page.waitForSelector(".turn-end");
    const found = await page.evaluate(() => ({
      elements: document.querySelectorAll("#app script, #app img, #app b").length,
      links: [...document.querySelectorAll("a")].filter(({ protocol }) => protocol === "javascript:").length,
      text: document.body.innerText,
    }));
    expect(found).toMatchObject({ elements: 0, links: 0 });
    for (const part of ["<script>alert(1)</script>", "[U+202E]txt.exe", "<b>Title</b>", "שלום"]) expect(found.text).toContain(part);
    expect(found.text).not.toContain("\u001b");
    await fixture.server.post("/v1/sessions/hostile/messages", { message: `say ${"x".repeat(1_000_000)}` });
    // Rows that are out of sight are not in the document.
    await page.locator('.message.agent button:has-text("more characters")').waitFor();
  });

  it("finds sessions with the keyboard, and filters and checks events", async () => {
    await fixture.server.create("needle", "A needle in the list", "echo x");
    const page = await open("");
    await page.waitForSelector('.session-row:has-text("needle")');
    await page.keyboard.press("/");
    await page.keyboard.type("needle");
    await page.keyboard.press("Enter");
    await page.waitForSelector('.titles h2:has-text("A needle")');
    await page.getByRole("tab", { name: "Events" }).click();
    await page.getByRole("button", { name: /^turn.ended/ }).click();
    await page.waitForFunction(() => document.querySelectorAll(".event").length === 1);
    await page.getByRole("button", { name: "Check rules" }).click();
    await page.waitForSelector(".verdict.good");
  });

  it("shows what every session is doing as it happens", async () => {
    const page = await open("");
    const lists: string[] = [];
    page.on("request", (request) => {
      const { pathname, search } = new URL(request.url());
      if (pathname === "/v1/sessions" && !search.includes("limit=1&") && !search.endsWith("limit=1")) lists.push(search);
    });
    const row = page.locator('.session-row:has-text("Live list")');
    const started = Date.now();
    await fixture.server.create("live", "Live list", "permission");
    await row.locator(".state-waiting").waitFor();
    expect(Date.now() - started).toBeLessThan(5_000 * SLACK);
    await fixture.server.post("/v1/sessions/live/terminate", {});
    await row.locator(".state-ended").waitFor();
    // No list was read for that.
    expect(lists).toEqual([]);
  });

  it("finds words in the text of all sessions, and opens the event", async () => {
    await fixture.server.create("text", "A session with text", "echo the quokka <b>smiles</b>");
    const page = await open("");
    await page.keyboard.press("/");
    await page.keyboard.type("quokka smil");
    const hits = page.locator(".hits a");
    await hits.nth(1).waitFor();
    expect(await texts(page, ".hits a:first-of-type mark")).toEqual(["quokka", "smil"]);
    expect((await hits.first().innerText()).replaceAll("\n", " ")).toContain("<b>smiles</b>");
    await shot(page, "search");
    await hits.first().click();
    await page.waitForSelector('.titles h2:has-text("A session with text")');
    expect(new URL(page.url()).hash).toMatch(/^#\d+$/);
  });

  it("exports a transcript that opens without a server", async () => {
    await fixture.server.create("export", "Export", "tool");
    const page = await open("sessions/export");
    await page.waitForSelector(".turn-end");
    await page.getByLabel("More").click();
    const download = page.waitForEvent("download");
    await page.getByRole("button", { name: "Download HTML" }).click();
    const path = `${SHOTS}export.html`;
    await (await download).saveAs(path);
    const offline = await fixture.browser.browser.newContext({ offline: true, javaScriptEnabled: false, viewport: WIDE });
    const transcript = await offline.newPage();
    await transcript.goto(`file://${path}`);
    expect(await transcript.locator("details.tool").count()).toBeGreaterThan(0);
    expect(await transcript.locator("h1").innerText()).toBe("Export");
    await shot(transcript, "transcript");
    await offline.close();
  });
});
