/** The page shows what real agents did: their recordings, replayed through the server. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Item, UniversalEvent } from "interlingua/client";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { chromium, REPLAY, TestServer } from "./server.ts";
import { launchBrowser, shot, SLACK, TestBrowser } from "./test-browser.ts";

const TRANSCRIPTS = new URL("../../snapshots/transcripts/", import.meta.url).pathname;
/** So high that all rows are in the document. */
const TALL = { width: 1280, height: 6_000 };

/** What the user does while the turn runs. */
type User = (page: Page) => Promise<void>;

const watch: User = async () => {};
const choose: User = async (page) => page.locator(".option").first().click();
const interrupt: User = async (page) => {
  await page.locator(".message.agent .markdown").first().waitFor();
  await page.getByRole("button", { name: "Interrupt" }).click();
};
/** Answers every permission request of the turn. */
const answer = (name: string): User => async (page) => {
  const button = page.getByRole("button", { name, exact: true }).first();
  const end = page.locator(".turn-end").first();
  for (;;) {
    await button.or(end).first().waitFor();
    if (await end.isVisible()) return;
    // The request may be resolved by now.
    await button.click({ timeout: 1_000 }).catch(() => undefined);
  }
};

/** Scenarios that are recorded with Claude Code, Codex and OpenCode. */
const SCENARIOS: [scenario: string, user: User][] = [
  ["helper-runs-a-command", watch],
  ["asks-which-colour", choose],
  ["allowed-once", answer("Allow once")],
  ["denied", answer("Reject")],
  ["change-is-allowed", answer("Allow once")],
  ["patches-several-files", watch],
  ["keeps-a-list", watch],
  ["thinks-then-answers", watch],
  ["tool-of-a-server", watch],
  ["refused-as-invalid", watch],
  ["interrupted-while-speaking", interrupt],
  ["killed-while-speaking", watch],
];

const newest = (agent: string): string => {
  const versions = readdirSync(`${TRANSCRIPTS}recorded/${agent}`);
  const version = versions.sort((a, b) => a.localeCompare(b, "en", { numeric: true })).at(-1);
  return `recorded/${agent}/${version}`;
};

const RECORDINGS: [agent: string, recording: string, user: User][] = [
  ...["claude", "codex", "opencode"].flatMap((agent) =>
    SCENARIOS.map(([scenario, user]): [string, string, User] => [agent, `${newest(agent)}/${scenario}`, user]),
  ),
  ["amp", "captured/amp/0.0.1790142911-g7618fb/file-tools", watch],
  ["amp", "captured/amp/0.0.1790142911-g7618fb/subagent-child-messages", watch],
  ["amp", "captured/amp/0.0.1790142911-g7618fb/mcp", watch],
  ["replayed", "captured/acp/copilot-1.0.102/tool_allowed", answer("Allow once")],
  ["replayed", "captured/acp/gemini-0.61.0/file_edit", answer("Allow once")],
];

const letters = (text: string) => text.replaceAll(/[^\p{L}\p{N}]+/gu, "");
const count = (page: Page, selector: string) => page.locator(selector).count();

/** The last state of every item, in the order in which they started. */
function lastItems(events: readonly UniversalEvent[]): Item[] {
  const items = new Map<string, Item>();
  for (const event of events) {
    if (event.type === "item.started" || event.type === "item.completed") items.set(event.data.item.item_id, event.data.item);
  }
  return [...items.values()];
}

describe.skipIf(chromium === undefined)("the recording", () => {
  let browser: Browser;
  let folder: string;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "inspector-agents-"));
    execFileSync(REPLAY, ["stand-ins", folder]);
    browser = await launchBrowser();
  });
  afterAll(async () => {
    await browser?.close();
    rmSync(folder, { recursive: true, force: true });
  });

  it.each(RECORDINGS)("%s %s", async (agent, recording, user) => {
    const environment = {
      PATH: `${folder}:${process.env["PATH"]}`,
      AMP_API_KEY: "none",
      INTERLINGUA_REPLAY: `${TRANSCRIPTS}${recording}.jsonl`,
      INTERLINGUA_REPLAY_STATE: join(folder, letters(recording)),
    };
    const server = await TestServer.start({ env: environment, arguments: ["--acp-agent", "replayed=acp"] });
    const watched = new TestBrowser(browser, server);
    const context = await watched.newContext({ viewport: TALL });
    try {
      await server.post("/v1/sessions/s", { agent, title: recording });
      const page = await watched.open("sessions/s", context);
      await server.post("/v1/sessions/s/messages", { message: "Do it" });
      await user(page);
      await page.locator(".turn-end").first().waitFor();
      const folded = page.locator(".fold[aria-expanded=false]");
      while ((await folded.count()) > 0) await folded.first().click();
      const { events } = await server.get<{ events: UniversalEvent[] }>("/v1/sessions/s/events?limit=5000");
      await expectShown(page, events);
      expect(watched.problems).toEqual([]);
      await page.setViewportSize({ width: 1280, height: 900 });
      await shot(page, `recording-${agent}-${recording.split("/").at(-1)}`);
    } finally {
      await context.close();
      await server.stop();
    }
  }, 60_000 * SLACK);
});

/** Compares the page with the events that it shows. */
async function expectShown(page: Page, events: readonly UniversalEvent[]): Promise<void> {
  const ofType = (type: string) => events.filter((event) => event.type === type);
  const items = lastItems(events);
  const calls = items.filter(({ kind }) => kind === "tool_call");
  const shown = letters(await page.locator("main .scroller").innerText());
  for (const { content } of items) {
    for (const part of content) {
      const text = part.type === "text" || part.type === "reasoning" ? part.text : part.type === "tool_result" ? part.output : "";
      // Long texts are folded.
      expect(shown).toContain(letters(text.slice(0, 2_000)));
    }
  }
  expect(await count(page, ".tool")).toBe(calls.length);
  const byId = new Map(items.map((item) => [item.item_id, item]));
  const isInCall = ({ parent_id: id }: Item): boolean => {
    const parent = id == null ? undefined : byId.get(id);
    return parent !== undefined && (parent.kind === "tool_call" || isInCall(parent));
  };
  expect(await count(page, ".children .tool")).toBe(calls.filter(isInCall).length);
  expect(await count(page, ".turn-end")).toBe(ofType("turn.ended").length);
  expect(await count(page, ".card.error")).toBe(ofType("error").length + ofType("session.ended").filter(hasError).length);
  expect(await count(page, ".note-line.request")).toBe(ofType("permission.resolved").length);
  expect(await count(page, ".card.answered")).toBe(ofType("question.resolved").length);
  const diffs = items.some(({ content }) => content.some((part) => part.type === "file_ref" && part.diff != null));
  expect((await count(page, ".diff")) > 0 || !diffs).toBe(true);
  expect(await page.getByText("Not understood").count()).toBe(ofType("agent.unparsed").length);
}

function hasError(event: UniversalEvent): boolean {
  return event.type === "session.ended" && event.data.reason === "error";
}
