/** The real server, with the mock agent. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { createServer, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";

const REPOSITORY = fileURLToPath(new URL("../../../..", import.meta.url));

/** The binary that cargo has built. */
export const BINARY =
  process.env["INTERLINGUA_BIN"] ?? join(process.env["CARGO_TARGET_DIR"] ?? join(REPOSITORY, "target"), "debug/interlingua");

if (!existsSync(BINARY)) {
  throw new Error(`${BINARY} does not exist; run \`cargo build -p interlingua\`, or set INTERLINGUA_BIN`);
}

export const TOKEN = "test-token";

/** A folder that is removed at the end of the test file. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "interlingua-sdk-"));
  process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}

/** A server that can be killed and started again at the same address, with the same data. */
export class TestServer {
  readonly dataDir = temporaryFolder();
  /** Home of the server's user, where agents keep their sessions. */
  readonly home = temporaryFolder();
  readonly #args: string[];
  readonly port: number;
  #child: ChildProcess | undefined;
  #log = "";

  private constructor(port: number, args: string[]) {
    this.port = port;
    this.#args = args;
  }

  static async start(...args: string[]): Promise<TestServer> {
    const server = new TestServer(await freePort(), args);
    await server.run();
    return server;
  }

  get baseUrl(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  get pid(): number {
    return this.#child?.pid as number;
  }

  get log(): string {
    return this.#log;
  }

  /** Runs the server, and waits until it listens. */
  async run(): Promise<void> {
    const args = ["server", "--port", String(this.port), "--data-dir", this.dataDir, "--log", "warn", ...this.#args];
    const child = spawn(BINARY, args, {
      env: { ...process.env, INTERLINGUA_TOKEN: TOKEN, HOME: this.home, CLAUDE_CONFIG_DIR: "", CODEX_HOME: "", XDG_DATA_HOME: "" },
      stdio: ["ignore", "ignore", "pipe"],
    });
    this.#child = child;
    const stop = () => child.kill("SIGKILL");
    process.once("exit", stop);
    child.once("exit", () => process.off("exit", stop));
    await new Promise<void>((resolve, reject) => {
      child.once("exit", (code) => reject(new Error(`the server exited with code ${code}\n${this.#log}`)));
      child.stderr.setEncoding("utf8").on("data", (text: string) => {
        this.#log += text;
        if (this.#log.includes("listens on")) resolve();
      });
    });
    this.#log = "";
  }

  async kill(): Promise<void> {
    await this.stop("SIGKILL");
  }

  /** Sends a signal, and waits until the server has ended. */
  async stop(signal: NodeJS.Signals): Promise<void> {
    const child = this.#child;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    child.kill(signal);
    await once(child, "exit");
  }

  async restart(): Promise<void> {
    await this.kill();
    await this.run();
  }
}
