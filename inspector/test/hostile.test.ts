/** Text of agents that was written to break or freeze the page. */
import { expect, it } from "vitest";
import { describePage, SCENARIO } from "./fixture.ts";
import { SLACK } from "./test-browser.ts";

/** Texts for which a parser of markdown needs quadratic or cubic time, or a deep stack. */
const MARKDOWN: readonly (readonly [name: string, text: string])[] = [
  ["quotes in quotes", "> ".repeat(4_500)],
  ["lists in lists", "1. ".repeat(4_500)],
  ["open links", "[a](".repeat(1_200)],
  ["many open links", "[a](".repeat(12_000)],
  ["open emphasis", "*a ".repeat(16_000)],
  ["nested emphasis", `${"**".repeat(8_000)}a${"**".repeat(8_000)}`],
  ["open images", "![a](".repeat(9_000)],
  ["backticks", Array.from({ length: 300 }, (_, index) => "`".repeat(index)).join(" ")],
  ["empty list items", "-\n".repeat(20_000)],
  ["a long gap", `a${" ".repeat(20_000)}a`],
  ["tables", "a|b\n-|-\n".repeat(5_000)],
  ["many elements", "**a** ".repeat(8_000)],
];
/** Time in which the page must answer a click after it was given such a text. */
const MAX_FREEZE_MS = 2_000;

describePage("hostile text", { arguments: ["--mock-scenario", SCENARIO] }, (fixture) => {
  it.each(MARKDOWN)("does not freeze the page: %s", async (name, text) => {
    const id = name.replaceAll(" ", "-");
    await fixture.server.create(id, name, `say ${text}`, "echo after");
    await fixture.server.idle(id);
    const page = await fixture.open(`sessions/${id}`);
    const started = Date.now();
    await page.locator('.message.agent:has-text("after")').waitFor();
    await page.getByLabel("Message").fill("still alive");
    expect(Date.now() - started).toBeLessThan(MAX_FREEZE_MS * SLACK);
    // The row of the text itself is shown as well.
    await page.locator("main .scroller").evaluate((element) => (element.scrollTop = 0));
    await page.locator(".message.user").first().waitFor();
    await page.getByRole("tab", { name: "Events" }).click();
    await page.locator(".event").first().waitFor();
    expect(await page.locator(".card.error").count()).toBe(0);
  });

  it("is shown as text in tools, requests and titles, without escape sequences", async () => {
    await fixture.server.create("tool", "<b>\u202eTitle</b>", "hostile-output");
    const page = await fixture.open("sessions/tool");
    await page.locator(".turn-end").waitFor();
    await page.locator(".fold").click();
    const text = await page.locator(".tool").innerText();
    expect(text).toContain("red [U+202E]txt.exe");
    expect(text).toContain("<script>alert(1)</script>");
    expect(text).toContain("[U+202E]gnp.exe");
    expect(text).not.toContain("\u001b");
    expect(await page.locator("#app script, #app b").count()).toBe(0);
    expect(await page.locator("h2").innerText()).toBe("<b>[U+202E]Title</b>");
  });

  it("keeps one row that cannot be shown from hiding the others", async () => {
    await fixture.server.create("broken", "Broken", "echo one", "echo two");
    const page = await fixture.context.newPage();
    // An event of a producer that does not keep to the schema.
    await page.route("**/v1/sessions/broken/events?*", async (route) => {
      const response = await route.fetch();
      const body = (await response.json()) as { events: { type: string; data: { item?: { content: unknown } } }[] };
      const first = body.events.find(({ type, data }) => type === "item.completed" && JSON.stringify(data).includes('"one"'));
      if (first?.data.item !== undefined) first.data.item.content = [{ type: "image", path: 7 }];
      await route.fulfill({ response, json: body });
    });
    await page.goto(fixture.server.page("sessions/broken"));
    await page.locator('.message.agent:has-text("two")').waitFor();
    await page.locator('.card.error:has-text("The page cannot show")').waitFor();
    await page.getByLabel("Message").fill("still alive");
  });

  it("shows the same images in the page and in the export", async () => {
    await fixture.server.create("images", "Images", "images");
    await fixture.server.idle("images");
    const page = await fixture.open("sessions/images");
    await page.locator(".turn-end").waitFor();
    const sources = await page.locator("main img").evaluateAll((images) => images.map((image) => (image as HTMLImageElement).src.slice(0, 14)));
    expect(sources).toEqual(["data:image/png", "data:image/gif"]);
    const exported = await fixture.server.text("/v1/sessions/images/export?format=html");
    expect([...exported.matchAll(/<img [^>]*src="(data:image\/\w+)/g)].map(([, source]) => source)).toEqual(sources);
  });
});
