// Compiles `src` into `dist`, from scratch, and copies the licences that the package contains.
import { spawnSync } from "node:child_process";
import { copyFileSync, rmSync } from "node:fs";
import process from "node:process";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
rmSync(`${root}dist`, { recursive: true, force: true });
for (const licence of ["LICENSE-APACHE", "LICENSE-MIT"]) copyFileSync(`${root}../../${licence}`, `${root}${licence}`);
const { status } = spawnSync(process.execPath, [`${root}node_modules/typescript/bin/tsc`, "-p", root], { stdio: "inherit" });
process.exit(status ?? 1);
