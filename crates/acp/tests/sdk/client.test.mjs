// The official SDK as the client of `interlingua acp`. The SDK validates every message against its own schema: a message that
// does not fit closes the connection or fails the request.
//
// Run by `.ci/acp-sdk`, which installs the SDK and sets the variables.

import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
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

/** An editor with its `interlingua acp`. `option` chooses the answer to permissions. */
async function connect(folder, option = "allow_once", agent = "mock") {
  const args = ["acp", "--agent", agent, "--mock-pace", "20", "--data-dir", folder];
  const env = { ...process.env, PATH: `${join(folder, "programs")}:${process.env.PATH}` };
  const child = spawn(process.env.INTERLINGUA_BIN, args, { env, stdio: ["pipe", "pipe", "inherit"] });
  const editor = { child, updates: [], asked: [], waiting: [] };
  const app = acp
    .client({ name: "test" })
    .onRequest(clientMethods.session.requestPermission, ({ params }) => {
      editor.asked.push(params);
      const chosen = params.options.find((candidate) => candidate.kind === option);
      return { outcome: chosen ? { outcome: "selected", optionId: chosen.optionId } : { outcome: "cancelled" } };
    })
    .onNotification(clientMethods.session.update, ({ params }) => {
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
