import { signal } from "@preact/signals";

/** Time for which a message without an error is shown. */
const SHOW_MS = 2_500;

/** What the page tells the user. An error stays until it is closed. */
export const toast = signal<{ readonly text: string; readonly isError: boolean } | null>(null);

let timer: ReturnType<typeof setTimeout> | undefined;

export function notify(text: string, isError = false): void {
  toast.value = { text, isError };
  clearTimeout(timer);
  if (!isError) timer = setTimeout(dismiss, SHOW_MS);
}

export function dismiss(): void {
  clearTimeout(timer);
  toast.value = null;
}

export function errorText(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Runs an action of the user, and shows why it failed. */
export async function attempt<T>(action: () => Promise<T>): Promise<T | undefined> {
  try {
    return await action();
  } catch (error) {
    notify(errorText(error), true);
    return undefined;
  }
}
