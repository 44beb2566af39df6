/** What a page shows while an agent works, in one tab and in many. */
import { expect, it } from "vitest";
import { describePage, SCENARIO } from "./fixture.ts";
import { SLACK, texts } from "./test-browser.ts";

/** Number of tabs: more than the connections that a browser opens to a server. */
const TABS = 8;
/** Number of pieces of a long message: more than a page reads at first. */
const PIECES = 2_000;

describePage("a page of a live session", { arguments: ["--mock-scenario", SCENARIO] }, (fixture) => {
  it("shows reasoning, tools and text as they come, and how they end", async () => {
    await fixture.server.createWith("slow", { title: "Slow", env: { INTERLINGUA_MOCK_PACE_MS: "120" } });
    const page = await fixture.open("sessions/slow");
    await fixture.server.send("slow", "slow");
    const previews: string[] = [];
    const reasoning = page.locator(".reasoning");
    await reasoning.waitFor();
    while ((await reasoning.innerText()).includes("Thinking")) previews.push(await reasoning.innerText());
    expect(new Set(previews).size).toBeGreaterThan(2);
    expect(await reasoning.innerText()).toContain("nine ten");
    const run = page.locator(".tool").first();
    await run.locator(".spinner").waitFor();
    await run.locator('.badge:has-text("exit 2")').waitFor();
    expect(await run.locator(".spinner").count()).toBe(0);
    await page.locator(".diff .add").waitFor();
    // The turn is not over when its text begins.
    await page.locator('.message.agent:has-text("Half of the answer")').waitFor();
    expect(await page.locator(".turn-end").count()).toBe(0);
    await page.locator(".turn-end").waitFor();
    expect((await texts(page, ".message.agent .markdown")).join()).toBe("Half of the answer and the rest.");
    expect(await page.locator(".spinner, .cursor").count()).toBe(0);
  });

  it("shows the whole text of a message that began long before the page was opened", async () => {
    await fixture.server.createWith("mid", { title: "Mid", env: { INTERLINGUA_MOCK_PACE_MS: "4" } });
    await fixture.server.send("mid", "long");
    while ((await fixture.server.info("mid")).eventCount < 500) await new Promise((resolve) => setTimeout(resolve, 50));
    const page = await fixture.open("sessions/mid");
    const numbers = async () => [...(await page.locator("main .scroller").innerText()).matchAll(/w(\d+)/g)].map(([, number]) => Number(number));
    await expect.poll(async () => (await numbers())[0]).toBe(0);
    const early = await numbers();
    expect(await page.locator(".turn-end").count()).toBe(0);
    expect(early.length).toBeGreaterThan(300);
    expect(early).toEqual(early.map((_, index) => index));
    await page.getByRole("button", { name: "Interrupt" }).click();
    await page.locator(".turn-end").waitFor();
    const all = await numbers();
    expect(all.length).toBeLessThan(PIECES);
    expect(all).toEqual(all.map((_, index) => index));
  });

  it("works in many tabs of one browser at once", async () => {
    const { server, context } = fixture;
    const ids = Array.from({ length: TABS }, (_, index) => `tab-${index}`);
    for (const id of ids) await server.create(id, `Tab ${id}`, "permission");
    const pages = [];
    for (const id of ids) {
      const page = await fixture.open(`sessions/${id}`, context);
      await page.locator(".request-card").nth(1).waitFor();
      pages.push(page);
    }
    for (const page of pages) await page.getByRole("button", { name: "Allow once" }).first().click();
    for (const page of pages) await page.waitForFunction(() => document.querySelectorAll(".request-card").length === 1);
    for (const page of pages) await page.getByRole("button", { name: "Reject" }).click();
    for (const page of pages) await page.locator(".turn-end").waitFor();
    const first = pages[0];
    if (first === undefined) throw new Error("there is no page");
    // Every tab sees what happens in the others.
    await expect.poll(() => first.locator(".sidebar .state-waiting").count()).toBe(0);
  });

  it("shows what other browsers queue, take from the queue and delete", async () => {
    const { server } = fixture;
    await server.create("shared", "Shared", "permission");
    await server.create("gone", "Gone", "echo x");
    const other = await fixture.newContext();
    const [first, second] = [await fixture.open("sessions/shared"), await fixture.open("sessions/shared", other)];
    await first.getByLabel("Message").fill("echo later");
    await first.getByLabel("Message").press("Enter");
    for (const page of [first, second]) await page.getByRole("button", { name: "1 messages in the queue" }).waitFor();
    await second.getByRole("button", { name: "1 messages in the queue" }).click();
    await second.getByLabel("Remove from the queue").click();
    for (const page of [first, second]) await page.getByRole("button", { name: /messages in the queue/ }).waitFor({ state: "detached" });

    const gone = await fixture.open("sessions/gone");
    const row = gone.locator('.session-row:has-text("Gone")');
    await row.waitFor();
    await fetch(`${server.address}/v1/sessions/gone`, { method: "DELETE", headers: { authorization: `Bearer ${server.token}` } });
    await gone.getByText("This session was deleted").waitFor({ timeout: 6_000 * SLACK });
    await row.waitFor({ state: "detached", timeout: 6_000 * SLACK });
    await other.close();
  });

  it("says in the title of the page what the session waits for", async () => {
    await fixture.server.create("titled", "Titled", "permission");
    const page = await fixture.open("sessions/titled");
    await page.waitForFunction(() => document.title === "● Titled · Interlingua");
    await page.getByRole("button", { name: "Allow once" }).first().click();
    await page.getByRole("button", { name: "Allow once" }).first().click();
    await page.waitForFunction(() => document.title === "Titled · Interlingua");
  });

  it("goes on after a turn was interrupted, without a spinner", async () => {
    await fixture.server.create("wait", "Wait", "wait");
    const page = await fixture.open("sessions/wait");
    await page.getByText("I wait.").waitFor();
    await page.getByRole("button", { name: "Interrupt" }).click();
    await page.locator(".turn-end.interrupted").waitFor();
    await page.getByLabel("Message").fill("echo on");
    await page.getByLabel("Message").press("Enter");
    await page.locator(".turn-end").nth(1).waitFor();
    expect(await page.locator(".spinner, .cursor").count()).toBe(0);
  });
});
