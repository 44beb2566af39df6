// The official SDK as the client of `interlingua acp`. The SDK validates every message against its own schema: a message that
// does not fit closes the connection or fails the request.
//
// Run by `.ci/acp-sdk`, which installs the SDK and sets the variables.

import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable, Writable } from "node:stream";
import { after, test } from "node:test";

import * as acp from "@agentclientprotocol/sdk";

const { agent: methods, client: clientMethods } = acp.methods;
const folders = [];

after(() => folders.forEach((folder) => rmSync(folder, { recursive: true, force: true })));

function newFolder() {
  const folder = mkdtempSync(join(tmpdir(), "interlingua-acp-"));
  folders.push(folder);
  return folder;
}

/** An editor with its `interlingua acp`. `option` chooses the answer to permissions; `never` leaves them open. */
async function connect(folder, option = "allow_once", agent = "mock") {
  const args = ["acp", "--agent", agent, "--mock-pace", "20", "--data-dir", folder];
  const path = `${join(folder, "programs")}:${process.env.PATH}`;
  const env = { ...process.env, PATH: path, AMP_API_KEY: "none" };
  const child = spawn(process.env.INTERLINGUA_BIN, args, { env, stdio: ["pipe", "pipe", "inherit"] });
  const editor = { child, updates: [], asked: [], waiting: [] };
  const app = acp
    .client({ name: "test" })
    .onRequest(clientMethods.session.requestPermission, ({ params }) => {
      editor.asked.push(params);
      editor.waiting.forEach((check) => check());
      if (option === "never") return new Promise(() => {});
      const chosen = params.options.find((candidate) => candidate.kind === option);
      return { outcome: chosen ? { outcome: "selected", optionId: chosen.optionId } : { outcome: "cancelled" } };
    })
    .onNotification(clientMethods.session.update, ({ params }) => {
      editor.observe?.(params.update);
      editor.updates.push(params.update);
      editor.waiting.forEach((check) => check());
    });
  const stream = acp.ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout));
  editor.connection = app.connect(stream);
  editor.agent = editor.connection.agent;
  editor.call = (method, params) => editor.agent.request(method, params);
  editor.prompt = (sessionId, text) => editor.call(methods.session.prompt, { sessionId, prompt: [{ type: "text", text }] });
  editor.text = () => {
    const chunks = editor.updates.filter((update) => update.sessionUpdate === "agent_message_chunk");
    return chunks.map((chunk) => chunk.content.text ?? "").join("");
  };
  editor.until = (isDone) =>
    new Promise((resolve) => {
      const check = () => isDone() && resolve();
      editor.waiting.push(check);
      check();
    });
  editor.close = (signal = "SIGTERM") =>
    new Promise((resolve) => {
      child.once("exit", resolve);
      child.kill(signal);
    });
  const initialized = await editor.call(methods.initialize, {
    protocolVersion: acp.PROTOCOL_VERSION,
    clientCapabilities: { fs: { readTextFile: false, writeTextFile: false }, terminal: false },
  });
  assert.equal(initialized.protocolVersion, 1);
  return editor;
}

const open = (editor, cwd) => editor.call(methods.session.new, { cwd, mcpServers: [] });

test("a prompt, a permission, and everything that the mock agent shows", async () => {
  const folder = newFolder();
  const editor = await connect(folder);
  const { sessionId } = await open(editor, folder);
  for (const text of ["echo kiwi", "reasoning", "tool", "status", "permission", "markdown", "image"]) {
    assert.equal((await editor.prompt(sessionId, text)).stopReason, "end_turn", text);
  }
  assert.equal(editor.asked.length, 2);
  assert.match(editor.text(), /kiwi/);
  await assert.rejects(editor.prompt(sessionId, "error"));
  await editor.close();
});

test("a prompt is cancelled", async () => {
  const folder = newFolder();
  const editor = await connect(folder);
  const { sessionId } = await open(editor, folder);
  const prompt = editor.prompt(sessionId, "flood 4");
  await editor.until(() => editor.text() !== "");
  await editor.agent.notify(methods.session.cancel, { sessionId });
  assert.equal((await prompt).stopReason, "cancelled");
  assert.equal((await editor.prompt(sessionId, "echo on")).stopReason, "end_turn");
  await editor.close();
});

