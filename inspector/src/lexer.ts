import { Lexer, type Token, Tokenizer } from "marked";

/** Length from which a text is shown as it is. */
const MAX_LENGTH = 50_000;
/** Time that parsing a text may take before it is shown as it is. */
const MAX_TIME_MS = 100;
/** Length from which a paragraph with many marks or a long gap is shown as it is. */
const MAX_DENSE_LENGTH = 2_000;
/** Number of marks of such a paragraph. */
const MAX_MARKS = 300;
/** Depth of blocks inside blocks, and of spans inside spans. */
const MAX_DEPTH = 24;
/** Number of tokens, each of which becomes an element. */
const MAX_TOKENS = 5_000;

const MARK = /[^\p{L}\p{N} ,;]/gu;
const GAP = /\s{500}/;

/**
 * The tokens of a markdown text; null if it is to be shown as it is. The parser needs quadratic and cubic time for some
 * texts, so that what it is given is limited: an agent may have been told to write such a text.
 */
export function lex(text: string): readonly Token[] | null {
  if (text.length > MAX_LENGTH) return null;
  try {
    const tokens = new BoundedLexer(performance.now() + MAX_TIME_MS).lex(text);
    return fits(tokens) ? tokens : null;
  } catch {
    // It took too long, or the blocks are nested too deeply for the stack.
    return null;
  }
}

class BoundedLexer extends Lexer {
  constructor(deadline: number) {
    super({ gfm: true, breaks: true, tokenizer: boundedTokenizer(deadline) });
  }

  override inline(source: string, tokens: Token[] = []): Token[] {
    if (!isDense(source)) return super.inline(source, tokens);
    tokens.push({ type: "text", raw: source, text: source });
    return tokens;
  }
}

function isDense(text: string): boolean {
  return text.length > MAX_DENSE_LENGTH && ((text.match(MARK)?.length ?? 0) > MAX_MARKS || GAP.test(text));
}

/** A tokenizer whose methods fail after a deadline. */
function boundedTokenizer(deadline: number): Tokenizer {
  const tokenizer = new Tokenizer();
  const methods = tokenizer as unknown as Record<string, unknown>;
  for (const name of Object.getOwnPropertyNames(Tokenizer.prototype)) {
    const method = methods[name];
    if (name === "constructor" || typeof method !== "function") continue;
    methods[name] = (...input: unknown[]): unknown => {
      if (performance.now() > deadline) throw new Error("parsing takes too long");
      return (method as (...input: unknown[]) => unknown).apply(tokenizer, input);
    };
  }
  return tokenizer;
}

/** Whether tokens are few enough, and not nested too deeply. */
function fits(tokens: readonly Token[]): boolean {
  let count = 0;
  const isFlat = (level: readonly Token[], depth: number): boolean =>
    depth <= MAX_DEPTH &&
    level.every((token) => {
      count += 1;
      return count <= MAX_TOKENS && childTokens(token).every((children) => isFlat(children, depth + 1));
    });
  return isFlat(tokens, 0);
}

function childTokens(token: Token): (readonly Token[])[] {
  if (token.type === "list") return [(token as { items: Token[] }).items];
  if (token.type === "table") {
    const { header, rows } = token as { header: { tokens: Token[] }[]; rows: { tokens: Token[] }[][] };
    return [header, ...rows].flat().map(({ tokens }) => tokens);
  }
  return "tokens" in token && token.tokens !== undefined ? [token.tokens] : [];
}
