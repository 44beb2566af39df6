/** Writing messages, attaching files, and creating sessions. */
import type { Page } from "playwright-core";
import { expect, it } from "vitest";
import { describePage, SCENARIO } from "./fixture.ts";
import { SLACK } from "./test-browser.ts";

/** An image of one pixel. */
const PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+M8AAAMBAQDJ/pLvAAAAAElFTkSuQmCC";

type Content = readonly [name: string, type: string, base64: string];

/** Fires an event with files, and a text if there is one, at an element. */
async function transfer(page: Page, selector: string, kinds: readonly string[], files: readonly Content[], text = ""): Promise<boolean[]> {
  return page.evaluate(
    ([selector, kinds, files, text]) => {
      const data = new DataTransfer();
      for (const [name, type, base64] of files) {
        data.items.add(new File([Uint8Array.from(atob(base64), (character) => character.charCodeAt(0))], name, { type }));
      }
      if (text !== "") data.setData("text/plain", text);
      const options = { bubbles: true, cancelable: true };
      return kinds.map((kind) => {
        const event =
          kind === "paste" ? new ClipboardEvent(kind, { ...options, clipboardData: data }) : new DragEvent(kind, { ...options, dataTransfer: data });
        document.querySelector(selector)?.dispatchEvent(event);
        return event.defaultPrevented;
      });
    },
    [selector, kinds, files, text] as const,
  );
}

