/** @internal The query parameters of a filter by labels. */
export function labelParameters(labels: Record<string, string | null> = {}): string[] {
  return Object.entries(labels).map(([name, value]) => (value === null ? name : `${name}=${value}`));
}
