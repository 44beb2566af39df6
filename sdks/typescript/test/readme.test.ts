/** Runs the examples of the README. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { afterAll, beforeAll, expect, test } from "vitest";
import { BINARY, temporaryFolder } from "./support/server.js";

const PACKAGE = fileURLToPath(new URL("..", import.meta.url));
const FOLDER = join(PACKAGE, "node_modules/.readme-examples");
const examples = findExamples(readFileSync(join(PACKAGE, "README.md"), "utf8"));

/** The code blocks that begin with "js run", each with the heading above it. */
function findExamples(readme: string) {
  const found: { title: string; kind: string; code: string }[] = [];
  let heading = "";
  for (const [, title, kind = "", code] of readme.matchAll(/^## (.+)$|^```js run(.*)\n([^]*?)^```$/gm)) {
    if (title !== undefined) heading = title;
    if (code !== undefined) found.push({ title: heading, kind: kind.trim(), code });
  }
  return found;
}

beforeAll(() => mkdirSync(FOLDER, { recursive: true }));
afterAll(() => rmSync(FOLDER, { recursive: true, force: true }));

/** Compiles an example for the Node that runs here, with this package, and runs it. */
async function run(name: string, code: string) {
  const file = join(FOLDER, `${name.replaceAll(/\W+/g, "-")}.mjs`);
  await build({
    stdin: { contents: code, resolveDir: PACKAGE },
    alias: { interlingua: join(PACKAGE, "src/index.ts") },
    bundle: true,
    platform: "node",
    format: "esm",
    target: "node20",
    outfile: file,
  });
  return spawn(process.execPath, [file], {
    cwd: temporaryFolder(),
    env: { ...process.env, INTERLINGUA_BIN: BINARY, XDG_DATA_HOME: temporaryFolder(), HOME: temporaryFolder(), PORT: "0" },
    stdio: ["ignore", "pipe", "pipe"],
  });
}

const EXPECTED: Record<string, string[]> = {
  "Quick start": ["completed Done."],
  Approvals: ["allowed: Run make test", "rejected: Edit version.txt", "completed"],
  Resume: ["'echo one', 'one', 'echo two', 'two'"],
  "In your tests": [""],
};

for (const { title, kind, code } of examples) {
  if (kind === "chat") {
    test(`the example of "${title}" answers`, async () => {
      const child = await run(title, code);
      try {
        const [url] = (await once(createInterface(child.stdout), "line")) as [string];
        expect(await (await fetch(url)).text()).toContain("<title>Chat</title>");
        const answer = await fetch(`${url}/chat`, { method: "POST", body: "echo hello" });
        expect(answer.headers.get("x-vercel-ai-ui-message-stream")).toBe("v1");
        expect(await answer.text()).toContain('"delta":"hello"');
        expect(code.split("\n").length).toBeLessThan(65);
      } finally {
        child.kill("SIGKILL");
      }
    });
    continue;
  }
  test(`the example of "${title}" runs`, async () => {
    const child = await run(title, code);
    let output = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => (output += text));
    child.stderr.setEncoding("utf8").on("data", (text: string) => (output += text));
    const [exitCode] = (await once(child, "close")) as [number];
    expect(exitCode, output).toBe(0);
    for (const text of EXPECTED[title] ?? ["this example is not in EXPECTED"]) {
      expect(output.replaceAll(/\s+/g, " ")).toContain(text);
    }
  });
}

test("the README has examples", () => {
  expect(examples.map(({ title }) => title)).toEqual([
    "Quick start",
    "Approvals",
    "A chat in the browser",
    "Resume",
    "In your tests",
  ]);
});
