import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { temporaryFolder } from "./server.js";

/** A scenario with one turn, for messages that start with `long`, that has about this number of events. */
export function longTurn(events: number, paceMs = 0): string {
  const deltas = Array.from({ length: events - 8 }, (_, index) => `grüße ${index} 👋 `);
  const file = join(temporaryFolder(), "long.toml");
  writeFileSync(file, `pace_ms = ${paceMs}\n[[turn]]\non = "long"\n[[turn.step]]\nstream = ${JSON.stringify(deltas)}\n`);
  return file;
}
