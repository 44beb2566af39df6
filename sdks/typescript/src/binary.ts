import { accessSync, constants, statSync } from "node:fs";
import { createRequire } from "node:module";
import { delimiter, join, resolve } from "node:path";
import process from "node:process";
import { StartError } from "./errors.js";

/** The environment variable with the path of the binary. */
const BINARY_VARIABLE = "INTERLINGUA_BIN";
const EXECUTABLE = process.platform === "win32" ? "interlingua.exe" : "interlingua";

/** Finds the server: the given path, `$INTERLINGUA_BIN`, the package for this platform, or the `PATH`. */
export function findBinary(option: string | undefined, env: NodeJS.ProcessEnv): string {
  if (option !== undefined) return requireExecutable(option, "the option `binary`");
  const variable = env[BINARY_VARIABLE];
  if (variable !== undefined && variable !== "") return requireExecutable(variable, BINARY_VARIABLE);
  const found = findInPackage() ?? findInPath(env["PATH"] ?? "");
  if (found !== undefined) return found;
  throw new StartError(
    `cannot find the program \`interlingua\`: the package ${platformPackage()} is not installed, and it is not on the PATH; ` +
      `install it, or name it with the option \`binary\` or ${BINARY_VARIABLE}`,
  );
}

function requireExecutable(path: string, source: string): string {
  const absolute = resolve(path);
  if (isExecutable(absolute)) return absolute;
  throw new StartError(`${source} names ${absolute}, which is not an executable file`);
}

/** Name of the package that has the binary for this platform. */
function platformPackage(): string {
  return `@interlingua/cli-${process.platform}-${process.arch}`;
}

function findInPackage(): string | undefined {
  try {
    const manifest = createRequire(import.meta.url).resolve(`${platformPackage()}/package.json`);
    const path = join(manifest, "..", "bin", EXECUTABLE);
    return isExecutable(path) ? path : undefined;
  } catch {
    return undefined;
  }
}

function findInPath(path: string): string | undefined {
  const candidates = path.split(delimiter).filter((folder) => folder !== "");
  return candidates.map((folder) => join(folder, EXECUTABLE)).find(isExecutable);
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}
