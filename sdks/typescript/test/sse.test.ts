import { describe, expect, test } from "vitest";
import { ProtocolError, SseDecoder, type SseFrame } from "../src/client.js";

function decode(...chunks: (string | Uint8Array)[]): SseFrame[] {
  const decoder = new SseDecoder();
  return chunks.flatMap((chunk) => decoder.push(typeof chunk === "string" ? new TextEncoder().encode(chunk) : chunk));
}

describe("SseDecoder", () => {
  test("the result does not depend on how the bytes are split", () => {
    const text = '\uFEFF: comment\r\nid: 1\r\ndata: {"text":"grüße 👋🏽"}\r\n\r\nid: 2\rdata: a\rdata: b\r\revent: x\ndata\n\n';
    const bytes = new TextEncoder().encode(text);
    const expected = [
      { id: "1", event: undefined, data: '{"text":"grüße 👋🏽"}' },
      { id: "2", event: undefined, data: "a\nb" },
      { id: "2", event: "x", data: "" },
    ];
    expect(decode(bytes)).toEqual(expected);
    for (let first = 0; first <= bytes.length; first += 1) {
      for (let second = first; second <= bytes.length; second += 7) {
        const chunks = [bytes.subarray(0, first), bytes.subarray(first, second), bytes.subarray(second)];
        expect(decode(...chunks)).toEqual(expected);
      }
    }
    expect(decode(...Array.from(bytes, (_, at) => bytes.subarray(at, at + 1)))).toEqual(expected);
  });

  test("a frame without data is no event, but its id counts", () => {
    expect(decode("id: 7\n\n: ping\n\ndata: x\n\n")).toEqual([{ id: "7", event: undefined, data: "x" }]);
  });

  test("a frame that is cut off is no event", () => {
    expect(decode("data: {\"a\":1}\n")).toEqual([]);
  });

  test("only the first space of a value is dropped", () => {
    expect(decode("data:  x\ndata:y\nunknown: z\n\n")).toEqual([{ id: undefined, event: undefined, data: " x\ny" }]);
  });

  test("a frame that is too long is an error, not memory", () => {
    const decoder = new SseDecoder(1000);
    const chunk = new TextEncoder().encode("x".repeat(400));
    decoder.push(new TextEncoder().encode("data: "));
    decoder.push(chunk);
    decoder.push(chunk);
    expect(() => decoder.push(chunk)).toThrow(ProtocolError);
  });

  test("a long line in many chunks takes linear time", () => {
    const decoder = new SseDecoder();
    const chunk = new TextEncoder().encode("x".repeat(16 * 1024));
    const started = performance.now();
    decoder.push(new TextEncoder().encode("data: "));
    for (let count = 0; count < 2048; count += 1) decoder.push(chunk);
    const [frame] = decoder.push(new TextEncoder().encode("\n\n"));
    expect(frame?.data.length).toBe(32 * 1024 * 1024);
    expect(performance.now() - started).toBeLessThan(5_000);
  });
});
