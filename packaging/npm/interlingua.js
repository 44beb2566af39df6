#!/usr/bin/env node
// Starts the program in the package for this platform, with the same terminal, environment and exit code.
"use strict";

const { spawn } = require("node:child_process");

const name = `@interlingua/cli-${process.platform}-${process.arch}`;
let program;
try {
  program = require.resolve(`${name}/bin/interlingua`);
} catch {
  console.error(
    `error: the package ${name} is not installed. If there is one for this platform, install @interlingua/cli again ` +
      "without --omit=optional; otherwise build interlingua with cargo.",
  );
  process.exit(2);
}

const child = spawn(program, process.argv.slice(2), { stdio: "inherit" });
// Ctrl-C reaches the program directly, because it has the same terminal. It decides what to do. Without a terminal, the signal
// was sent to this process alone.
const hasTerminal = [process.stdin, process.stdout, process.stderr].some((stream) => stream.isTTY);
process.on("SIGINT", () => {
  if (!hasTerminal) child.kill("SIGINT");
});
const forwarded = ["SIGTERM", "SIGHUP"];
for (const signal of forwarded) {
  process.on(signal, () => child.kill(signal));
}
child.on("error", (error) => {
  console.error(`error: cannot start ${program}: ${error.message}`);
  process.exit(2);
});
child.on("exit", (code, signal) => {
  if (signal === null) {
    process.exit(code);
  }
  // Ends in the same way, so that a shell sees the signal.
  for (const name of [...forwarded, "SIGINT"]) {
    process.removeAllListeners(name);
  }
  process.kill(process.pid, signal);
});
