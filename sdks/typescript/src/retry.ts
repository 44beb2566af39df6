import { sleep } from "./abort.js";
import { InterlinguaError } from "./errors.js";

const FIRST_DELAY_MS = 50;
const MAX_DELAY_MS = 5_000;

/** Waits before the next attempt: exponentially longer, with jitter, or as long as the server asks. */
export function retryDelay(failures: number, error: unknown, signal?: AbortSignal): Promise<void> {
  const longest = Math.min(MAX_DELAY_MS, FIRST_DELAY_MS * 2 ** failures);
  const delay = longest / 2 + (Math.random() * longest) / 2;
  const asked = error instanceof InterlinguaError ? (error.retryAfterMs ?? 0) : 0;
  return sleep(Math.max(delay, Math.min(asked, MAX_DELAY_MS)), signal);
}

/** The time until which a lost connection is tried again. */
export class RetryDeadline {
  readonly #timeoutMs: number;
  #since = Date.now();

  constructor(timeoutMs: number) {
    this.#timeoutMs = timeoutMs;
  }

  /** Starts anew, because the server has answered. */
  reset(): void {
    this.#since = Date.now();
  }

  passed(): boolean {
    return Date.now() - this.#since >= this.#timeoutMs;
  }
}
