import { parseJsonEventStream, readUIMessageStream, uiMessageChunkSchema, type UIMessage, type UIMessageChunk } from "ai";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Interlingua, toUIMessageStream, type SendOptions } from "../src/client.js";
import { TestServer, TOKEN } from "./support/server.js";

let server: TestServer;
let client: Interlingua;

beforeAll(async () => {
  server = await TestServer.start();
  client = Interlingua.connect({ baseUrl: server.baseUrl, token: TOKEN });
});
afterAll(() => server.kill());

/** The chunks of a turn and the message that a `useChat` front end makes of them, by the AI SDK's own code. */
async function chat(text: string, options: SendOptions = {}) {
  const session = await client.createSession({ agent: "mock" });
  const response = toUIMessageStream(session.send(text, options));
  expect(response.headers.get("x-vercel-ai-ui-message-stream")).toBe("v1");
  expect(response.headers.get("content-type")).toBe("text/event-stream");
  const [raw, parsed] = (response.body as ReadableStream<Uint8Array>).tee();
  const chunks: UIMessageChunk[] = [];
  const stream = parseJsonEventStream({ stream: parsed, schema: uiMessageChunkSchema }).pipeThrough(
    new TransformStream<{ success: boolean; value?: UIMessageChunk; error?: unknown }, UIMessageChunk>({
      transform(result, controller) {
        if (!result.success) throw result.error;
        chunks.push(result.value as UIMessageChunk);
        controller.enqueue(result.value as UIMessageChunk);
      },
    }),
  );
  const errors: string[] = [];
  let message: UIMessage | undefined;
  for await (const state of readUIMessageStream({ stream, onError: (error) => errors.push(String(error)) })) message = state;
  const sse = await new Response(raw).text();
  return { chunks, message: message as UIMessage, errors, sse };
}

describe("the UI message stream", () => {
  test("of an answer is its text", async () => {
    const { message, chunks, sse } = await chat("markdown");
    expect(message.role).toBe("assistant");
    expect(message.parts.filter(({ type }) => type === "text")).toMatchObject([{ state: "done" }]);
    expect(chunks.filter(({ type }) => type === "text-delta").length).toBe(8);
    expect(message.metadata).toMatchObject({ status: "completed", usage: { output_tokens: expect.any(Number) } });
    expect(sse.endsWith("data: [DONE]\n\n")).toBe(true);
    // The user's own message is not repeated.
    expect(JSON.stringify(message.parts)).not.toContain('"markdown"');
  });

  test("of reasoning is a reasoning part", async () => {
    const { message } = await chat("reasoning");
    expect(message.parts.map(({ type }) => type)).toEqual(["step-start", "reasoning", "text"]);
  });

  test("of a tool is a dynamic tool with input and output", async () => {
    const { message } = await chat("tool");
    const tool = message.parts.find((part) => part.type === "dynamic-tool");
    expect(tool).toMatchObject({ state: "output-available", input: expect.any(Object), output: expect.any(String) });
  });

  test("of permissions has their state, and the tools that were denied as errors", async () => {
    const { message } = await chat("permission", { onPermission: () => "reject" });
    const permissions = message.parts.filter((part) => part.type === "data-permission");
    expect(permissions).toMatchObject([{ data: { status: "denied" } }, { data: { status: "denied" } }]);
    expect(message.parts.filter((part) => part.type === "dynamic-tool")).toMatchObject([
      { state: "output-error" },
      { state: "output-error" },
    ]);
  });

  test("of a plan and an image has data and a file", async () => {
    const { message } = await chat("status");
    expect(message.parts).toContainEqual(expect.objectContaining({ type: "data-status" }));
    const { errors } = await chat("image");
    expect(errors).toEqual([]);
  });

  test("of a turn that fails has its error", async () => {
    const { chunks, errors } = await chat("error");
    expect(errors).toHaveLength(1);
    expect(chunks.at(-1)).toMatchObject({ type: "finish", finishReason: "error" });
  });

  test("of a connection that fails has its error", async () => {
    const session = client.session("does not exist");
    const text = await toUIMessageStream(session.send("x")).text();
    expect(text).toContain('"type":"error"');
    expect(text).toContain("does not exist");
  });

  test("of everything the mock can do is accepted", async () => {
    const { chunks, errors } = await chat("demo", {
      onPermission: () => "once",
      onQuestion: ({ options }) => options[0] ?? "blue",
    });
    expect(chunks.length).toBeGreaterThan(40);
    // The turn goes on after the error.
    expect(errors).toEqual([]);
  });

  test("that a browser leaves closes the connection to the server", async () => {
    const session = await client.createSession({ agent: "mock" });
    const turn = session.send("permission");
    const reader = (toUIMessageStream(turn).body as ReadableStream<Uint8Array>).getReader();
    let text = "";
    while (!text.includes("data-permission")) text += new TextDecoder().decode((await reader.read()).value);
    await reader.cancel();
    await session.interrupt();
    expect((await turn).status).toBe("interrupted");
  });
});
