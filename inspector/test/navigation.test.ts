/** Finding sessions and events, by keyboard, address, search and filters. */
import type { UniversalEvent } from "interlingua/client";
import type { Page } from "playwright-core";
import { expect, it } from "vitest";
import { describePage, SCENARIO } from "./fixture.ts";
import { SLACK, texts } from "./test-browser.ts";

/** Number of sessions: more than fit on the screen, and than one request reads. */
const SESSIONS = 230;
const LONG_LINE = "x".repeat(300);

const selected = (page: Page) => page.locator(".session-row.current .session-title");

/** Whether an element is inside of what its list shows. */
function isInSight(page: Page, selector: string): Promise<boolean> {
  return page.locator(selector).evaluate((element) => {
    const { top, bottom } = element.getBoundingClientRect();
    const list = (element.closest(".scroller") as HTMLElement).getBoundingClientRect();
    return top >= list.top - 1 && bottom <= list.bottom + 1;
  });
}

describePage("the user finds", { arguments: ["--mock-scenario", SCENARIO] }, (fixture) => {
  it("sessions with j and k, in sight, without reading the list again", async () => {
    const { server } = fixture;
    for (let first = 0; first < SESSIONS; first += 50) {
      const numbers = Array.from({ length: Math.min(50, SESSIONS - first) }, (_, index) => first + index);
      await Promise.all(numbers.map((number) => server.create(`n-${number}`, `Number ${number}`)));
    }
    const page = await fixture.open("");
    const lists: string[] = [];
    await page.waitForFunction(() => document.querySelectorAll(".session-row").length > 5);
    page.on("request", (request) => {
      if (/\/v1\/sessions\?.*limit=200/.test(request.url())) lists.push(request.url());
    });
    for (let step = 0; step < 25; step += 1) await page.keyboard.press("j");
    await page.waitForFunction(() => /sessions\/n-/.test(location.pathname));
    const name = await selected(page).innerText();
    expect(await isInSight(page, ".session-row.current")).toBe(true);
    await page.keyboard.press("k");
    await expect.poll(() => selected(page).innerText()).not.toBe(name);
    expect(await isInSight(page, ".session-row.current")).toBe(true);
    await page.keyboard.press("Enter");
    expect(await page.evaluate(() => document.activeElement?.getAttribute("aria-label"))).toBe("Message");
    await page.keyboard.press("Escape");
    // Longer than the interval at which changes are looked for.
    await page.waitForTimeout(6_000);
    expect(lists).toEqual([]);
    // A change that is no event is noticed nevertheless.
    await fetch(`${server.address}/v1/sessions/n-3`, {
      method: "PATCH",
      headers: { authorization: `Bearer ${server.token}`, "content-type": "application/json" },
      body: '{"title":"Renamed"}',
    });
    await page.locator(".search input").fill("Renamed");
    await page.locator('.session-row:has-text("Renamed")').waitFor({ timeout: 12_000 * SLACK });
  });

  it("text with the keyboard, and sees when there is none", async () => {
    await fixture.server.create("zebra", "A session about animals", "echo the zebra has stripes");
    const page = await fixture.open("");
    await page.locator(".session-row").first().waitFor();
    await page.keyboard.press("/");
    await page.keyboard.type("zebra strip");
    await page.locator(".hit").nth(1).waitFor();
    expect(await page.getByText("Nothing found").count()).toBe(0);
    await page.keyboard.press("ArrowDown");
    const chosen = await page.locator(".hit.chosen").getAttribute("href");
    expect(chosen).toBe(await page.locator(".hit").nth(1).getAttribute("href"));
    await page.keyboard.press("Enter");
    await page.locator('.titles h2:has-text("animals")').waitFor();
    expect(new URL(page.url()).pathname + new URL(page.url()).hash).toBe(chosen);
    await page.keyboard.press("/");
    await page.locator(".search input").fill("no such words");
    await page.getByText("Nothing found.").waitFor();
    await page.keyboard.press("Escape");
    await page.getByText("Nothing found.").waitFor({ state: "detached" });
  });

  it("sessions by state and agent", async () => {
    await fixture.server.create("waits", "Waits for me", "permission");
    const page = await fixture.open("");
    await page.getByLabel("State").selectOption("waiting");
    await page.waitForFunction(() => document.querySelectorAll(".session-row").length === 1);
    expect(await page.locator(".session-row").innerText()).toContain("Waits for me");
    expect(await page.getByLabel("State").locator("option").allInnerTexts()).toContain("Needs secrets");
    await page.getByLabel("State").selectOption("");
    await page.getByLabel("Agent", { exact: true }).selectOption("mock");
    await page.waitForFunction(() => document.querySelectorAll(".session-row").length > 1);
  });

  it("an event by its address, in the chat and beside its native line", async () => {
    await fixture.server.create("linked", "Linked", "tool", "echo end");
    await fixture.server.idle("linked");
    const { events } = await fixture.server.get<{ events: UniversalEvent[] }>("/v1/sessions/linked/events");
    const result = events.findLast((event) => event.type === "item.completed" && event.data.item.kind === "tool_result");
    const sequence = result?.sequence ?? 0;
    const page = await fixture.open("sessions/linked");
    await page.goto(`${fixture.server.address}/ui/sessions/linked#${sequence}`);
    await page.locator(".row.target .tool").waitFor();
    // Every entry leads to its event.
    await page.locator(".row.target").hover();
    await page.locator(".row.target .entry-link").click();
    await page.locator(".event-detail").waitFor();
    expect(new URL(page.url()).pathname).toBe("/ui/sessions/linked/events");
    // The address opens the same event again.
    await page.reload();
    await page.locator(".event.chosen").waitFor();
    await page.locator(".event-detail h3").getByText("item.started").waitFor();
    await page.getByRole("link", { name: "In the chat" }).click();
    await page.locator(".row.target").waitFor();
    await page.goBack();
    await page.locator(".event-detail").waitFor();
    for (const path of ["sessions/linked#99999", "sessions/linked/events#99999"]) {
      await page.goto(`${fixture.server.address}/ui/${path}`);
      await page.getByText("There is no event 99999").waitFor();
    }
    await page.goto(`${fixture.server.address}/ui/sessions/none`);
    await page.getByText("There is no session none").waitFor();
  });

  it("events by any word in them, and by type", async () => {
    await fixture.server.create("words", "Words", `say ${LONG_LINE} needle`, "error");
    await fixture.server.idle("words");
    const page = await fixture.open("sessions/words/events");
    await page.locator(".event").first().waitFor();
    const all = (await fixture.server.info("words")).eventCount;
    const found = page.locator(".search-progress");
    const search = async (text: string) => {
      await page.getByLabel("Search the events").fill(text);
      await found.getByText(/found|matches/).waitFor();
      await page.waitForFunction(() => document.querySelector(".search-progress progress") === null);
      await page.waitForTimeout(300);
      return page.locator(".event").count();
    };
    // Behind the part that the list shows.
    expect(await search("needle")).toBeGreaterThan(3);
    // A key of the data.
    expect(await search("retryable")).toBe(1);
    expect(await search('no "such" thing')).toBe(0);
    await page.getByText("No event matches.").waitFor();
    await page.getByLabel("Search the events").fill("");
    await page.getByRole("button", { name: /^turn.ended 2/ }).click();
    await expect.poll(() => page.locator(".event").count()).toBe(2);
    await page.getByRole("button", { name: /^turn.ended 2/ }).click();
    await expect.poll(() => page.locator(".event").count()).toBeGreaterThan(2);
    // Events that come meanwhile are added.
    await page.getByRole("button", { name: /^turn.ended 2/ }).click();
    await fixture.server.send("words", "echo more");
    await expect.poll(() => page.locator(".event").count()).toBe(3);
    expect((await fixture.server.idle("words")).eventCount).toBeGreaterThan(all);
  });

  it("the views of a session with arrow keys, and closes menus with Escape and by clicking elsewhere", async () => {
    await fixture.server.create("views", "Views", "echo x");
    const page = await fixture.open("sessions/views");
    await page.locator(".turn-end").waitFor();
    await page.getByRole("tab", { name: "Chat" }).focus();
    await page.keyboard.press("ArrowRight");
    await page.locator(".events").waitFor();
    expect(await page.getByRole("tab", { name: /Events/ }).getAttribute("aria-selected")).toBe("true");
    expect(await page.getByRole("tabpanel").count()).toBe(1);
    await page.keyboard.press("ArrowLeft");
    await page.locator(".composer").waitFor();
    for (const close of [() => page.keyboard.press("Escape"), () => page.locator("main .scroller").click({ position: { x: 5, y: 5 } })]) {
      await page.getByLabel("More").click();
      await page.getByRole("button", { name: "Download HTML" }).waitFor();
      await close();
      await page.getByRole("button", { name: "Download HTML" }).waitFor({ state: "detached" });
    }
    await page.locator(".composer").waitFor();
  });

  it("the text of an event and its address in the clipboard, also without a secure origin", async () => {
    await fixture.server.create("copy", "Copy", "echo x");
    await fixture.server.idle("copy");
    await fixture.context.grantPermissions(["clipboard-read", "clipboard-write"]);
    const page = await fixture.open("sessions/copy");
    await page.goto(`${fixture.server.address}/ui/sessions/copy/events#2`);
    await page.getByLabel("Copy event").click();
    await page.getByText("Copied").waitFor();
    expect(JSON.parse(await page.evaluate(() => navigator.clipboard.readText()))).toMatchObject({ sequence: 2, session_id: "copy" });
    await page.getByLabel("Copy as curl").click();
    await expect.poll(() => page.evaluate(() => navigator.clipboard.readText())).toContain("/v1/sessions/copy/events?offset=1&limit=1&include_raw=true");
    const insecure = await fixture.newContext();
    await insecure.addInitScript(() => Object.defineProperty(navigator, "clipboard", { value: undefined }));
    const other = await fixture.browser.open("sessions/copy", insecure);
    await other.goto(`${fixture.server.address}/ui/sessions/copy/events#2`);
    await other.getByLabel("Copy event").click();
    await other.getByText("Copied").waitFor();
    await insecure.close();
  });

  it("usage, state and what was not understood also on a narrow screen", async () => {
    await fixture.server.create("narrow", "Narrow", "unparsed", "echo x");
    await fixture.server.idle("narrow");
    const narrow = await fixture.newContext({ viewport: { width: 375, height: 740 } });
    const page = await fixture.open("sessions/narrow", narrow);
    await page.locator('.facts .badge:has-text("1 not understood")').waitFor();
    expect((await texts(page, ".facts")).join()).toMatch(/\d+ in/);
    await page.getByLabel("More").click();
    expect(await page.locator(".menu-facts").innerText()).toContain("Directory");
    expect(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth)).toBe(true);
    await page.goto(`${fixture.server.address}/ui/`);
    await page.locator('.session-row:has-text("Narrow")').getByText(/tok/).waitFor();
    await page.goto(`${fixture.server.address}/ui/new`);
    await page.getByLabel("Message", { exact: true }).waitFor();
    // The form is in sight: agents that have to be installed do not come first.
    expect((await page.getByLabel("Message", { exact: true }).boundingBox())?.y).toBeLessThan(500);
    await narrow.close();
  });
});