describePage("the user", { arguments: ["--mock-scenario", SCENARIO] }, (fixture) => {
  it("attaches files by dropping them anywhere, by pasting, by choosing and by their path", async () => {
    await fixture.server.create("files", "Files", "echo hi");
    const page = await fixture.open("sessions/files");
    await page.locator(".turn-end").waitFor();
    const names = page.locator(".attachment-name");
    // The browser must not leave the page to show the file.
    expect(await transfer(page, "main .scroller", ["dragover", "drop"], [["notes.txt", "text/plain", "bm90ZXM="]])).toEqual([true, true]);
    await names.getByText("notes.txt").waitFor();
    // A text that comes with a picture is not lost.
    expect(await transfer(page, ".composer textarea", ["paste"], [["image.png", "image/png", PIXEL]], "caption")).toEqual([false]);
    await names.getByText("image.png").waitFor();
    await page.getByRole("button", { name: "Attach" }).click();
    await page.locator(".attach input[type=file]").setInputFiles({ name: "chosen.bin", mimeType: "application/octet-stream", buffer: Buffer.from([1, 2]) });
    await names.getByText("chosen.bin").waitFor();
    await page.getByPlaceholder("Path").fill("/etc/hostname");
    await page.getByPlaceholder("Path").press("Enter");
    await names.getByText("/etc/hostname").waitFor();
    await page.keyboard.press("Escape");
    await page.getByLabel("Remove chosen.bin").click();
    await page.getByLabel("Message").fill("echo with files");
    await page.getByLabel("Message").press("Enter");
    await page.locator(".turn-end").nth(1).waitFor();
    const prompt = page.locator(".message.user").nth(1);
    expect(await prompt.innerText()).toContain("notes.txt");
    expect(await prompt.innerText()).toContain("/etc/hostname");
    expect(await prompt.innerText()).not.toContain("chosen.bin");
    // The picture is shown, not its path on the server.
    await prompt.locator('img[src^="data:image/png"]').waitFor();
    expect(await page.locator(".attachments").count()).toBe(0);
  });

  it("keeps message and files, and sees why, when they cannot be sent", async () => {
    await fixture.server.create("refused", "Refused", "echo hi");
    const page = await fixture.open("sessions/refused");
    await page.locator(".turn-end").waitFor();
    await page.getByRole("button", { name: "Attach" }).click();
    await page.getByPlaceholder("Path").fill("/no/such/file");
    await page.getByRole("button", { name: "Add" }).click();
    await page.keyboard.press("Escape");
    await page.getByLabel("Message").fill("echo z");
    await page.getByLabel("Message").press("Enter");
    const toast = page.locator(".toast.error");
    await toast.getByText("/no/such/file").waitFor();
    // The message covers neither the field nor its buttons, and stays until it is closed.
    await page.getByRole("button", { name: "Send" }).click({ trial: true });
    expect(await page.getByLabel("Message").inputValue()).toBe("echo z");
    expect(await page.locator(".attachment-name").innerText()).toBe("/no/such/file");
    await page.getByLabel("Dismiss").click();
    await toast.waitFor({ state: "detached" });
  });

  it("keeps what was not sent while another session is open", async () => {
    await fixture.server.create("draft", "Draft", "echo hi");
    await fixture.server.create("draft-2", "Elsewhere", "echo hi");
    const page = await fixture.open("sessions/draft");
    await page.getByLabel("Message").fill("half a thought");
    await page.locator('.session-row:has-text("Elsewhere")').click();
    await page.locator('.titles h2:has-text("Elsewhere")').waitFor();
    expect(await page.getByLabel("Message").inputValue()).toBe("");
    await page.goBack();
    await page.locator('.titles h2:has-text("Draft")').waitFor();
    expect(await page.getByLabel("Message").inputValue()).toBe("half a thought");
  });

  it("creates a session with MCP servers, and sees what is wrong with them", async () => {
    const page = await fixture.open("new");
    await page.locator('.agent-card:has-text("Mock")').click();
    await page.getByRole("button", { name: "Add an MCP server" }).click();
    const server = page.getByRole("group", { name: "MCP server 1" });
    const submit = page.getByRole("button", { name: "Create", exact: true });
    await submit.click();
    await page.locator('.field-error:has-text("no name")').waitFor();
    await server.getByLabel("Name").fill("github");
    await server.getByLabel("Command").fill('github-mcp-server --toolsets "repos issues"');
    await server.getByLabel("Environment").fill("TOKEN=a=b");
    const sent = page.waitForRequest((request) => request.method() === "POST" && request.url().includes("/v1/sessions/"));
    await submit.click();
    expect((await sent).postDataJSON()).toMatchObject({
      agent: "mock",
      mcp: { github: { command: ["github-mcp-server", "--toolsets", "repos issues"], env: { TOKEN: "a=b" } } },
    });
    // The mock has no MCP servers. The error stays in the form.
    await page.locator('.field-error:has-text("does not support MCP servers")').waitFor();
    await page.waitForTimeout(100);
    expect(await page.locator(".create").count()).toBe(1);
    await server.getByLabel("Kind").selectOption("url");
    await server.getByLabel("URL").fill("https://docs.example/mcp");
    await server.getByLabel("Headers").fill("Authorization: Bearer x");
    const remote = page.waitForRequest((request) => request.method() === "POST" && request.url().includes("/v1/sessions/"));
    await submit.click();
    expect((await remote).postDataJSON()).toMatchObject({
      mcp: { github: { type: "http", url: "https://docs.example/mcp", headers: { Authorization: "Bearer x" } } },
    });
  });

  it("chooses the mode, the model and its variant", async () => {
    const page = await fixture.context.newPage();
    await page.route("**/v1/agents/mock/models", (route) =>
      route.fulfill({ json: { models: [{ id: "big", variants: ["low", "high"], defaultVariant: "low" }, { id: "small" }], defaultModel: "big" } }),
    );
    await page.goto(fixture.server.page("new"));
    await page.locator('.agent-card:has-text("Mock")').click();
    await page.getByRole("combobox", { name: "Mode", exact: true }).selectOption("plan");
    await page.getByLabel("Variant").selectOption("high");
    const sent = page.waitForRequest((request) => request.method() === "POST" && request.url().includes("/v1/sessions/"));
    await page.getByRole("button", { name: "Create", exact: true }).click();
    expect((await sent).postDataJSON()).toMatchObject({ agentMode: "plan", variant: "high" });
    await page.getByLabel("Model").fill("small");
    await page.getByLabel("Variant").waitFor({ state: "detached" });
  });

  it("installs an agent and sees the progress, also after a reload", async () => {
    const page = await fixture.context.newPage();
    let bytes = 0;
    let state = "none";
    await page.route("**/v1/agents", async (route) => {
      const response = await route.fetch();
      const body = (await response.json()) as { agents: { id: string; installed: boolean }[] };
      for (const agent of body.agents) if (agent.id === "codex") agent.installed = state === "done";
      await route.fulfill({ response, json: body });
    });
    await page.route("**/v1/agents/codex/install", (route) => {
      if (route.request().method() === "POST") {
        state = "running";
        return route.fulfill({ status: 202, json: {} });
      }
      bytes += 1024 * 1024;
      return route.fulfill({ json: state === "running" ? { state, progress: { bytes } } : { state } });
    });
    await page.goto(fixture.server.page("new"));
    await page.getByRole("button", { name: /agents to install/ }).click();
    await page.locator('.agent-card:has-text("Codex")').first().click();
    await page.getByRole("button", { name: "Install", exact: true }).click();
    await page.getByText(/Installing Codex… \d+\.\d MB so far/).waitFor();
    await page.reload();
    await page.locator('.agent-card:has-text("Installing…")').click();
    await page.getByText(/Installing Codex… \d+\.\d MB so far/).waitFor();
    state = "done";
    await page.getByText("Codex is installed").waitFor({ timeout: 5_000 * SLACK });
    await page.locator('.agent-card:has-text("Codex")').first().waitFor();
    expect(await page.getByRole("button", { name: "Install", exact: true }).count()).toBe(0);
  });

  it("sees that a token is wrong", async () => {
    const page = await fixture.context.newPage();
    await page.goto(`${fixture.server.address}/ui/`);
    expect(await page.getByRole("alert").count()).toBe(0);
    await page.getByLabel("Token").fill("wrong");
    await page.getByRole("button", { name: "Open" }).click();
    await page.getByText("The server refused this token.").waitFor();
    await page.getByLabel("Token").fill(fixture.server.token);
    await page.getByRole("button", { name: "Open" }).click();
    await page.locator(".sidebar .dot.online").waitFor();
  });
});
