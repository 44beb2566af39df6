// Checks what would be published: the size of the client, its imports, its types, and the package's manifest.
import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";

/** Maximum size of the client entry, minified and compressed. */
const MAX_CLIENT_BYTES = 15 * 1024;

const root = fileURLToPath(new URL("..", import.meta.url));
const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
const problems = [];

const { outputFiles, metafile } = await build({
  entryPoints: [join(root, "dist/client.js")],
  bundle: true,
  minify: true,
  format: "esm",
  // Fails for an import of Node.
  platform: "browser",
  target: "es2022",
  write: false,
  metafile: true,
});
const size = gzipSync(outputFiles[0].contents, { level: 9 }).length;
console.log(`client entry: ${size} bytes minified and compressed, at most ${MAX_CLIENT_BYTES}`);
if (size > MAX_CLIENT_BYTES) problems.push(`the client entry has ${size} bytes, more than ${MAX_CLIENT_BYTES}`);

for (const [file, { imports }] of Object.entries(metafile.inputs)) {
  for (const { path, external } of imports) if (external) problems.push(`${file} imports ${path}`);
}

if (manifest.dependencies !== undefined) problems.push("the package has runtime dependencies");

for (const file of readdirSync(join(root, "dist"), { recursive: true })) {
  if (!file.endsWith(".d.ts")) continue;
  const types = readFileSync(join(root, "dist", file), "utf8").replace(/\/\*[\s\S]*?\*\//g, "");
  if (/[:<|&(,=]\s*any\b/.test(types)) problems.push(`dist/${file} has the type \`any\``);
}

function run(name, ...args) {
  const { status } = spawnSync(process.execPath, [join(root, "node_modules", name), ...args], { cwd: root, stdio: "inherit" });
  if (status !== 0) problems.push(`${[name.split("/").at(-1), ...args].join(" ")} failed`);
}
run("publint/src/cli.js", "run", "--strict");
run("@arethetypeswrong/cli/dist/index.js", "--pack", ".", "--profile", "esm-only");

for (const problem of problems) console.error(`error: ${problem}`);
process.exit(problems.length === 0 ? 0 : 1);
