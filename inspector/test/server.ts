import { type ChildProcess, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { SessionInfo } from "interlingua/client";
import { PageProxy } from "./page-proxy.ts";

const BINARY = process.env["INTERLINGUA_BIN"] ?? new URL("../../target/debug/interlingua", import.meta.url).pathname;
/** The program that replays recordings. */
export const REPLAY = process.env["INTERLINGUA_REPLAY_BIN"] ?? join(dirname(BINARY), "interlingua-replay");
const CHROMIUM = [process.env["CHROMIUM_BIN"], "/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];

/** Path of the browser; undefined if there is none. */
export const chromium = CHROMIUM.find((path) => path !== undefined && existsSync(path));

/** Folder of the page that is tested; absent for the page in the program. */
const DIST = process.env["INSPECTOR_DIST"];

/** How to start a server. */
export interface ServerOptions {
  readonly env?: NodeJS.ProcessEnv;
  /** Further arguments of `interlingua server`. */
  readonly arguments?: readonly string[];
}

/** Fields of a new session besides its title. */
type SessionFields = Record<string, unknown>;

/** A server that runs until it is stopped. */
export class TestServer {
  readonly token = randomBytes(12).toString("hex");
  readonly #dataDir: string;
  readonly #options: ServerOptions;
  #child: ChildProcess | undefined;
  #proxy: PageProxy | undefined;
  #address = "";

  private constructor(dataDir: string, options: ServerOptions) {
    this.#dataDir = dataDir;
    this.#options = options;
  }

  static async start(options: ServerOptions = {}): Promise<TestServer> {
    const server = new TestServer(await mkdtemp(join(tmpdir(), "inspector-")), options);
    await server.#run(0);
    if (DIST !== undefined) server.#proxy = await PageProxy.start(DIST, () => server.#address);
    return server;
  }

  /** Address of the server, and of the page. */
  get address(): string {
    return this.#proxy?.address ?? this.#address;
  }

  async #run(port: number): Promise<void> {
    const options = ["--port", String(port), "--print-address", "--exit-with-parent", "--log", "warn", ...(this.#options.arguments ?? [])];
    const child = spawn(BINARY, ["server", ...options, "--data-dir", this.#dataDir], {
      stdio: ["pipe", "pipe", "ignore"],
      cwd: process.env["INSPECTOR_CWD"] ?? this.#dataDir,
      env: { ...process.env, ...this.#options.env, INTERLINGUA_TOKEN: this.token },
    });
    this.#child = child;
    this.#address = await new Promise((resolve, reject) => {
      let text = "";
      child.stdout?.on("data", (chunk: Buffer) => {
        text += chunk.toString();
        if (text.includes("\n")) resolve((JSON.parse(text) as { address: string }).address);
      });
      child.on("error", reject);
      child.on("exit", (code) => reject(new Error(`the server exited with code ${code}`)));
    });
  }

  /** Kills the server. Returns a function that starts it again on the same port. */
  async kill(): Promise<() => Promise<void>> {
    const port = Number(new URL(this.#address).port);
    await this.#end("SIGKILL");
    return () => this.#run(port);
  }

  async stop(): Promise<void> {
    await this.#proxy?.stop();
    await this.#end("SIGTERM");
    await rm(this.#dataDir, { recursive: true, force: true });
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    const exited = new Promise((resolve) => this.#child?.on("exit", resolve));
    this.#child?.kill(signal);
    await exited;
  }

  async post(path: string, body: unknown): Promise<void> {
    const headers = { authorization: `Bearer ${this.token}`, "content-type": "application/json" };
    const response = await fetch(`${this.address}${path}`, { method: "POST", headers, body: JSON.stringify(body) });
    if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
    await response.arrayBuffer();
  }

  async get<T>(path: string): Promise<T> {
    return JSON.parse(await this.text(path)) as T;
  }

  async text(path: string): Promise<string> {
    const response = await fetch(`${this.address}${path}`, { headers: { authorization: `Bearer ${this.token}` } });
    return response.text();
  }

  /** Creates a session of the mock agent and sends it messages. */
  create(id: string, title: string, ...messages: string[]): Promise<void> {
    return this.createWith(id, { title }, ...messages);
  }

  /** The same, with further fields. */
  async createWith(id: string, fields: SessionFields, ...messages: string[]): Promise<void> {
    await this.post(`/v1/sessions/${encodeURIComponent(id)}`, { agent: "mock", ...fields });
    for (const message of messages) await this.send(id, message);
  }

  send(id: string, message: string): Promise<void> {
    return this.post(`/v1/sessions/${encodeURIComponent(id)}/messages`, { message });
  }

  info(id: string): Promise<SessionInfo> {
    return this.get(`/v1/sessions/${encodeURIComponent(id)}`);
  }

  /** Waits until a session has nothing to do. */
  async idle(id: string): Promise<SessionInfo> {
    for (;;) {
      const info = await this.info(id);
      if (info.queued === 0 && info.state !== "running") return info;
      await new Promise((resolve) => setTimeout(resolve, 30));
    }
  }

  /** Address of a page, with the token in the fragment. */
  page(path = ""): string {
    return `${this.address}/ui/${path}#token=${this.token}`;
  }
}
