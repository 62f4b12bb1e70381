// The AI SDK's middleware, with a model that says what is written here.
import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { generateText, jsonSchema, stepCountIs, streamText, tool, wrapLanguageModel } from "ai";
import { MockLanguageModelV3, simulateReadableStream } from "ai/test";
import { FanlightAiSdk } from "fanlight/adapters/ai-sdk";
import { Full, Recorded } from "./recorded.mjs";

const usage = {
  inputTokens: { total: 10, noCache: 10, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: 5, text: 5, reasoning: undefined },
};
const finish = (unified) => ({ unified, raw: unified });
const call = (toolCallId, toolName, input) => ({ type: "tool-call", toolCallId, toolName, input: JSON.stringify(input) });

/** A model that says one turn after the other. */
function model(...turns) {
  let turn = 0;
  const next = () => {
    const content = turns[turn++];
    if (content instanceof Error) throw content;
    const calls = content.some((part) => part.type === "tool-call");
    return { content, finishReason: finish(calls ? "tool-calls" : "stop"), usage, warnings: [] };
  };
  const streamed = ({ content, finishReason }) => [
    { type: "stream-start", warnings: [] },
    ...content.flatMap((part, id) =>
      part.type === "text"
        ? [
            { type: "text-start", id: `${id}` },
            ...part.text.split(/(?= )/).map((delta) => ({ type: "text-delta", id: `${id}`, delta })),
            { type: "text-end", id: `${id}` },
          ]
        : [part],
    ),
    { type: "finish", finishReason, usage },
  ];
  return new MockLanguageModelV3({
    modelId: "scripted",
    doGenerate: async () => next(),
    doStream: async () => ({ stream: simulateReadableStream({ chunks: streamed(next()) }) }),
  });
}

const inputSchema = jsonSchema({ type: "object", properties: { city: { type: "string" } } });
const tools = {
  slow: tool({ inputSchema, execute: async ({ city }) => (await pause(50), `${city}: 21`) }),
  broken: tool({ inputSchema, execute: async ({ city }) => { throw new Error(`no weather in ${city}`); } }),
};
const says = (text) => [{ type: "text", text }];

function settings(seen, scripted, more = {}) {
  return {
    model: wrapLanguageModel({ model: scripted, middleware: seen.middleware }),
    tools: seen.tools({ ...tools, ...more }),
    prompt: "The weather?",
    stopWhen: stepCountIs(5),
    maxRetries: 0,
    onError: () => {},
  };
}

const both = [call("a", "slow", { city: "Lisbon" }), call("b", "slow", { city: "Oslo" })];

test("parallel calls show with their own latencies, and the answer", async () => {
  for (const ask of [generateText, async (options) => ({ text: await streamText(options).text })]) {
    const said = new Recorded();
    const seen = new FanlightAiSdk(said, { name: "Weather" });
    const { text } = await ask(settings(seen, model(both, says("Sunny in both."))));
    assert.equal(text, "Sunny in both.");
    assert.deepEqual([said.events[0].name, said.events[0].model], ["Weather", "scripted"]);
    assert.equal(said.of("message").at(-1).text, "The weather?");
    const told = said.calls();
    for (const id of ["a", "b"]) {
      assert.deepEqual(told[id].said, ["call", "executing", "result"]);
      assert.ok(told[id].exec_ms >= 45, JSON.stringify(told));
    }
    assert.deepEqual([told.a.output, told.b.output], ["Lisbon: 21", "Oslo: 21"]);
    assert.equal(said.text(), "Sunny in both.");
    assert.equal(said.of("run.update").length, 2);
    assert.deepEqual(said.of("run.end").map((end) => end.status), ["complete"]);
    assert.equal(said.of("run.start").length, 1);
  }
});

test("a tool that fails shows, and the loop goes on", async () => {
  const said = new Recorded();
  const scripted = model([call("a", "broken", { city: "Atlantis" })], says("Nobody knows."));
  await generateText(settings(new FanlightAiSdk(said), scripted));
  const { is_error, output, said: states } = said.calls().a;
  assert.deepEqual([is_error, output, states], [true, "Error: no weather in Atlantis", ["call", "executing", "result"]]);
  assert.equal(said.events.at(-1).status, "complete");
});

test("results of tools that are not watched come from the next question", async () => {
  const said = new Recorded();
  const seen = new FanlightAiSdk(said);
  await generateText({ ...settings(seen, model(both, says("Sunny."))), tools });
  assert.deepEqual(said.calls().a.said, ["call", "result"]);
  assert.equal(said.calls().a.output, "Lisbon: 21");
  assert.equal(said.of("run.start").length, 1);
});

test("a model that fails shows, and the same question asked again goes on in the same run", async () => {
  const said = new Recorded();
  const scripted = model(Object.assign(new Error("busy"), { name: "AI_APICallError" }), says("Sunny."));
  const options = settings(new FanlightAiSdk(said), scripted);
  const prompt = [{ role: "user", content: [{ type: "text", text: "The weather?" }] }];
  await assert.rejects(async () => options.model.doGenerate({ prompt }));
  await options.model.doGenerate({ prompt });
  assert.equal(said.of("error")[0].message, "busy");
  assert.deepEqual(said.of("run.end").map((end) => end.status), ["error", "complete"]);
  assert.equal(new Set(said.events.map((event) => event.run)).size, 1);
});

