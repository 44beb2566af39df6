import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmodSync, existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { inspect } from "node:util";
import { beforeAll, describe, expect, test } from "vitest";
import { ConnectionError, Interlingua, StartError } from "../src/index.js";
import { BINARY, temporaryFolder } from "./support/server.js";

const PACKAGE = fileURLToPath(new URL("..", import.meta.url));

/** A program that stands in for the server. */
function program(script: string): string {
  const file = join(temporaryFolder(), "interlingua");
  writeFileSync(file, `#!/bin/sh\n${script}\n`);
  chmodSync(file, 0o755);
  return file;
}

/** An agent that does not answer. It records its supervisor, itself, and a descendant in another session. */
const HANGING_AGENT = `
[ "$1" = --version ] && echo 1.0.0 && exit
pids="$(dirname "$0")/pids"
setsid sh -c 'trap "" TERM HUP INT; echo $$ >> "$1"; while :; do sleep 0.1; done' sh "$pids" > /dev/null 2>&1 < /dev/null &
echo $PPID $$ >> "$pids"
exec sleep 600`;

const start = (options = {}) => Interlingua.start({ binary: BINARY, dataDir: temporaryFolder(), ...options });

function isAlive(pid: number): boolean {
  try {
    // A zombie is dead, but not yet reaped.
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));
  } catch {
    return false;
  }
}

describe("start", () => {
  test("runs a server and stops it at the end of the block", async () => {
    let pid: number;
    {
      await using server = await start();
      pid = server.pid;
      expect(await server.health()).toMatchObject({ status: "ok" });
      const session = await server.createSession({ agent: "mock" });
      expect((await session.send("echo hello")).text).toBe("hello");
      expect(isAlive(pid)).toBe(true);
    }
    expect(isAlive(pid)).toBe(false);
  });

  test("keeps the token out of the list of processes, and refuses clients without it", async () => {
    await using server = await start({ token: "very-secret-token" });
    expect(readFileSync(`/proc/${server.pid}/cmdline`, "utf8")).not.toContain("very-secret-token");
    await expect(Interlingua.connect({ baseUrl: server.baseUrl }).agents()).rejects.toMatchObject({ status: 401 });
    const other = Interlingua.connect({ baseUrl: server.baseUrl, token: server.token });
    expect((await other.agents()).length).toBeGreaterThan(0);
  });

  test("installs missing agents, passes the environment, and pipes the log", async () => {
    await using server = await start({ agents: ["mock"], env: { RUST_BACKTRACE: "1" }, log: "pipe" });
    expect(server.log).not.toBeNull();
    expect(readFileSync(`/proc/${server.pid}/environ`, "utf8")).toContain("RUST_BACKTRACE=1");
  });

  test("is stopped by its signal", async () => {
    const controller = new AbortController();
    const server = await start({ signal: controller.signal });
    controller.abort();
    await expect.poll(() => isAlive(server.pid), { timeout: 15_000 }).toBe(false);
    await expect(start({ signal: AbortSignal.abort(new Error("before")) })).rejects.toThrow("before");
  });

  test("finds the binary by environment and PATH", async () => {
    const folder = join(program(`exec "${BINARY}" "$@"`), "..");
    for (const env of [{ INTERLINGUA_BIN: BINARY }, { INTERLINGUA_BIN: undefined, PATH: `${folder}:${process.env["PATH"]}` }]) {
      await using server = await Interlingua.start({ env, dataDir: temporaryFolder() });
      expect((await server.health()).status).toBe("ok");
    }
  });

  test("a binary that is missing is a StartError that says what to do", async () => {
    await expect(start({ binary: "/does/not/exist" })).rejects.toThrow(/the option `binary` names \/does\/not\/exist/);
    const env = { INTERLINGUA_BIN: undefined, PATH: "/nowhere" };
    const error = await Interlingua.start({ env }).catch((error: unknown) => error);
    expect(error).toBeInstanceOf(StartError);
    expect(String(error)).toContain("INTERLINGUA_BIN");
    await expect(start({ binary: undefined, env: { INTERLINGUA_BIN: "/nowhere/x" } })).rejects.toThrow("INTERLINGUA_BIN names");
  });

  test("a server that dies at start is a StartError with its log", async () => {
    const error = await start({ binary: program("echo 'disk on fire' >&2; exit 3") }).catch((error: unknown) => error);
    expect(error).toBeInstanceOf(StartError);
    expect(error).toMatchObject({ exitCode: 3, stderr: "disk on fire\n" });
    expect(String(error)).toContain("disk on fire");
    const real = await start({ args: ["--no-such-option"] }).catch((error: unknown) => error);
    expect(String(real)).toContain("--no-such-option");
  });

  test("a folder that another server uses is a StartError that says so", async () => {
    const dataDir = temporaryFolder();
    await using _first = await start({ dataDir });
    await expect(start({ dataDir })).rejects.toThrow(StartError);
  });

  test("a program of another kind is a StartError", async () => {
    for (const line of ["hello", '{"address":"here"}', '{"address":"ftp://127.0.0.1"}', '{"address":7}', "null"]) {
      const error = await start({ binary: program(`echo '${line}'; exec sleep 5`) }).catch((error: unknown) => error);
      expect(error).toBeInstanceOf(StartError);
      expect(String(error)).toMatch(/not an Interlingua server/);
    }
  });

  test("options that no process can have are a StartError without their values", async () => {
    for (const options of [
      { token: "s3cret\n" },
      { token: "s3cret\0" },
      { token: "" },
      { args: ["s3cret\0"] },
      { env: { KEY: "s3cret\0" } },
    ]) {
      const error = await start(options).catch((error: unknown) => error);
      expect(error).toBeInstanceOf(StartError);
      expect(inspect(error)).not.toContain("s3cret");
    }
  });

  test("a server that does not start in time is killed", async () => {
    const binary = program("echo waiting >&2; exec sleep 60");
    await expect(start({ binary, timeoutMs: 200 })).rejects.toThrow(/within 200 ms/);
  });

  test("a server that dies later is a ConnectionError", async () => {
    await using server = await start({ reconnectTimeoutMs: 200 });
    process.kill(server.pid, "SIGKILL");
    await expect.poll(() => isAlive(server.pid)).toBe(false);
    await expect(server.health()).rejects.toBeInstanceOf(ConnectionError);
  });
});

