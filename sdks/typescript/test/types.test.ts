/** What the compiler has to accept and to refuse. `npm run typecheck` is the test; vitest only loads the file. */
import { expectTypeOf, test } from "vitest";
import type {
  ContentPart,
  CreateSessionOptions,
  Interlingua,
  ItemKind,
  Reply,
  Session,
  SessionEnded,
  ToolCallPart,
  TurnEnded,
  TurnResult,
  TurnStatus,
  UniversalEvent,
} from "../src/client.js";
import type { Interlingua as NodeInterlingua, Server } from "../src/index.js";

test("an event narrows by its type", () => {
  const narrow = (event: UniversalEvent) => {
    if (event.type === "turn.ended") {
      expectTypeOf(event.data).toEqualTypeOf<TurnEnded>();
      expectTypeOf(event.data.usage?.input_tokens).toEqualTypeOf<number | undefined>();
    }
    switch (event.type) {
      case "session.ended":
        expectTypeOf(event.data).toEqualTypeOf<SessionEnded>();
        break;
      case "session.started":
      case "turn.started":
      case "turn.ended":
      case "item.started":
      case "item.delta":
      case "item.completed":
      case "permission.requested":
      case "permission.resolved":
      case "question.requested":
      case "question.resolved":
      case "error":
      case "agent.unparsed":
        expectTypeOf(event.data).not.toBeUnknown();
        break;
      default:
        // A type that a newer server sends.
        expectTypeOf(event).toExtend<{ type: string; data: unknown; sequence: number }>();
        expectTypeOf(event.data).toBeUnknown();
    }
    // @ts-expect-error: there is no such type
    if (event.type === "turn.endet") return;
    // @ts-expect-error: `data` is not known before the type is
    void event.data.turn_id;
  };
  expectTypeOf(narrow).toBeFunction();
});

test("a part narrows by its type", () => {
  const narrow = (part: ContentPart) => {
    if (part.type === "tool_call") expectTypeOf(part).toEqualTypeOf<ToolCallPart>();
    if (part.type === "reasoning") expectTypeOf(part.text).toBeString();
  };
  expectTypeOf(narrow).toBeFunction();
});

test("enums of answers are open, and complete", () => {
  expectTypeOf<"completed">().toExtend<TurnStatus>();
  expectTypeOf<string>().toExtend<TurnStatus>();
  expectTypeOf<string>().toExtend<ItemKind>();
  const status: TurnStatus = "a status of next year";
  expectTypeOf(status).toExtend<string>();
});

test("enums of requests are closed", () => {
  expectTypeOf<Reply>().toEqualTypeOf<"once" | "always" | "reject">();
  const send = (session: Session) => {
    // @ts-expect-error: misspelt
    void session.replyPermission("p", "allways");
    // @ts-expect-error: misspelt
    void session.send("x", { onPermission: () => "onze" });
    void session.send("x", { onPermission: () => "once" });
    void session.send("x", { onPermission: async () => "once" });
    void session.send("x", { onPermission: async ({ action }) => (action === "ls" ? "once" : "reject") });
  };
  expectTypeOf(send).toBeFunction();
});

test("a misspelt option does not compile", () => {
  const create = (client: Interlingua) => {
    // @ts-expect-error: it is `permissionMode`
    void client.createSession({ agent: "mock", permission_mode: "bypass" });
    // @ts-expect-error: `agent` is required
    void client.createSession({});
    const full: CreateSessionOptions = { agent: "codex", id: "a", directory: "/tmp", permissionMode: "plan" };
    void client.createSession(full);
  };
  expectTypeOf(create).toBeFunction();
});

test("a turn is a promise and an iterable", () => {
  const use = async (session: Session) => {
    const turn = session.send("x");
    expectTypeOf(await turn).toEqualTypeOf<TurnResult>();
    for await (const event of turn) expectTypeOf(event).toEqualTypeOf<UniversalEvent>();
    expectTypeOf(turn.then(({ text }) => text)).toEqualTypeOf<Promise<string>>();
  };
  expectTypeOf(use).toBeFunction();
});

test("a started server is disposable and a client", () => {
  const use = async (node: typeof NodeInterlingua) => {
    await using server = await node.start();
    expectTypeOf(server).toEqualTypeOf<Server>();
    expectTypeOf(server.createSession).toBeFunction();
  };
  expectTypeOf(use).toBeFunction();
});
