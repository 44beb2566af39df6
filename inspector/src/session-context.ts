import { createContext } from "preact";
import { useContext, useState } from "preact/hooks";
import type { LiveSession } from "./live.ts";
import type { Entry } from "./entry.ts";

/** The session whose entries are shown. */
export const SessionContext = createContext<LiveSession | null>(null);

export function useSession(): LiveSession {
  const live = useContext(SessionContext);
  if (live === null) throw new Error("an entry is shown outside of its session");
  return live;
}

/** Reads an entry so that the component is rendered again when the entry changes. */
export function current<T extends Entry>(entry: T): T {
  void entry.version.value;
  return entry;
}

/** Whether an entry is unfolded, and what changes that. The user's choice outlives the row. */
export function useUnfolded(key: string, initial: boolean): [boolean, () => void] {
  const { unfolded } = useSession();
  const [, update] = useState(0);
  const isUnfolded = unfolded.get(key) ?? initial;
  const toggle = () => {
    unfolded.set(key, !isUnfolded);
    update((count) => count + 1);
  };
  return [isUnfolded, toggle];
}
