/** Postgres in a temporary folder, from Debian's package. */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { chownSync, existsSync, readdirSync, readFileSync } from "node:fs";
import { createServer, type AddressInfo } from "node:net";
import { once } from "node:events";
import { join } from "node:path";
import process from "node:process";
import { setTimeout as wait } from "node:timers/promises";
import { temporaryFolder } from "./server.js";

const DEBIAN_FOLDER = "/usr/lib/postgresql";

/** The folder with the programs of the newest version; undefined if Postgres is not installed. */
function findPrograms(): string | undefined {
  const named = process.env["POSTGRES_BIN"];
  if (named !== undefined) return named;
  const versions = existsSync(DEBIAN_FOLDER) ? readdirSync(DEBIAN_FOLDER).filter((name) => /^\d+$/.test(name)) : [];
  const newest = versions.sort((a, b) => Number(b) - Number(a))[0];
  return newest === undefined ? undefined : join(DEBIAN_FOLDER, newest, "bin");
}

const PROGRAMS = findPrograms();

/** Whether tests can use Postgres. With INTERLINGUA_REQUIRE_POSTGRES, as in .ci/run, it must be there. */
export const HAS_POSTGRES = PROGRAMS !== undefined;
if (!HAS_POSTGRES) {
  const message = "Postgres is not installed: run `apt-get install postgresql`";
  if (process.env["INTERLINGUA_REQUIRE_POSTGRES"] !== undefined) throw new Error(message);
  console.warn(`skipped: ${message}`);
}

/** Ids of the user that runs Postgres, which refuses to run as root. */
function findUser(): [number, number] | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const users = readFileSync("/etc/passwd", "utf8").split("\n").map((line) => line.split(":"));
  const user = users.find(([name]) => name === "postgres") ?? users.find(([name]) => name === "nobody");
  return [Number(user?.[2]), Number(user?.[3])];
}

export class Postgres {
  readonly url: string;
  readonly #child: ChildProcess;

  private constructor(url: string, child: ChildProcess) {
    this.url = url;
    this.#child = child;
  }

  static async start(): Promise<Postgres> {
    const folder = temporaryFolder();
    const user = findUser();
    if (user !== undefined) chownSync(folder, ...user);
    const command = (program: string, args: string[]): [string, string[]] => {
      const path = join(PROGRAMS as string, program);
      if (user === undefined) return [path, args];
      return ["setpriv", [`--reuid=${user[0]}`, `--regid=${user[1]}`, "--clear-groups", "--", path, ...args]];
    };
    const data = join(folder, "data");
    const options = { cwd: "/", encoding: "utf8", env: { ...process.env, LC_ALL: "C" } } as const;
    const settings = ["--username=interlingua", "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync", "-D", data];
    const made = spawnSync(...command("initdb", settings), options);
    if (made.status !== 0) throw new Error(`initdb failed: ${made.stderr}`);
    const port = await freePort();
    const address = ["-D", data, "-p", String(port), "-k", folder, "-c", "listen_addresses=127.0.0.1", "-c", "fsync=off"];
    const child = spawn(...command("postgres", address), { cwd: "/", stdio: "ignore" });
    process.once("exit", () => child.kill("SIGINT"));
    const isReady = () => spawnSync(...command("pg_isready", ["-q", "-h", folder, "-p", String(port)]), options).status === 0;
    for (let attempts = 0; !isReady(); attempts += 1) {
      if (attempts === 200 || child.exitCode !== null) throw new Error("Postgres did not start");
      await wait(50);
    }
    return new Postgres(`postgres://interlingua@127.0.0.1:${port}/postgres?sslmode=disable`, child);
  }

  async stop(): Promise<void> {
    this.#child.kill("SIGINT");
    if (this.#child.exitCode === null) await once(this.#child, "exit");
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}