test("two loops at once are two runs", async () => {
  const said = new Recorded();
  const seen = new FanlightAiSdk(said);
  const one = (id, city) => generateText(settings(seen, model([call(id, "slow", { city })], says(city))));
  await Promise.all([one("a", "Rome"), one("b", "Oslo")]);
  assert.equal(said.of("run.end").length, 2);
  const runs = Object.fromEntries(said.of("tool.result").map((event) => [event.tool, event.run]));
  const texts = Object.fromEntries(said.of("part.delta").map((event) => [event.text, event.run]));
  assert.deepEqual([texts.Rome, texts.Oslo], [runs.a, runs.b]);
  assert.notEqual(runs.a, runs.b);
});

/** Resolves with the first event of `kind` that is offered from now on. */
function heard(said, kind) {
  let resolve;
  const promise = new Promise((resolved) => (resolve = resolved));
  const offer = said.offer.bind(said);
  said.offer = (...events) => {
    offer(...events);
    const found = events.find((event) => event.k === kind);
    if (found) resolve(found);
  };
  // The adapter's own timer keeps no program alive.
  const deadline = setTimeout(() => resolve(undefined), 20_000);
  return promise.finally(() => clearTimeout(deadline));
}

test("a loop that is stopped before its answer is over when nothing more is asked, and goes on where it is", async () => {
  const said = new Recorded();
  const seen = new FanlightAiSdk(said, { restMs: 1 });
  const scripted = model(both, says("Sunny."));
  const ended = heard(said, "run.end");
  const options = settings(seen, scripted);
  const { response } = await generateText({ ...options, stopWhen: stepCountIs(1) });
  const { status, finish_reason } = (await ended) ?? {};
  assert.deepEqual([status, finish_reason], ["complete", "tool-calls"]);
  const { prompt, ...rest } = options;
  await generateText({ ...rest, messages: [{ role: "user", content: prompt }, ...response.messages] });
  assert.deepEqual(said.of("run.end").map((end) => end.status), ["complete", "complete"]);
  assert.equal(new Set(said.events.map((event) => event.run)).size, 1);
  assert.equal(said.text(), "Sunny.");
});

test("a loop does not rest while a tool is at work or a model is asked", async () => {
  const said = new Recorded();
  const seen = new FanlightAiSdk(said, { restMs: 30 });
  await generateText(settings(seen, model([call("a", "broken", {}), call("b", "slow", {})], says("Sunny."))));
  assert.deepEqual(said.of("run.end").map((end) => end.status), ["complete"]);
});

test("who ends a stopped loop by its calls leaves the others open", async () => {
  const said = new Recorded();
  const seen = new FanlightAiSdk(said);
  const stopped = (id) => generateText({ ...settings(seen, model([call(id, "slow", {})])), stopWhen: stepCountIs(1) });
  const [one] = await Promise.all([stopped("a"), stopped("b")]);
  seen.end("cancelled", one.toolCalls);
  const [{ run }] = said.of("tool.result").filter((event) => event.tool === "a");
  assert.deepEqual(said.of("run.end").map((end) => [end.run, end.status]), [[run, "cancelled"]]);
  seen.end();
  assert.deepEqual(said.of("run.end").map((end) => end.status), ["cancelled", "complete"]);
});

test("the number of open loops is bounded", async () => {
  const said = new Recorded();
  const seen = new FanlightAiSdk(said);
  const nobodys = [call("a", "elsewhere", {})];
  const elsewhere = tool({ inputSchema });
  for (let count = 0; count < 1_002; count += 1) await generateText(settings(seen, model(nobodys), { elsewhere }));
  assert.deepEqual(said.of("run.end").map((end) => end.status), ["interrupted", "interrupted"]);
});

test("a sub-agent that is stopped is over with the tool that it runs in", async () => {
  const said = new Recorded();
  const seen = new FanlightAiSdk(said);
  const scout = model([call("i", "slow", { city: "Rome" })]);
  const ask = tool({
    inputSchema,
    execute: async () => (await generateText({ ...settings(seen, scout), stopWhen: stepCountIs(1) })).text,
  });
  await generateText(settings(seen, model([call("o", "ask", { city: "Rome" })], says("Done.")), { ask }));
  assert.deepEqual(said.of("agent.end").map((end) => end.status), ["complete"]);
});

test("an agent inside of a tool is a sub-agent", async () => {
  const said = new Recorded();
  const seen = new FanlightAiSdk(said);
  const scout = model([call("i", "slow", { city: "Rome" })], says("Rome: 21"));
  const ask = tool({ inputSchema, execute: async () => (await generateText(settings(seen, scout))).text });
  await generateText(settings(seen, model([call("o", "ask", { city: "Rome" })], says("Done.")), { ask }));
  const [agent] = said.of("agent.start");
  assert.equal(agent.tool, "o");
  assert.equal(said.calls().i.agent, agent.agent);
  assert.deepEqual([said.text("text", agent.agent), said.text()], ["Rome: 21", "Done."]);
  assert.deepEqual([said.of("agent.end").length, said.of("run.end").length], [1, 1]);
});

test("what cannot be published does not disturb the agent", async () => {
  const warned = [];
  const { warn } = console;
  console.warn = (...words) => warned.push(words);
  try {
    const seen = new FanlightAiSdk(new Full());
    assert.equal((await generateText(settings(seen, model(both, says("Sunny."))))).text, "Sunny.");
    assert.equal(warned.length, 1);
    assert.ok(seen.voice.unsaid > 5);
  } finally {
    console.warn = warn;
  }
});
