import { type ChildProcess, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import process from "node:process";
import { findBinary } from "./binary.js";
import { StartError } from "./errors.js";
import { Interlingua } from "./interlingua.js";
import { checkToken, type ConnectOptions } from "./transport.js";

/** Time that the server has to tell its address. */
const DEFAULT_START_TIMEOUT_MS = 15_000;
/** Time that the server has to end its agents and itself before it is killed. */
const STOP_GRACE_MS = 10_000;
/** How much of the server's log is kept for an error. */
const MAX_STDERR_LENGTH = 16 * 1024;
/** Maximum length of the line with the address. */
const MAX_ADDRESS_LENGTH = 64 * 1024;
/** Environment variable that hands over the token, so that it is not in the list of processes. */
const TOKEN_VARIABLE = "INTERLINGUA_TOKEN";

/** How to start a server. */
export interface StartOptions
  extends Pick<ConnectOptions, "fetch" | "headers" | "reconnectTimeoutMs" | "idleTimeoutMs"> {
  /** Agents that are installed before `start` returns, if they are missing. */
  agents?: readonly string[] | undefined;
  /** Folder for sessions and agents; the server's default if absent. One server can use it at a time. */
  dataDir?: string | undefined;
  /** Port to listen on; a free one if absent. */
  port?: number | undefined;
  /** Token that clients must send; a random one if absent. */
  token?: string | undefined;
  /** Path of the `interlingua` binary. */
  binary?: string | undefined;
  /** Environment variables for the server and its agents, besides those of this process. `undefined` removes one. */
  env?: Record<string, string | undefined> | undefined;
  /** Further arguments of `interlingua server`. */
  args?: readonly string[] | undefined;
  /** Where the server's log goes: to this process's standard error, to `server.log`, or nowhere (the default). */
  log?: "inherit" | "pipe" | "silent" | undefined;
  /** Stops the server when it is aborted. */
  signal?: AbortSignal | undefined;
  /** Time that the server has to start: 15 seconds if absent. */
  timeoutMs?: number | undefined;
}

/** A server that runs as a child of this process, and its client. It ends with this process, however that ends. */
export class Server extends Interlingua implements AsyncDisposable {
  /** Token for other clients. */
  readonly token: string;
  /** Process id of the server. */
  readonly pid: number;
  /** The server's log, if it was started with `log: "pipe"`. */
  readonly log: NodeJS.ReadableStream | null;
  readonly #child: ChildProcess;
  #stopped: Promise<void> | undefined;

  /** @internal */
  constructor(child: ChildProcess, token: string, log: NodeJS.ReadableStream | null, options: ConnectOptions) {
    super({ ...options, token });
    this.#child = child;
    this.token = token;
    this.pid = child.pid as number;
    this.log = log;
  }

  /** Stops the server and its agents. */
  stop(): Promise<void> {
    this.#stopped ??= stopChild(this.#child);
    return this.#stopped;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }
}

/** Starts a server on loopback and connects to it. */
export async function start(options: StartOptions = {}): Promise<Server> {
  options.signal?.throwIfAborted();
  const env = { ...process.env, ...options.env };
  const binary = findBinary(options.binary, env);
  const token = options.token ?? randomBytes(32).toString("hex");
  try {
    checkToken(token);
  } catch (error) {
    throw new StartError(`cannot run ${binary}: ${(error as Error).message}`);
  }
  const args = ["server", "--port", String(options.port ?? 0), "--print-address", "--exit-with-parent"];
  if (options.dataDir !== undefined) args.push("--data-dir", options.dataDir);
  args.push(...(options.args ?? []));
  // The server ends when its standard input closes. The kernel closes it when this process dies.
  const child = spawnServer(binary, args, { ...env, [TOKEN_VARIABLE]: token });
  const stop = () => void stopChild(child);
  try {
    const baseUrl = await readAddress(child, binary, options);
    // Neither the process nor its pipes keep this process alive.
    child.unref();
    for (const pipe of child.stdio) (pipe as { unref?: () => void } | null)?.unref?.();
    child.stdout?.resume();
    const log = options.log === "pipe" ? child.stderr : null;
    if (log === null) child.stderr?.resume();
    options.signal?.addEventListener("abort", stop, { once: true });
    child.once("exit", () => options.signal?.removeEventListener("abort", stop));
    const { fetch, headers, reconnectTimeoutMs, idleTimeoutMs } = options;
    const server = new Server(child, token, log, { baseUrl, fetch, headers, reconnectTimeoutMs, idleTimeoutMs });
    await installMissing(server, options);
    return server;
  } catch (error) {
    await stopChild(child);
    throw error;
  }
}

/** Runs the server. What Node refuses to run is a `StartError` that does not show the values, which may be secrets. */
function spawnServer(binary: string, args: string[], env: NodeJS.ProcessEnv): ChildProcess {
  try {
    return spawn(binary, args, { env, stdio: ["pipe", "pipe", "pipe"], windowsHide: true });
  } catch (error) {
    const { code = "unknown" } = error as NodeJS.ErrnoException;
    const hint = "check that the options `args`, `dataDir` and `env` are strings without null bytes";
    throw new StartError(`cannot run ${binary}: Node refuses its arguments or environment (${code}); ${hint}`);
  }
}

/** Reads the address, the first line of standard output. */
function readAddress(child: ChildProcess, binary: string, options: StartOptions): Promise<string> {
  const timeoutMs = options.timeoutMs ?? DEFAULT_START_TIMEOUT_MS;
  let output = "";
  let stderr = "";
  return new Promise<string>((resolve, reject) => {
    const settle = (act: () => void) => {
      clearTimeout(timer);
      options.signal?.removeEventListener("abort", abort);
      child.stdout?.off("data", read);
      child.off("error", fail).off("close", close);
      act();
    };
    const fail = (cause: Error) =>
      settle(() => reject(new StartError(`cannot run ${binary}: ${cause.message}`, stderr, null, { cause })));
    const close = (code: number | null, signal: string | null) => {
      const how = signal === null ? `exited with code ${code}` : `was killed by ${signal}`;
      settle(() => reject(new StartError(`${binary} server ${how} before it told its address`, stderr, code)));
    };
    const abort = () => settle(() => reject(options.signal?.reason));
    const read = (text: string) => {
      output += text;
      const end = output.indexOf("\n");
      if (end === -1 && output.length < MAX_ADDRESS_LENGTH) return;
      const address = parseAddress(output.slice(0, end === -1 ? undefined : end));
      settle(() =>
        address === undefined
          ? reject(new StartError(`${binary} is not an Interlingua server: it printed ${JSON.stringify(output.slice(0, 200))}`, stderr))
          : resolve(address),
      );
    };
    const timer = setTimeout(
      () => settle(() => reject(new StartError(`${binary} server did not start within ${timeoutMs} ms`, stderr))),
      timeoutMs,
    );
    options.signal?.addEventListener("abort", abort, { once: true });
    // The server may be gone when its input is closed.
    child.stdin?.on("error", () => {});
    child.on("error", fail).on("close", close);
    child.stdout?.setEncoding("utf8").on("data", read);
    child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      stderr = (stderr + text).slice(-MAX_STDERR_LENGTH);
      if (options.log === "inherit") process.stderr.write(text);
    });
  });
}

function parseAddress(line: string): string | undefined {
  try {
    const { address } = JSON.parse(line) as { address?: unknown };
    return typeof address === "string" && /^https?:/.test(address) && URL.canParse(address) ? address : undefined;
  } catch {
    return undefined;
  }
}

async function installMissing(server: Server, { agents = [], signal }: StartOptions): Promise<void> {
  if (agents.length === 0) return;
  const installed = await server.agents({ signal });
  for (const agent of agents) {
    if (installed.find(({ id }) => id === agent)?.installed !== true) await server.installAgent(agent, { signal });
  }
}

/** Ends the server in order, and by force if it takes too long. */
async function stopChild(child: ChildProcess): Promise<void> {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  child.ref();
  const exited = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  const timer = setTimeout(() => child.kill("SIGKILL"), STOP_GRACE_MS);
  child.kill("SIGTERM");
  child.stdin?.end();
  await exited;
  clearTimeout(timer);
}
