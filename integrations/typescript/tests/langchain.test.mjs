// The LangChain callback, with a model that says what is written here.
import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { AIMessage, AIMessageChunk, HumanMessage } from "@langchain/core/messages";
import { RunnableLambda } from "@langchain/core/runnables";
import { tool } from "@langchain/core/tools";
import { FakeStreamingChatModel } from "@langchain/core/utils/testing";
import { FanlightCallback } from "fanlight/adapters/langchain";
import { Full, Recorded } from "./recorded.mjs";

const schema = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };
const slow = tool(async ({ city }) => (await pause(50), `${city}: 21`), { name: "slow", schema });
const broken = tool(async ({ city }) => { throw new Error(`no weather in ${city}`); }, { name: "broken", schema });

const calls = (...wanted) =>
  new AIMessage({ content: "", tool_calls: wanted.map(([id, name, args]) => ({ id, name, args, type: "tool_call" })) });

/** A model that says one thing. */
class Scripted extends BaseChatModel {
  constructor(message) {
    super({});
    this.message = message;
  }

  _llmType() {
    return "scripted";
  }

  async _generate() {
    return { generations: [{ text: this.message.text, message: this.message }] };
  }
}

/** A loop of a model and its tools, as graphs run them. */
function agent(name, tools, ...turns) {
  const loop = async ({ messages }, config) => {
    const said = [...messages];
    for (const turn of turns) {
      const answer = await new Scripted(turn).invoke(said, config);
      said.push(answer);
      const wanted = (answer.tool_calls ?? []).map((call) => tools[call.name].invoke(call, config));
      said.push(...(await Promise.all(wanted)));
    }
    return said.at(-1);
  };
  return RunnableLambda.from(loop).withConfig({ runName: name });
}

const question = { messages: [new HumanMessage("The weather?")] };

test("parallel calls show with their own latencies, and the answer", async () => {
  const said = new Recorded();
  const wanted = calls(["a", "slow", { city: "Lisbon" }], ["b", "slow", { city: "Oslo" }]);
  const last = new AIMessage({ content: "Sunny.", usage_metadata: { input_tokens: 10, output_tokens: 5, total_tokens: 15 } });
  await agent("Weather", { slow }, wanted, last).invoke(question, { callbacks: [new FanlightCallback(said)] });
  assert.equal(said.events[0].name, "Weather");
  assert.equal(said.of("message")[0].text, "The weather?");
  const told = said.calls();
  for (const id of ["a", "b"]) {
    assert.deepEqual(told[id].said, ["call", "executing", "result"]);
    assert.ok(told[id].exec_ms >= 45, JSON.stringify(told));
  }
  assert.deepEqual([told.a.output, told.b.output, told.a.arguments], ["Lisbon: 21", "Oslo: 21", '{"city":"Lisbon"}']);
  assert.equal(said.text(), "Sunny.");
  assert.equal(said.of("run.update").at(-1).usage.input_tokens, 10);
  assert.deepEqual(said.of("run.end").map((end) => end.status), ["complete"]);
});

test("a tool that fails shows, and the run that fails of it", async () => {
  const said = new Recorded();
  const wanted = calls(["a", "broken", { city: "Atlantis" }]);
  const run = agent("Weather", { broken }, wanted).invoke(question, { callbacks: [new FanlightCallback(said)] });
  await assert.rejects(run, /no weather/);
  const { is_error, output } = said.calls().a;
  assert.deepEqual([is_error, output], [true, "Error: no weather in Atlantis"]);
  assert.equal(said.events.at(-1).status, "error");
});

test("what streams shows while it streams", async () => {
  const said = new Recorded();
  const chunks = ["one", " two", " three"].map((content) => new AIMessageChunk({ content }));
  const model = new FakeStreamingChatModel({ chunks });
  for await (const _ of await model.stream("?", { callbacks: [new FanlightCallback(said)] }));
  assert.deepEqual(said.of("part.delta").map((event) => event.text), ["one", " two", " three"]);
  assert.equal(said.events.at(-1).status, "complete");
});

test("an agent inside of a tool is a sub-agent", async () => {
  const said = new Recorded();
  const last = new AIMessage({ content: "Rome: 21", usage_metadata: { input_tokens: 10, output_tokens: 5, total_tokens: 15 } });
  const scout = agent("scout", { slow }, calls(["i", "slow", { city: "Rome" }]), last);
  const ask = tool(async (_, config) => (await scout.invoke(question, config)).content, { name: "ask", schema });
  const lead = agent("lead", { ask }, calls(["o", "ask", { city: "Rome" }]), new AIMessage("Done."));
  await lead.invoke(question, { callbacks: [new FanlightCallback(said)] });
  const [inner] = said.of("agent.start");
  assert.deepEqual([inner.name, inner.tool], ["scout", "o"]);
  assert.equal(said.calls().i.agent, inner.agent);
  assert.deepEqual([said.text("text", inner.agent), said.text()], ["Rome: 21", "Done."]);
  const used = said.of("run.update").filter((event) => event.usage);
  assert.deepEqual(used.map((event) => [event.agent, event.usage.input_tokens]), [[inner.agent, 10]]);
});

test("what cannot be published does not disturb the agent", async () => {
  const { warn } = console;
  let warned = 0;
  console.warn = () => (warned += 1);
  try {
    const callback = new FanlightCallback(new Full());
    await agent("Weather", { slow }, calls(["a", "slow", { city: "Oslo" }])).invoke(question, { callbacks: [callback] });
    assert.equal(warned, 1);
    assert.ok(callback.voice.unsaid > 3);
  } finally {
    console.warn = warn;
  }
});
