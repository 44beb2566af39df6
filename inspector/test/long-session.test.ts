/** A session with very many events. INSPECTOR_EVENTS is their number. */
import { expect, it } from "vitest";
import { describePage } from "./fixture.ts";
import { SLACK } from "./test-browser.ts";

const EVENTS = Number(process.env["INSPECTOR_EVENTS"] ?? 50_000);
/** Number of messages that are queued at once. */
const MESSAGES = 100;
const FRAMES = 240;
const MAX_FIRST_SCREEN_MS = 1_000;
const MAX_HEAP_BYTES = 150e6;
const MAX_FRAME_MS = 100;

describePage("a long session", {}, (fixture) => {
  it(`of ${EVENTS} events opens and scrolls quickly`, { timeout: 240_000 * SLACK }, async () => {
    const { server } = fixture;
    await server.create("long", "A long session");
    let count = 0;
    while (count < EVENTS) {
      await Promise.all(Array.from({ length: MESSAGES }, () => server.send("long", "tool")));
      count = (await server.info("long")).eventCount;
    }
    // Messages that are still queued would go on while the page is measured.
    await server.post("/v1/sessions/long/terminate", {});

    const page = await fixture.open("");
    const devtools = await fixture.context.newCDPSession(page);
    const started = Date.now();
    await page.goto(`${server.address}/ui/sessions/long`);
    await page.locator(".row").nth(3).waitFor();
    const firstScreen = Date.now() - started;
    const longestFrame = await page.evaluate(async (frames) => {
      const scroller = document.querySelector("main .scroller") as HTMLElement;
      let longest = 0;
      let previous = performance.now();
      for (let frame = 0; frame < frames; frame += 1) {
        scroller.scrollTop -= 240;
        const now = await new Promise<number>((resolve) => requestAnimationFrame(resolve));
        longest = Math.max(longest, now - previous);
        previous = now;
      }
      return longest;
    }, FRAMES);
    const { usedSize } = (await devtools.send("Runtime.getHeapUsage")) as { usedSize: number };
    console.log(
      `${count} events: first screen ${firstScreen} ms, heap ${(usedSize / 1e6).toFixed(1)} MB, longest frame ${longestFrame.toFixed(0)} ms`,
    );
    expect(firstScreen).toBeLessThan(MAX_FIRST_SCREEN_MS * SLACK);
    expect(usedSize).toBeLessThan(MAX_HEAP_BYTES);
    expect(longestFrame).toBeLessThan(MAX_FRAME_MS * SLACK);
  });
});
