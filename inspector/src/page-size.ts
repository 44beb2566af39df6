import type { UniversalEvent } from "interlingua/client";

/** Number of events of a page. */
const MAX_PAGE_EVENTS = 1_000;
export const MIN_PAGE_EVENTS = 20;
/** Characters of text that a page should have at most. */
const PAGE_CHARACTERS = 1_000_000;
/** What an event has besides its text. */
const EVENT_CHARACTERS = 200;

/** Chooses how many events to read at once: fewer if they are long. */
export class PageSize {
  #average = EVENT_CHARACTERS * 5;

  /** Observes a page, and returns its length. */
  observe(events: readonly UniversalEvent[]): number {
    const length = characters(events);
    if (events.length > 0) this.#average = length / events.length;
    return length;
  }

  get events(): number {
    return Math.max(MIN_PAGE_EVENTS, Math.min(MAX_PAGE_EVENTS, Math.floor(PAGE_CHARACTERS / this.#average)));
  }
}

/** Length of events, roughly. */
export function characters(events: readonly UniversalEvent[]): number {
  let sum = 0;
  for (const event of events) {
    sum += EVENT_CHARACTERS;
    if (event.type === "item.delta") {
      sum += event.data.delta.length;
    } else if (event.type === "item.started" || event.type === "item.completed") {
      for (const part of event.data.item.content) {
        for (const value of Object.values(part)) if (typeof value === "string") sum += value.length;
      }
    }
  }
  return sum;
}
