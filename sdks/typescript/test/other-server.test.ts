import { afterEach, describe, expect, test } from "vitest";
import { ConnectionError, Interlingua, ProtocolError } from "../src/client.js";
import { SandboxAgent } from "../src/sandbox-agent.js";
import { answering, closeOthers, event, frame, other, streaming } from "./support/other-server.js";

afterEach(closeOthers);

const connect = (baseUrl: string, options = {}) => Interlingua.connect({ baseUrl, ...options });

async function drain(values: AsyncIterable<unknown>): Promise<void> {
  for await (const _value of values);
}

/** Every method that sends a request. */
const METHODS: Record<string, (client: Interlingua) => PromiseLike<unknown>> = {
  health: (client) => client.health(),
  agents: (client) => client.agents(),
  installAgent: (client) => client.installAgent("codex"),
  modes: (client) => client.modes("codex"),
  models: (client) => client.models("codex"),
  sessions: (client) => drain(client.sessions()),
  allEvents: (client) => drain(client.allEvents()),
  search: (client) => client.search("word"),
  createSession: (client) => client.createSession({ agent: "mock" }),
  send: (client) => client.session("s").send("hi"),
  "iterated send": (client) => drain(client.session("s").send("hi")),
  queueMessage: (client) => client.session("s").queueMessage("hi"),
  events: (client) => drain(client.session("s").events()),
  history: (client) => client.session("s").history(),
  "iterated history": (client) => drain(client.session("s").history()),
  info: (client) => client.session("s").info(),
  upload: (client) => client.session("s").upload("text"),
  queue: (client) => client.session("s").queue(),
  cancelMessage: (client) => client.session("s").cancelMessage("m"),
  update: (client) => client.session("s").update({ title: "t" }),
  setSecrets: (client) => client.session("s").setSecrets({ env: {} }),
  interrupt: (client) => client.session("s").interrupt(),
  terminate: (client) => client.session("s").terminate(),
  delete: (client) => client.session("s").delete(),
  replyPermission: (client) => client.session("s").replyPermission("p", "once"),
  replyQuestion: (client) => client.session("s").replyQuestion("q", "a"),
  rejectQuestion: (client) => client.session("s").rejectQuestion("q"),
};

const SANDBOX_METHODS: Record<string, (agent: SandboxAgent) => PromiseLike<unknown>> = {
  getHealth: (agent) => agent.getHealth(),
  listAgents: (agent) => agent.listAgents(),
  installAgent: (agent) => agent.installAgent("codex"),
  getAgentModes: (agent) => agent.getAgentModes("codex"),
  getAgentModels: (agent) => agent.getAgentModels("codex"),
  createSession: (agent) => agent.createSession("s", { agent: "mock" }),
  listSessions: (agent) => agent.listSessions(),
  postMessage: (agent) => agent.postMessage("s", { message: "hi" }),
  postMessageStream: (agent) => agent.postMessageStream("s", { message: "hi" }),
  getEvents: (agent) => agent.getEvents("s"),
  getEventsSse: (agent) => agent.getEventsSse("s"),
  streamEvents: (agent) => drain(agent.streamEvents("s")),
  streamTurn: (agent) => drain(agent.streamTurn("s", { message: "hi" })),
  replyQuestion: (agent) => agent.replyQuestion("s", "q", { answers: [["a"]] }),
  rejectQuestion: (agent) => agent.rejectQuestion("s", "q"),
  replyPermission: (agent) => agent.replyPermission("s", "p", { reply: "once" }),
  terminateSession: (agent) => agent.terminateSession("s"),
};

async function failure(call: PromiseLike<unknown>): Promise<unknown> {
  try {
    await call;
  } catch (error) {
    return error;
  }
  throw new Error("the call succeeded");
}

describe("an answer of a server of another kind is a ProtocolError", () => {
  const lists = ["agents", "events", "messages", "models", "modes", "results", "sessions"];
  const bodies = {
    "another object": '{"hello":"world"}',
    null: "null",
    "a number": "5",
    "lists of null": JSON.stringify(Object.fromEntries(lists.map((key) => [key, [null]]))),
  };
  for (const [name, body] of Object.entries(bodies)) {
    test.for(Object.entries(METHODS))(`${name} for %s`, async ([, call]) => {
      const url = await other(answering(body));
      expect(await failure(call(connect(url)))).toBeInstanceOf(ProtocolError);
    });

    test.for(Object.entries(SANDBOX_METHODS))(`${name} for SandboxAgent.%s`, async ([, call]) => {
      const url = await other(answering(body));
      expect(await failure(call(await SandboxAgent.connect({ baseUrl: url })))).toBeInstanceOf(ProtocolError);
    });
  }

  const withoutContent = ["queueMessage", "cancelMessage", "setSecrets", "interrupt", "terminate", "delete"];
  withoutContent.push("replyPermission", "replyQuestion", "rejectQuestion", "installAgent");
  test.for(withoutContent)("status 200 without a body for %s", async (name) => {
    const url = await other((_, response) => response.writeHead(200).end());
    expect(await failure((METHODS[name] as (client: Interlingua) => Promise<unknown>)(connect(url)))).toBeInstanceOf(ProtocolError);
  });

  test("an installation in an unknown state", async () => {
    const url = await other((request, response) => {
      const isPost = request.method === "POST";
      response.writeHead(isPost ? 202 : 200, { "content-type": "application/json" });
      response.end('{"state":"paused"}');
    });
    await expect(connect(url).installAgent("codex")).rejects.toThrow(/unknown state "paused"/);
  });

  test("pages of events that do not go on", async () => {
    const url = await other(answering(JSON.stringify({ events: [event(1)], hasMore: true })));
    await expect(drain(connect(url).session("s").history())).rejects.toBeInstanceOf(ProtocolError);
  });
});