describe("the process that starts a server", () => {
  beforeAll(() => {
    if (!existsSync(join(PACKAGE, "dist/index.js"))) spawnSync("npm", ["run", "build"], { cwd: PACKAGE, stdio: "inherit" });
  });

  test("leaves no server and no agent when it is killed", async () => {
    const dataDir = temporaryFolder();
    const agent = program(HANGING_AGENT);
    const pids = () => {
      const file = join(agent, "../pids");
      return existsSync(file) ? readFileSync(file, "utf8").trim().split(/\s+/).map(Number) : [];
    };
    const parent = spawn(process.execPath, [join(PACKAGE, "test/support/start-and-hang.js"), dataDir, agent], {
      env: { ...process.env, INTERLINGUA_BIN: BINARY },
      stdio: ["ignore", "pipe", "inherit"],
    });
    const [line] = (await once(createInterface(parent.stdout), "line")) as [string];
    const { server } = JSON.parse(line) as { server: number };
    // A supervisor, the agent and its descendant.
    await expect.poll(() => pids().length, { timeout: 20_000 }).toBe(3);
    const all = [server, ...pids()];
    expect(all.filter(isAlive)).toEqual(all);
    parent.kill("SIGKILL");
    await expect.poll(() => all.filter(isAlive), { timeout: 20_000 }).toEqual([]);
    // Nothing else works in this folder.
    const left = readdirSync("/proc").filter((pid) => /^\d+$/.test(pid) && mentions(pid, dataDir));
    expect(left).toEqual([]);
  });

  test("ends by itself, although the server runs", async () => {
    const script = `
      import { Interlingua } from ${JSON.stringify(join(PACKAGE, "dist/index.js"))};
      const server = await Interlingua.start({ dataDir: ${JSON.stringify(temporaryFolder())} });
      const session = await server.createSession({ agent: "mock" });
      console.log((await session.send("echo done")).text);
    `;
    const child = spawn(process.execPath, ["--input-type=module", "--eval", script], {
      env: { ...process.env, INTERLINGUA_BIN: BINARY },
      stdio: ["ignore", "pipe", "inherit"],
    });
    const output = createInterface(child.stdout);
    const [line] = (await once(output, "line")) as [string];
    expect(line).toBe("done");
    const [code] = (await once(child, "exit")) as [number];
    expect(code).toBe(0);
  });
});

function mentions(pid: string, text: string): boolean {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8").includes(text);
  } catch {
    return false;
  }
}
