import { createHash } from "node:crypto";
import { readdirSync, readFileSync, utimesSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import { defineConfig, type Plugin } from "vite";

const sdk = process.env["INTERLINGUA_SDK"] ?? "../sdks/typescript";

/** Writes the licences of the libraries in the bundle to `notices.txt`, which the page links to. */
function notices(): Plugin {
  return {
    name: "notices",
    generateBundle(_options, bundle) {
      const folders = new Set<string>();
      for (const chunk of Object.values(bundle)) {
        if (chunk.type !== "chunk") continue;
        for (const id of Object.keys(chunk.modules)) {
          const folder = packageFolder(id);
          if (folder !== undefined) folders.add(folder);
        }
      }
      const texts = [...folders].sort().map((folder) => {
        const { name, version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as {
          name: string;
          version: string;
          license?: string;
        };
        const file = readdirSync(folder).find((entry) => /^licen[cs]e(\.|$)/i.test(entry));
        if (file === undefined) this.error(`${name} has no licence file`);
        return `${name} ${version} (${license ?? "see below"})\n\n${readFileSync(join(folder, file), "utf8").trim()}\n`;
      });
      const source = `This page contains these libraries.\n\n${texts.join(`\n${"-".repeat(80)}\n\n`)}`;
      this.emitFile({ type: "asset", fileName: "notices.txt", source });
    },
  };
}

/** The folder of the package that a module belongs to. */
function packageFolder(module: string): string | undefined {
  const path = module.replace(/^\0/, "").split("?")[0] as string;
  return /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/.exec(path)?.[0];
}

const CONTENT_TYPES: Record<string, string> = {
  html: "text/html; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  css: "text/css; charset=utf-8",
  svg: "image/svg+xml",
  txt: "text/plain; charset=utf-8",
};

/**
 * Writes `files.txt`, from which the crate beside makes its table: path, content type, entity tag, and whether the file
 * never changes. Compresses every file once, so that the server need not.
 */
function embed(): Plugin {
  return {
    name: "embed",
    apply: "build",
    closeBundle() {
      const dist = fileURLToPath(new URL("dist/", import.meta.url));
      const lines = readdirSync(dist, { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map((entry) => relative(dist, join(entry.parentPath, entry.name)))
        .sort()
        .map((path) => {
          const type = CONTENT_TYPES[path.split(".").at(-1) as string];
          if (type === undefined) throw new Error(`${path} has no content type in vite.config.ts`);
          const content = readFileSync(join(dist, path));
          const quality = { params: { [constants.BROTLI_PARAM_QUALITY]: 11 } };
          writeFileSync(join(dist, `${path}.br`), brotliCompressSync(content, quality));
          writeFileSync(join(dist, `${path}.gz`), gzipSync(content, { level: 9 }));
          const tag = createHash("sha256").update(content).digest("hex").slice(0, 32);
          return [path, type, tag, path.startsWith("assets/") ? "immutable" : "changes"].join("\t");
        });
      writeFileSync(join(dist, "files.txt"), `${lines.join("\n")}\n`);
      // Cargo builds the crate again when its build script is newer than its output.
      const now = new Date();
      utimesSync(new URL("build.rs", import.meta.url), now, now);
    },
  };
}

export default defineConfig({
  base: "/ui/",
  plugins: [notices(), embed()],
  worker: { format: "es" },
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  resolve: {
    alias: { "interlingua/client": fileURLToPath(new URL(`${sdk}/src/client.ts`, import.meta.url)) },
    dedupe: ["preact"],
  },
  build: {
    target: "es2022",
    modulePreload: { polyfill: false },
    // No `data:` address in style sheets: the content security policy allows them only for images.
    assetsInlineLimit: 0,
    reportCompressedSize: false,
  },
  server: { proxy: { "/v1": process.env["INTERLINGUA_SERVER"] ?? "http://127.0.0.1:2468" } },
});