test("a session is listed and loaded after the process was killed", async () => {
  const folder = newFolder();
  const before = await connect(folder);
  const { sessionId } = await open(before, folder);
  await before.prompt(sessionId, "echo kiwi");
  await before.close("SIGKILL");

  const editor = await connect(folder);
  const { sessions } = await editor.call(methods.session.list, { cwd: folder });
  assert.deepEqual(sessions.map((session) => session.sessionId), [sessionId]);
  await editor.call(methods.session.load, { sessionId, cwd: folder, mcpServers: [] });
  assert.equal(editor.text(), "kiwi");
  assert.equal((await editor.prompt(sessionId, "echo on")).stopReason, "end_turn");
  await editor.close();
});

test("two clients have one session", async () => {
  const folder = newFolder();
  const first = await connect(folder, "none of them");
  const { sessionId } = await open(first, folder);
  const second = await connect(folder);
  await second.call(methods.session.load, { sessionId, cwd: folder, mcpServers: [] });
  assert.equal((await second.prompt(sessionId, "echo kiwi")).stopReason, "end_turn");
  await first.until(() => first.text() === "kiwi");
  await second.close();
  await first.close();
});

test("the first answer of two clients counts, and the other one is told", async () => {
  const folder = newFolder();
  const first = await connect(folder, "never");
  const { sessionId } = await open(first, folder);
  const prompt = first.prompt(sessionId, "permission");
  await first.until(() => first.asked.length > 0);
  // It is asked what the first one was asked before it came.
  const second = await connect(folder);
  await second.call(methods.session.load, { sessionId, cwd: folder, mcpServers: [] });
  assert.equal((await prompt).stopReason, "end_turn");
  assert.deepEqual(
    second.asked.map((asked) => asked.toolCall.title),
    first.asked.map((asked) => asked.toolCall.title),
  );
  const resolved = second.updates.filter((update) => update.sessionUpdate === "tool_call_update");
  assert.ok(resolved.some((update) => update.status === "completed"));
  await second.close();
  await first.close();
});

test("modes and options are chosen, and shown to the other client", async () => {
  const folder = newFolder();
  const first = await connect(folder);
  const { sessionId, configOptions } = await open(first, folder);
  assert.deepEqual(configOptions.slice(0, 2).map((option) => option.id), ["mode", "agent"]);
  const second = await connect(folder);
  await second.call(methods.session.resume, { sessionId, cwd: folder, mcpServers: [] });
  await first.call(methods.session.setMode, { sessionId, modeId: "plan" });
  await first.call(methods.session.setConfigOption, { sessionId, configId: "mode", value: "bypass" });
  assert.equal((await first.prompt(sessionId, "permission")).stopReason, "end_turn");
  assert.equal(first.asked.length, 0);
  const isShown = (update) => update.sessionUpdate === "current_mode_update" && update.currentModeId === "bypass";
  await second.until(() => second.updates.some(isShown));
  await second.close();
  await first.close();
});

test("closing and deleting a session cancel its prompts", async () => {
  const folder = newFolder();
  const editor = await connect(folder);
  for (const method of [methods.session.close, methods.session.delete]) {
    const { sessionId } = await open(editor, folder);
    const shown = editor.text();
    const prompt = editor.prompt(sessionId, "flood 4");
    await editor.until(() => editor.text() !== shown);
    await editor.call(method, { sessionId });
    assert.equal((await prompt).stopReason, "cancelled", method);
  }
  const { sessions } = await editor.call(methods.session.list, { cwd: folder });
  assert.equal(sessions.length, 1);
  await editor.close();
});

test("a session with MCP servers goes on after the process was killed", async () => {
  const folder = newFolder();
  const env = [{ name: "TOKEN", value: "s3cret" }];
  const mcpServers = [{ name: "tiny", command: "/bin/true", args: [], env }];
  replay(folder, "claude", "claude/2.1.325/stream-input-two-turns.jsonl");
  const before = await connect(folder, "allow_once", "claude");
  const { sessionId } = await before.call(methods.session.new, { cwd: folder, mcpServers });
  await before.prompt(sessionId, "one");
  await before.close("SIGKILL");
  const editor = await connect(folder, "allow_once", "claude");
  await editor.call(methods.session.load, { sessionId, cwd: folder, mcpServers });
  // The stand-in has one turn less than the session; what counts is that the prompt is not left without an answer.
  await editor.prompt(sessionId, "two").catch((error) => assert.ok(error.message));
  await editor.close();
});

/** Puts a stand-in for an agent into the folder, which replays a recording. */
function replay(folder, agent, recording) {
  const links = join(folder, "links");
  execFileSync(process.env.INTERLINGUA_REPLAY_BIN, ["stand-ins", links]);
  const programs = join(folder, "programs");
  mkdirSync(programs);
  const settings = `INTERLINGUA_REPLAY='${join(process.env.INTERLINGUA_RECORDINGS, recording)}'`;
  const script = `#!/bin/sh\n${settings} INTERLINGUA_REPLAY_STATE='${join(folder, "state")}' exec '${links}/${agent}' "$@"\n`;
  writeFileSync(join(programs, agent), script, { mode: 0o755 });
}

