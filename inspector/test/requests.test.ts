/** Permissions, questions, errors and notes: what a user has to see before and after an answer. */
import { expect, it } from "vitest";
import { describePage, SCENARIO } from "./fixture.ts";
import { texts } from "./test-browser.ts";

describePage("a request", { arguments: ["--mock-scenario", SCENARIO] }, (fixture) => {
  it("shows everything that a permission would allow", async () => {
    await fixture.server.create("bank", "Bank", "bank");
    const page = await fixture.open("sessions/bank");
    const card = page.locator(".request-card");
    for (const parts of [["bank", "transfer", "100000", "mallory"], ["https://evil.example/?secret=1234"], ["danger", "rm", "because"]]) {
      for (const part of parts) await card.filter({ hasText: part }).first().waitFor();
      await card.first().getByRole("button", { name: "Allow once" }).click();
    }
    await page.locator(".turn-end").waitFor();
  });

  it("is not asked again when it was always allowed", async () => {
    await fixture.server.create("twice", "Twice", "twice");
    const page = await fixture.open("sessions/twice");
    await page.getByRole("button", { name: "Allow for this session" }).click();
    await page.locator(".turn-end").waitFor();
    await page.locator('.note-line.request:has-text("Allowed")').first().waitFor();
    expect(await page.locator('.note-line.request .badge:has-text("for this session")').count()).toBe(1);
    expect(await page.locator(".tool").count()).toBe(2);
  });

  it("takes free text, alone and beside choices", async () => {
    await fixture.server.create("free", "Free", "free");
    const page = await fixture.open("sessions/free");
    await page.locator(".request-card").nth(1).waitFor();
    await page.getByLabel("Answer").first().fill("my own");
    await page.getByLabel("Answer").first().press("Enter");
    await page.waitForFunction(() => document.querySelectorAll(".request-card").length === 1);
    await page.locator(".option", { hasText: "x" }).click();
    await page.getByLabel("Answer").fill("extra");
    await page.getByRole("button", { name: "Answer", exact: true }).click();
    await page.locator(".turn-end").waitFor();
    const answers = (await texts(page, ".answer")).join();
    expect(answers).toContain("my own");
    expect(answers).toContain("x, extra");
  });

  it("never shows a secret answer", async () => {
    await fixture.server.create("secret", "Secret", "secret");
    const page = await fixture.open("sessions/secret");
    await page.getByLabel("Answer").fill("hunter2");
    await page.getByLabel("Answer").press("Enter");
    await page.locator(".turn-end").waitFor();
    const shown = await page.locator("main .scroller").innerText();
    expect(shown).toContain("secret, not shown");
    expect(shown).not.toContain("hunter2");
    for (const format of ["html", "markdown"]) {
      expect(await fixture.server.text(`/v1/sessions/secret/export?format=${format}`)).not.toContain("hunter2");
    }
  });

  it("shows why an agent died, what to do, and the way to the event", async () => {
    await fixture.server.create("die", "Dies", "die");
    const page = await fixture.open("sessions/die");
    const card = page.locator(".card.error").first();
    await card.getByText("no such host db.internal").waitFor();
    expect(await card.innerText()).toContain("The next message starts the agent again.");
    await card.getByRole("link", { name: /^Event \d+/ }).click();
    await page.locator(".event-detail h3").getByText("error").waitFor();
  });

  it("shows statuses, the summary of a compaction, a plan as a check list, and details of an error", async () => {
    await fixture.server.create("statuses", "Statuses", "statuses");
    const page = await fixture.open("sessions/statuses");
    await page.locator(".card.error").waitFor();
    await page.getByRole("button", { name: "Show the summary" }).click();
    expect(await page.locator(".quoted strong").innerText()).toBe("parser");
    expect(await page.locator(".plan-card .mark").evaluateAll((marks) => marks.map((mark) => mark.getAttribute("aria-label")))).toEqual([
      "completed",
      "in progress",
      "pending",
    ]);
    const animated = await page.evaluate(() => document.getAnimations().filter((animation) => animation.playState === "running").length);
    expect(animated).toBe(0);
    const error = await page.locator(".card.error").innerText();
    for (const part of ["auth", "HTTP 401", "authentication_error", "credentials"]) expect(error).toContain(part);
  });

  it("hides intermediate work on demand, also after a reload", async () => {
    await fixture.server.create("answers", "Answers", "reasoning", "tool");
    const page = await fixture.open("sessions/answers");
    await page.locator(".turn-end").nth(1).waitFor();
    expect(await page.locator(".tool, .reasoning").count()).toBe(2);
    await page.getByLabel("More").click();
    await page.getByLabel("Only the answer").check();
    await page.waitForFunction(() => document.querySelector(".tool, .reasoning") === null);
    expect(await texts(page, ".message.agent .markdown")).toEqual(["I have thought about it.", "Done."]);
    await page.reload();
    await page.locator(".message.agent").nth(1).waitFor();
    expect(await page.locator(".tool, .reasoning").count()).toBe(0);
  });

  it("for secrets that a restart has lost is answered in the page", async () => {
    const { server } = fixture;
    await server.createWith("keyed", { title: "Keyed", env: { API_TOKEN: "x", REGION: "eu" } });
    const restart = await server.kill();
    await restart();
    await server.send("keyed", "echo with secrets");
    const page = await fixture.open("sessions/keyed");
    await page.locator(".secrets").waitFor();
    await page.locator('.session-row:has-text("Keyed") .state-needs_secrets').waitFor();
    await page.getByLabel("API_TOKEN").fill("one");
    await page.getByLabel("REGION").fill("two");
    await page.getByRole("button", { name: "Continue" }).click();
    await page.locator('.message.agent:has-text("with secrets")').waitFor();
    await page.locator(".secrets").waitFor({ state: "detached" });
  });
});
