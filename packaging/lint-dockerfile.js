// Checks what `dockerfile-utils` does not: that every stage that a Dockerfile names exists, and that every file that it copies
// from the build context does. Usage: node lint-dockerfile.js FILE CONTEXT
"use strict";
const { existsSync, readFileSync } = require("node:fs");
const { join } = require("node:path");

const [file, context] = process.argv.slice(2);
const findings = [];
const stages = [];
// An instruction ends at a line without a backslash at its end.
const text = readFileSync(file, "utf8").replace(/^\s*#.*\n/gm, "").replace(/\\\n/g, " ");
for (const line of text.split("\n")) {
  const [instruction, ...words] = line.trim().split(/\s+/);
  if (instruction === "FROM") {
    const [image, , name] = words;
    const isImage = /[/:]/.test(image) || stages.includes(image);
    if (!isImage) findings.push(`FROM ${image}: there is no stage of this name before it, and it has no tag`);
    if (name) stages.push(name);
  }
  if (instruction !== "COPY" && instruction !== "ADD") continue;
  const from = words.find((word) => word.startsWith("--from="))?.slice("--from=".length);
  if (from !== undefined) {
    if (!stages.includes(from) && !/[/:]/.test(from)) findings.push(`${line.trim()}: there is no stage ${from} before it`);
    continue;
  }
  for (const source of words.filter((word) => !word.startsWith("--")).slice(0, -1)) {
    if (!existsSync(join(context, source))) findings.push(`${line.trim()}: ${source} does not exist`);
  }
}
if (stages.length === 0) findings.push("there is no stage with a name");
for (const finding of findings) console.error(`${file}: ${finding}`);
process.exit(findings.length === 0 ? 0 : 1);
