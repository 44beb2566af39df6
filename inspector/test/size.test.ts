/** The size of what the page loads first. */
import { readdirSync, readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { expect, it } from "vitest";

const DIST = new URL("../dist/", import.meta.url);
const MAX_FIRST_LOAD_BYTES = 90 * 1024;

it("has at most 90 KiB that are loaded first", () => {
  const html = readFileSync(new URL("index.html", DIST), "utf8");
  const linked = [...html.matchAll(/(?:src|href)="[^"]*\/(assets\/[^"]+)"/g)].map((match) => match[1] as string);
  const worker = readdirSync(new URL("assets/", DIST)).filter((name) => /^feed-worker.*\.js$/.test(name));
  const files = ["index.html", ...linked, ...worker.map((name) => `assets/${name}`)];
  expect(files.length).toBeGreaterThan(3);
  const bytes = files.map((file) => gzipSync(readFileSync(new URL(file, DIST))).length);
  expect(bytes.reduce((sum, size) => sum + size)).toBeLessThan(MAX_FIRST_LOAD_BYTES);
});
