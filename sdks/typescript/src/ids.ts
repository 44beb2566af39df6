const ALPHABET = "0123456789abcdefghijklmnopqrstuvwxyz";
const RANDOM_LENGTH = 24;

/** A unique id. `crypto.randomUUID` is missing on pages that were not loaded over HTTPS. */
export function newId(prefix: string): string {
  const bytes = crypto.getRandomValues(new Uint8Array(RANDOM_LENGTH));
  let id = prefix;
  for (const byte of bytes) id += ALPHABET[byte % ALPHABET.length];
  return id;
}
