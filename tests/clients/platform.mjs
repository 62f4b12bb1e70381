// The package of LangGraph's platform speaks to the hub: assistants, threads, runs in every way, consent, checkpoints, cuts.

import assert from "node:assert/strict";
import http from "node:http";
import { Client } from "@langchain/langgraph-sdk";

const url = process.argv[2];
const apiUrl = `${url}/compat/langgraph`;
const client = new Client({ apiUrl, apiKey: null, callerOptions: { maxRetries: 0 } });
const human = (content, id) => ({ messages: [{ type: "human", content, ...(id ? { id } : {}) }] });
const kinds = (values) => values.messages.map((message) => message.type).join();
const last = (values) => values.messages.at(-1).content;
const status = (wanted) => (error) => error.status === wanted || error.message.includes(`HTTP ${wanted}`);
const TALK = "human,ai,tool,ai";

async function all(stream) {
  const events = [];
  for await (const event of stream) if (event.event) events.push(event);
  return events;
}

async function assistants() {
  const found = await client.assistants.search();
  assert.deepEqual(found.map((it) => it.graph_id).sort(), ["careful", "helper"]);
  const helper = found.find((it) => it.graph_id === "helper");
  assert.match(helper.assistant_id, /^[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  assert.equal((await client.assistants.get("helper")).assistant_id, helper.assistant_id);
  assert.equal((await client.assistants.get(helper.assistant_id)).name, "helper");
  assert.ok((await client.assistants.getGraph("helper")).nodes.some((node) => node.id === "model"));
  assert.equal((await client.assistants.getSchemas("helper")).graph_id, "helper");
  assert.equal(await client.assistants.count({ graphId: "careful" }), 1);
  await assert.rejects(client.assistants.get("nobody"), status(404));
  assert.equal((await (await fetch(`${apiUrl}/ok`)).json()).ok, true);
  assert.ok((await (await fetch(`${apiUrl}/info`)).json()).version);
}

async function threads() {
  const thread = await client.threads.create({ metadata: { user_id: "ada" }, graphId: "helper" });
  assert.deepEqual([thread.status, thread.values, thread.metadata.user_id], ["idle", null, "ada"]);
  assert.equal((await client.threads.getState(thread.thread_id)).checkpoint, null);
  assert.deepEqual(await client.threads.getHistory(thread.thread_id), []);
  await client.threads.update(thread.thread_id, { metadata: { name: "Rome" } });
  const found = await client.threads.search({ metadata: { user_id: "ada" } });
  assert.deepEqual(found.map((it) => [it.thread_id, it.metadata.name]), [[thread.thread_id, "Rome"]]);
  assert.deepEqual(await client.threads.search({ metadata: { user_id: "eve" } }), []);
  await assert.rejects(client.threads.create({ threadId: thread.thread_id }), status(409));
  assert.equal((await client.threads.create({ threadId: thread.thread_id, ifExists: "do_nothing" })).thread_id, thread.thread_id);
  await assert.rejects(client.threads.get("nowhere"), status(404));
  await client.threads.delete(thread.thread_id);
  await assert.rejects(client.threads.get(thread.thread_id), status(404));
}

async function streams() {
  const { thread_id: id } = await client.threads.create({ graphId: "helper" });
  let created;
  const events = await all(client.runs.stream(id, "helper", {
    input: human("Weather?", "q1"), streamMode: ["values", "messages-tuple", "updates", "custom"], onRunCreated: (run) => { created = run; },
  }));
  assert.equal(created.thread_id, id);
  assert.deepEqual([events[0].event, events[0].data.run_id], ["metadata", created.run_id]);
  assert.ok(events.every((event) => event.id), "each event has an id");
  const first = events.find((event) => event.event === "values");
  assert.deepEqual(first.data.messages.map((it) => [it.type, it.id, it.content]), [["human", "q1", "Weather?"]]);
  const text = events.filter((it) => it.event === "messages" && it.data[0].type === "AIMessageChunk").map((it) => it.data[0].content).join("");
  assert.equal(text, "Let me look.It is sunny.");
  const values = events.filter((it) => it.event === "values").at(-1).data;
  assert.equal(kinds(values), TALK);
  const ai = values.messages[1];
  assert.deepEqual([ai.tool_calls[0].name, ai.tool_calls[0].args], ["t__echo", { city: "Rome" }]);
  assert.equal(values.messages[2].tool_call_id, ai.tool_calls[0].id);
  assert.ok(events.some((it) => it.event === "updates" && it.data.model));
  // The state is what was streamed.
  const state = await client.threads.getState(id);
  assert.deepEqual(state.values.messages.map((it) => it.id), values.messages.map((it) => it.id));
  assert.deepEqual([state.next, state.tasks], [[], []]);
  assert.equal((await client.threads.get(id)).status, "idle");
  // A second turn goes on in the thread, with nothing but what is new.
  const next = await client.runs.wait(id, "helper", { input: human("And now?") });
  assert.equal(kinds(next), `${TALK},${TALK}`);
  const history = await client.threads.getHistory(id);
  assert.deepEqual(history.map((it) => it.values.messages.length), [8, 5, 4, 1, 0]);
  assert.deepEqual(history.slice(0, -1).map((it) => it.parent_checkpoint.checkpoint_id), history.slice(1).map((it) => it.checkpoint.checkpoint_id));
  assert.deepEqual((await client.threads.getHistory(id, { before: history[1].checkpoint, limit: 1 })).map((it) => it.checkpoint), [history[2].checkpoint]);
  assert.equal(kinds((await client.threads.getState(id, history[2].checkpoint.checkpoint_id)).values), TALK);
  assert.equal(kinds((await client.threads.getState(id, history[2].checkpoint)).values), TALK);
  const runs = await client.runs.list(id);
  assert.deepEqual([runs.length, runs[1].run_id, runs[0].status], [2, created.run_id, "success"]);
  assert.equal((await client.runs.get(id, created.run_id)).status, "success");
  assert.equal(kinds(await client.runs.join(id, created.run_id)), `${TALK},${TALK}`);
  await branches(id, history);
}

// Another answer, another question: forks behind the back of the thread, whose history has all of it.
async function branches(id, history) {
  const asked = history.find((it) => it.values.messages.length === 1);
  const again = await client.runs.wait(id, "helper", { input: null, checkpoint: asked.checkpoint });
  assert.equal(kinds(again), TALK, "the first question is answered anew");
  const edited = await client.runs.wait(id, "helper", { input: human("Colour?", "q1b"), checkpointId: asked.parent_checkpoint.checkpoint_id });
  assert.deepEqual(edited.messages[0].content, "Colour?");
  const tree = await client.threads.getHistory(id, { limit: 100 });
  const children = (parent) => tree.filter((it) => (it.parent_checkpoint?.checkpoint_id ?? null) === parent);
  const [root] = children(null);
  assert.equal(children(null).length, 1);
  assert.equal(children(root.checkpoint.checkpoint_id).length, 2, "two first questions");
  assert.equal(children(asked.checkpoint.checkpoint_id).length, 2, "two answers to the first of them");
  assert.equal(tree[0].values.messages[0].content, "Colour?", "the thread goes on where it was asked last");
  // Back on the first branch, at its end.
  const back = await client.runs.wait(id, "helper", { input: human("Still?"), checkpoint: history[0].checkpoint });
  assert.equal(back.messages.length, 12);
  assert.equal((await client.threads.getState(id)).values.messages.length, 12);
  // A message that comes with its id and other words is said anew in its place.
  const other = await client.runs.wait(id, "helper", { input: human("Weather in Oslo?", "q1") });
  assert.deepEqual([kinds(other), other.messages[0].content], [TALK, "Weather in Oslo?"]);
  await assert.rejects(client.runs.wait(id, "helper", { input: null }), status(422));
  await assert.rejects(client.runs.wait(id, "helper", { input: human("x"), checkpointId: "nowhere" }), status(404));
}

async function failures() {
  const { thread_id: id } = await client.threads.create();
  const events = await all(client.runs.stream(id, "helper", { input: human("fail") }));
  assert.deepEqual([events.at(-1).event, events.at(-1).data.error], ["error", "http_401"]);
  assert.equal((await client.threads.get(id)).status, "error");
  assert.equal(JSON.parse((await client.threads.getState(id)).tasks[0].error).error, "http_401");
  await assert.rejects(client.runs.wait(id, "helper", { input: human("fail") }), /http_401/);
  await assert.rejects(client.runs.wait(id, "nobody", { input: human("x") }), status(404));
  await assert.rejects(client.runs.wait("never", "helper", { input: human("x") }), status(404));
  await assert.rejects(client.runs.create(id, "helper", { input: human("x"), streamMode: "noise" }), status(422));
  assert.equal(last(await client.runs.wait("made", "helper", { input: human("Weather?"), ifNotExists: "create" })), "It is sunny.");
  assert.equal(last(await client.runs.wait(null, "helper", { input: human("Weather?") })), "It is sunny.");
}

async function consents() {
  for (const [resume, city, said] of [
    [{ decisions: [{ type: "approve" }] }, "Rome", "success"],
    [[{ type: "edit", args: { action: "t__echo", args: { city: "Oslo" } } }], "Oslo", "success"],
    [{ decisions: [{ type: "reject", message: "too far" }] }, null, null],
  ]) {
    const { thread_id: id } = await client.threads.create();
    const events = await all(client.runs.stream(id, "careful", { input: human("Weather?"), streamMode: ["values", "messages-tuple"] }));
    const [interrupt] = events.at(-1).data.__interrupt__;
    assert.deepEqual(interrupt.value.action_requests.map((it) => [it.name, it.args]), [["t__echo", { city: "Rome" }]]);
    assert.deepEqual(interrupt.value.action_request, { action: "t__echo", args: { city: "Rome" } });
    assert.equal((await client.threads.get(id)).status, "interrupted");
    const state = await client.threads.getState(id);
    assert.deepEqual([state.next, state.tasks[0].interrupts[0].id, kinds(state.values)], [["tools"], interrupt.id, "human,ai"]);
    assert.deepEqual(events.filter((it) => it.data.messages).at(-1).data.messages.map((it) => it.type), ["human", "ai"]);
    const after = await all(client.runs.stream(id, "careful", { command: { resume }, streamMode: ["values", "messages-tuple"] }));
    const values = after.filter((it) => it.event === "values").at(-1).data;
    if (!city) {
      // The model asks for the same once more, and is asked about anew.
      assert.equal(values.__interrupt__.length, 1, JSON.stringify(values));
      assert.ok(!JSON.stringify(after).includes('"type":"tool",'), "it was not executed");
      continue;
    }
    assert.equal(last(values), "It is sunny.");
    const result = values.messages.find((it) => it.type === "tool");
    assert.deepEqual([result.content, result.status], [JSON.stringify({ city }), said]);
    const ended = await client.threads.getState(id);
    assert.deepEqual([last(ended.values), ended.next], ["It is sunny.", []]);
    await assert.rejects(client.runs.wait(id, "careful", { command: { resume: true } }), status(409));
  }
  // Waited for, as values; then sent to its end.
  const { thread_id: id } = await client.threads.create();
  const values = await client.runs.wait(id, "careful", { input: human("Weather?") });
  assert.equal(values.__interrupt__[0].value.action_requests.length, 1);
  await all(client.runs.stream(id, "careful", { command: { goto: "__end__" } }));
  assert.notEqual((await client.threads.get(id)).status, "interrupted");
}

// A second run where one goes on, and runs that are stopped.
async function strategies() {
  const { thread_id: id } = await client.threads.create();
  const begun = await client.runs.create(id, "helper", { input: human("wait") });
  assert.equal(begun.status, "running");
  assert.equal((await client.threads.get(id)).status, "busy");
  await assert.rejects(client.runs.wait(id, "helper", { input: human("Weather?"), multitaskStrategy: "reject" }), status(409));
  const interrupted = await client.runs.wait(id, "helper", { input: human("Weather?"), multitaskStrategy: "interrupt" });
  assert.match(kinds(interrupted), new RegExp(`^human,(ai,)?${TALK}$`));
  assert.equal((await client.runs.get(id, begun.run_id)).status, "interrupted");
  await client.runs.create(id, "helper", { input: human("wait") });
  const rolled = await client.runs.wait(id, "helper", { input: human("Again?"), multitaskStrategy: "rollback" });
  assert.deepEqual(rolled.messages.map((it) => it.content).filter((it) => it === "wait").length, 1, "the second is not there");
  const third = await client.runs.create(id, "helper", { input: human("wait") });
  const queued = client.runs.wait(id, "helper", { input: human("Later?"), multitaskStrategy: "enqueue" });
  await client.runs.cancel(id, third.run_id, true);
  assert.equal(last(await queued), "It is sunny.");
}

// Something between the client and the hub that cuts a connection after so many bytes.
function relay(cuts) {
  const target = new URL(url);
  const server = http.createServer((asked, answer) => {
    const passed = http.request({ host: target.hostname, port: target.port, path: asked.url, method: asked.method, headers: { ...asked.headers, host: target.host } }, (response) => {
      answer.writeHead(response.statusCode, response.headers);
      let left = asked.url.endsWith("/stream") ? (cuts.shift() ?? Infinity) : Infinity;
      response.on("data", (piece) => {
        const kept = piece.subarray(0, Math.max(0, left));
        left -= piece.length;
        answer.write(kept, () => { if (left <= 0) { answer.destroy(); passed.destroy(); } });
      });
      response.on("end", () => answer.end());
      response.on("error", () => answer.destroy());
    });
    passed.on("error", () => answer.destroy());
    asked.pipe(passed);
  });
  return new Promise((resolve) => server.listen(0, "127.0.0.1", () => resolve(server)));
}

// Cut off in the middle: the package comes back with the id of the last event, and misses and repeats nothing.
async function cuts() {
  const plain = await told(client, "uncut");
  for (const cut of [300, 700, 1500, 2500]) {
    const server = await relay([cut]);
    const through = new Client({ apiUrl: `http://127.0.0.1:${server.address().port}/compat/langgraph`, apiKey: null });
    assert.deepEqual(await told(through, `cut-${cut}`), plain, `cut after ${cut} bytes`);
    server.close();
  }
  async function told(client, id) {
    const events = await all(client.runs.stream(id, "helper", {
      input: human("Weather?", "q"), streamMode: ["messages-tuple", "values"], ifNotExists: "create", onDisconnect: "continue",
    }));
    const text = events.filter((it) => it.event === "messages" && it.data[0].type === "AIMessageChunk").map((it) => it.data[0].content).join("");
    return [text, kinds(events.filter((it) => it.event === "values").at(-1).data)];
  }
}

// Hanging up stops a run where its caller wants that, and only there. Who comes back later is told all of it.
async function hangings() {
  for (const [onDisconnect, wanted] of [["cancel", "interrupted"], ["continue", "running"]]) {
    const { thread_id: id } = await client.threads.create();
    const abort = new AbortController();
    let run;
    try {
      for await (const event of client.runs.stream(id, "helper", { input: human("wait"), streamMode: "messages-tuple", onDisconnect, signal: abort.signal, onRunCreated: (it) => { run = it; } })) {
        if (event.data?.[0]?.content === "Well") abort.abort();
      }
    } catch (error) {
      assert.match(String(error), /abort/i);
    }
    if (wanted === "interrupted") {
      while ((await client.runs.get(id, run.run_id)).status === "running");
      assert.equal((await client.runs.get(id, run.run_id)).status, wanted);
      continue;
    }
    const seen = [];
    for await (const event of client.runs.joinStream(id, run.run_id, { lastEventId: "-1", streamMode: ["messages-tuple"] })) {
      seen.push(event.event);
      if (event.data?.[0]?.content === "Well") await client.runs.cancel(id, run.run_id);
    }
    assert.deepEqual([seen[0], seen.at(-1)], ["metadata", "error"]);
    assert.equal((await client.runs.get(id, run.run_id)).status, "interrupted");
  }
}

async function states() {
  const { thread_id: id } = await client.threads.create();
  const { checkpoint } = await client.threads.updateState(id, { values: human("Weather?", "u1") });
  const state = await client.threads.getState(id);
  assert.deepEqual([state.checkpoint.checkpoint_id, kinds(state.values), state.next], [checkpoint.checkpoint_id, "human", ["model"]]);
  assert.equal(kinds(await client.runs.wait(id, "helper", { input: null })), TALK);
  const copied = await client.threads.copy(id);
  assert.equal(kinds((await client.threads.getState(copied.thread_id)).values), TALK);
  assert.ok((await client.threads.count({ metadata: { graph_id: "helper" } })) > 0);
}

for (const part of [assistants, threads, streams, failures, consents, strategies, cuts, hangings, states]) {
  try {
    await part();
  } catch (error) {
    console.log(`in ${part.name}: ${error.stack}`);
    process.exit(1);
  }
}
