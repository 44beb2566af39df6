import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

/** Factor for the time limits, for a machine that does other work. */
const SLACK = Number(process.env["INSPECTOR_SLACK"] ?? 1);

export default defineConfig({
  resolve: { alias: { "interlingua/client": fileURLToPath(new URL("../sdks/typescript/src/client.ts", import.meta.url)) } },
  test: { include: ["test/**/*.test.ts"], testTimeout: 60_000 * SLACK, hookTimeout: 60_000 * SLACK, fileParallelism: false },
});