// Of each agent: a recording, how many permissions it asks for, and what its updates have.
const recordings = [
  ["claude", "claude/2.1.325/perm-allow.jsonl", 1, "tool_call"],
  ["claude", "claude/2.1.325/parallel-permissions.jsonl", 2, "tool_call_update"],
  ["claude", "claude/2.1.325/stream-input-two-turns.jsonl", 0, "agent_message_chunk"],
  ["codex", "codex/0.166.0/approve_exec.jsonl", 1, "tool_call"],
  ["codex", "codex/0.166.0/update_plan.jsonl", 0, "plan"],
  ["codex", "codex/0.166.0/text_deltas.jsonl", 0, "agent_message_chunk"],
  ["opencode", "opencode/1.18.33/permission_once.jsonl", 1, "tool_call"],
  ["opencode", "opencode/1.18.33/todowrite.jsonl", 0, "plan"],
  ["opencode", "opencode/1.18.33/text_deltas.jsonl", 0, "agent_message_chunk"],
  ["amp", "amp/0.0.1790142911-g7618fb/text.jsonl", 0, "agent_message_chunk"],
  ["amp", "amp/0.0.1790142911-g7618fb/shell-command.jsonl", 0, "tool_call"],
];

for (const [agent, recording, permissions, update] of recordings) {
  test(`the recording ${recording}`, async () => {
    const folder = newFolder();
    replay(folder, agent, recording);
    const editor = await connect(folder, "allow_once", agent);
    const { sessionId } = await open(editor, folder);
    assert.equal((await editor.prompt(sessionId, "run")).stopReason, "end_turn");
    assert.ok(editor.asked.length >= permissions, `${editor.asked.length} permissions`);
    const kinds = editor.updates.map((shown) => shown.sessionUpdate);
    assert.ok(kinds.includes(update), kinds.join(" "));
    await editor.close();
  });
}

const latencyEvents = 240;

/** The times at which a client of the event stream has received the deltas of a session. */
async function followDeltas(folder, sessionId, times) {
  const { address } = JSON.parse(readFileSync(join(folder, "server.json"), "utf8"));
  const token = readFileSync(join(folder, "server.token"), "utf8").trim();
  const headers = { authorization: `Bearer ${token}` };
  const response = await fetch(`${address}/v1/sessions/${sessionId}/events/sse`, { headers });
  assert.equal(response.status, 200);
  const read = async () => {
    let text = "";
    const decoder = new TextDecoder();
    for await (const chunk of response.body) {
      const now = performance.now();
      text += decoder.decode(chunk, { stream: true });
      const lines = text.split("\n");
      text = lines.pop();
      for (const line of lines.filter((line) => line.startsWith("data:") && line.includes('"item.delta"'))) {
        const { data } = JSON.parse(line.slice("data:".length));
        times.push([`${data.item_id} ${data.delta}`, now]);
      }
    }
  };
  read().catch(() => {});
}

test("an update comes less than a millisecond after the event on the event stream", async () => {
  const folder = newFolder();
  const editor = await connect(folder);
  const { sessionId } = await open(editor, folder);
  const [onStream, onWire] = [[], []];
  editor.observe = (update) => {
    if (update.sessionUpdate === "agent_message_chunk") {
      onWire.push([`${update.messageId} ${update.content.text}`, performance.now()]);
    }
  };
  await followDeltas(folder, sessionId, onStream);
  while (onWire.length < latencyEvents) {
    await editor.prompt(sessionId, "markdown");
  }
  const received = new Map();
  for (const [key, time] of onStream) {
    received.set(key, [...(received.get(key) ?? []), time]);
  }
  const delays = onWire.map(([key, time]) => time - (received.get(key)?.shift() ?? Number.NaN)).filter(Number.isFinite);
  delays.sort((one, other) => one - other);
  assert.ok(delays.length >= latencyEvents / 2, `${delays.length} deltas`);
  const at = (share) => delays[Math.floor(delays.length * share)];
  console.log(`${delays.length} deltas: median ${at(0.5).toFixed(2)} ms, 90 % ${at(0.9).toFixed(2)} ms`);
  assert.ok(at(0.5) < 1, `median ${at(0.5)} ms`);
  await editor.close();
});
