// Measures the time from `Interlingua.start()` to the first event of a turn of the mock agent: the median of 20 runs.
//
//   npm run bench:start [-- BINARY]
//
// By default it uses INTERLINGUA_BIN, or the release build of this repository.
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { Interlingua } from "../dist/index.js";

const RUNS = 20;
const built = fileURLToPath(new URL("../../../target/release/interlingua", import.meta.url));
const binary = process.argv[2] ?? process.env["INTERLINGUA_BIN"] ?? built;
if (!existsSync(binary)) {
  console.error(`error: ${binary} does not exist; build it with \`cargo build --release -p interlingua\`, or give its path`);
  process.exit(2);
}

const times = [];
for (let run = 0; run < RUNS; run += 1) {
  const dataDir = mkdtempSync(join(tmpdir(), "interlingua-start-"));
  const started = performance.now();
  const server = await Interlingua.start({ binary, dataDir });
  const listening = performance.now() - started;
  const session = await server.createSession({ agent: "mock" });
  for await (const _event of session.send("echo hello")) break;
  times.push({ event: performance.now() - started, listening });
  await server.stop();
  rmSync(dataDir, { recursive: true });
}

function median(values) {
  const sorted = values.toSorted((a, b) => a - b);
  return (sorted[RUNS / 2 - 1] + sorted[RUNS / 2]) / 2;
}
const events = times.map(({ event }) => event);
const ms = (value) => `${value.toFixed(1)} ms`;
console.log(
  `start to first event: median ${ms(median(events))}, min ${ms(Math.min(...events))}, max ${ms(Math.max(...events))}; ` +
    `until it listens: median ${ms(median(times.map(({ listening }) => listening)))}; load ${loadavg()[0].toFixed(2)}`,
);
