import { signal } from "@preact/signals";
import type { Token, Tokens } from "marked";
import { type ComponentChildren, Fragment, type VNode } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import { CopyButton } from "./clipboard.tsx";
import { isSafeLink, sanitize } from "./format.ts";
import { lex } from "./lexer.ts";

/** Length from which code is not coloured. */
const MAX_HIGHLIGHT_LENGTH = 30_000;
/** Length of a text that is shown at first. */
const MAX_SHOWN_LENGTH = 50_000;

/**
 * Markdown as elements. There is no HTML on the way: the parser gives tokens, and each becomes an element whose content
 * is text. Raw HTML is shown as text.
 */
export function Markdown({ text }: { text: string }) {
  // The same element as before is not compared again.
  return useMemo(() => renderMarkdown(text), [text]);
}

function renderMarkdown(text: string): VNode {
  const clean = sanitize(text);
  const tokens = lex(clean);
  if (tokens === null) return <LongText text={clean} />;
  return (
    <div class="markdown" dir="auto">
      {blocks(tokens)}
    </div>
  );
}

/** Text as it is. The rest of a very long one is shown on demand. */
export function LongText({ text, className = "plain" }: { text: string; className?: string }) {
  const [shown, more] = useBeginning(text);
  return (
    <div class={className} dir="auto">
      {shown}
      {more}
    </div>
  );
}

/** The beginning of a text, and the button that shows more of it. */
function useBeginning(text: string): [string, VNode | null] {
  const [length, setLength] = useState(MAX_SHOWN_LENGTH);
  if (text.length <= length) return [text, null];
  return [
    text.slice(0, length),
    <button type="button" class="link more" onClick={() => setLength(length * 10)}>
      Show {Math.min(text.length - length, length * 9).toLocaleString("en")} of {(text.length - length).toLocaleString("en")} more characters
    </button>,
  ];
}

function blocks(tokens: readonly Token[]): ComponentChildren {
  return tokens.map((token, index) => <Fragment key={index}>{block(token)}</Fragment>);
}

function block(token: Token): ComponentChildren {
  switch (token.type) {
    case "space":
    case "def":
      return null;
    case "heading": {
      const Heading = `h${Math.min(6, (token as Tokens.Heading).depth + 2)}` as "h3";
      return <Heading>{inline(token.tokens)}</Heading>;
    }
    case "code":
      return <Code text={(token as Tokens.Code).text} language={(token as Tokens.Code).lang ?? ""} />;
    case "blockquote":
      return <blockquote>{blocks(token.tokens ?? [])}</blockquote>;
    case "list":
      return list(token as Tokens.List);
    case "table":
      return table(token as Tokens.Table);
    case "hr":
      return <hr />;
    case "paragraph":
      return <p>{inline(token.tokens)}</p>;
    case "text":
      return token.tokens === undefined ? plain(token) : inline(token.tokens);
    default:
      return <p>{token.raw}</p>;
  }
}

function list(token: Tokens.List): VNode {
  const items = token.items.map((item, index) => (
    <li key={index} class={item.task ? "task" : undefined}>
      {item.task && <input type="checkbox" checked={item.checked === true} disabled aria-label="Step" />}
      {blocks(item.tokens)}
    </li>
  ));
  return token.ordered ? <ol start={token.start === "" ? 1 : token.start}>{items}</ol> : <ul>{items}</ul>;
}

function table(token: Tokens.Table): VNode {
  return (
    <div class="table">
      <table>
        <thead>
          <tr>
            {token.header.map((cell, index) => (
              <th key={index}>{inline(cell.tokens)}</th>
            ))}
          </tr>
        </thead>
        <tbody>
          {token.rows.map((row, index) => (
            <tr key={index}>
              {row.map((cell, column) => (
                <td key={column}>{inline(cell.tokens)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function inline(tokens: readonly Token[] | undefined): ComponentChildren {
  return tokens?.map((token, index) => <Fragment key={index}>{span(token)}</Fragment>);
}

function span(token: Token): ComponentChildren {
  switch (token.type) {
    case "strong":
      return <strong>{inline(token.tokens)}</strong>;
    case "em":
      return <em>{inline(token.tokens)}</em>;
    case "del":
      return <del>{inline(token.tokens)}</del>;
    case "codespan":
      return <code>{(token as Tokens.Codespan).text}</code>;
    case "br":
      return <br />;
    case "link":
    case "image": {
      const { href, text } = token as Tokens.Link;
      const content = token.type === "link" ? inline(token.tokens) : text || href;
      if (!isSafeLink(href)) return content;
      return (
        <a href={href.trim()} target="_blank" rel="noopener noreferrer nofollow">
          {content}
        </a>
      );
    }
    case "escape":
      return (token as Tokens.Escape).text;
    case "text":
      return token.tokens === undefined ? plain(token) : inline(token.tokens);
    default:
      return token.raw;
  }
}

/** Text of a token. The parser leaves character references as they are. */
function plain(token: Token): string {
  return "text" in token ? decodeReferences(token.text as string) : token.raw;
}

const REFERENCES: Record<string, string> = { "&amp;": "&", "&lt;": "<", "&gt;": ">", "&quot;": '"', "&#39;": "'", "&nbsp;": "\u00a0" };

function decodeReferences(text: string): string {
  return text.replace(/&(?:amp|lt|gt|quot|#39|nbsp);/g, (reference) => REFERENCES[reference] ?? reference);
}

/** A part of coloured code. */
interface HighlightNode {
  type: string;
  value?: string;
  properties?: { className?: readonly string[] };
  children?: readonly HighlightNode[];
}

type Highlighter = (language: string, text: string) => readonly HighlightNode[] | null;

const highlighter = signal<Highlighter | null>(null);
let isLoading = false;

/** Loads the highlighter when the first code is shown. */
function loadHighlighter(): void {
  if (isLoading) return;
  isLoading = true;
  void import("./highlight.ts").then((module) => (highlighter.value = module.highlight as Highlighter));
}

/** Code, coloured if its language is known. */
export function Code({ text, language }: { text: string; language: string }) {
  const name = language.split(/\s/)[0]?.toLowerCase() ?? "";
  const [shown, more] = useBeginning(text);
  useEffect(loadHighlighter, []);
  const isShort = text.length < MAX_HIGHLIGHT_LENGTH;
  const nodes = name !== "" && isShort ? highlighter.value?.(name, text) : null;
  return (
    <figure class="code">
      <figcaption>
        <span>{name}</span>
        <CopyButton text={text} label="Copy code" />
      </figcaption>
      <pre dir="ltr">
        <code>{nodes == null ? shown : nodes.map(highlighted)}</code>
        {more}
      </pre>
    </figure>
  );
}

function highlighted(node: HighlightNode, index: number): ComponentChildren {
  if (node.type === "text") return node.value;
  return (
    <span key={index} class={node.properties?.className?.join(" ")}>
      {node.children?.map(highlighted)}
    </span>
  );
}