describe("a stream", () => {
  const started = frame(event(1, "turn.started", { turn_id: "turn_1", metadata: null }));
  const streams = { events: "events", allEvents: "allEvents", turn: "send" } as const;

  test.for(Object.entries(streams))("with frames that are no events is a ProtocolError for %s", async ([, method]) => {
    const call = METHODS[method] as (client: Interlingua) => PromiseLike<unknown>;
    for (const data of ["null", "7", '{"sequence":1}', '{"type":"x","sequence":1}', '{"type":"x","session_id":"s"}']) {
      const url = await other(streaming(`id: 1\ndata: ${data}\n\n`));
      expect(await failure(call(connect(url)))).toBeInstanceOf(ProtocolError);
    }
  });

  test("with events of an unexpected shape is a ProtocolError for a turn", async () => {
    for (const malformed of [
      event(2, "permission.resolved", null),
      event(2, "item.started", {}),
      event(2, "item.completed", { item: { item_id: "i", content: null } }),
    ]) {
      const end = frame(event(3, "turn.ended", { turn_id: "turn_1", status: "completed" }));
      const url = await other(streaming(started, frame(malformed), end));
      expect(await failure(connect(url).session("s").send("hi"))).toBeInstanceOf(ProtocolError);
    }
  });

  test("that says 204 within a turn fails the turn, at once", async () => {
    let requests = 0;
    const url = await other((request, response) => {
      requests += 1;
      if (request.method === "POST") return streaming(started)(request, response);
      response.writeHead(204).end();
    });
    await expect(connect(url).session("s").send("hi")).rejects.toThrow(/no further events will come/);
    expect(requests).toBeLessThan(5);
  });

  test.for(["close", "silence", "comments"])("without an event (%s) is given up", async (kind) => {
    let requests = 0;
    const url = await other((_, response) => {
      requests += 1;
      response.writeHead(200, { "content-type": "text/event-stream" });
      if (kind === "close") return response.end();
      if (kind === "silence") return response.flushHeaders();
      const timer = setInterval(() => response.write(": hello\n\n"), 20);
      response.on("close", () => clearInterval(timer));
      setTimeout(() => response.end(), 100);
    });
    const client = connect(url, { reconnectTimeoutMs: 700, idleTimeoutMs: 100 });
    await expect(drain(client.session("s").events())).rejects.toThrow(ConnectionError);
    // An idle server of ours sends comments, too.
    if (kind !== "comments") await expect(drain(client.allEvents())).rejects.toThrow(/Interlingua server/);
    // With delays that grow.
    expect(requests).toBeGreaterThan(2);
    expect(requests).toBeLessThan(25);
  });

  test("of an idle session that a proxy cuts again and again goes on", async () => {
    let requests = 0;
    const url = await other((request, response) => {
      requests += 1;
      if (requests === 1) return streaming(frame(event(1)))(request, response);
      const isLast = requests === 6;
      streaming(...(isLast ? [frame(event(2, "session.ended", { reason: "completed" }))] : []))(request, response);
    });
    await drain(connect(url, { reconnectTimeoutMs: 200 }).session("s").events());
    expect(requests).toBe(6);
  });

  test("whose consumer stalls for longer than a reconnect may take goes on", async () => {
    let requests = 0;
    const url = await other((request, response) => {
      requests += 1;
      const events = requests === 1 ? [event(1)] : [event(2, "session.ended", { reason: "completed" })];
      streaming(...events.map(frame))(request, response);
    });
    const sequences = [];
    for await (const { sequence } of connect(url, { reconnectTimeoutMs: 100 }).session("s").events()) {
      sequences.push(sequence);
      await new Promise((resolve) => setTimeout(resolve, 300));
    }
    expect(sequences).toEqual([1, 2]);
  });
});
