// OpenAI's, AG-UI's and the AI SDK's packages ask an agent of the hub: with its tools and their own, thinking, errors; and hang up.

import assert from "node:assert/strict";
import { HttpAgent, buildResumeArray } from "@ag-ui/client";
import { createOpenAI } from "@ai-sdk/openai";
import { DefaultChatTransport, generateText, jsonSchema, lastAssistantMessageIsCompleteWithApprovalResponses, readUIMessageStream, stepCountIs, streamText, tool } from "ai";
import OpenAI from "openai";

const url = process.argv[2];
const TEXT = "Let me look.\n\nIt is sunny.";
const left = {};

async function openai() {
  const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: "none" });
  const ask = (content, more = {}) => client.chat.completions.create({ model: "helper", messages: [{ role: "user", content }], ...more });
  const whole = (await ask("Weather?")).choices[0];
  assert.deepEqual([whole.message.content, whole.message.reasoning_content, whole.finish_reason], [TEXT, "Hm.", "stop"]);
  let text = "";
  for await (const chunk of await ask("Weather?", { stream: true })) {
    assert.equal(chunk.choices[0].delta.tool_calls, undefined);
    text += chunk.choices[0].delta.content ?? "";
  }
  assert.equal(text, TEXT);
  // The package's own loop executes the tools that it brings.
  let asked = 0;
  const runner = client.chat.completions.runTools({
    model: "helper",
    stream: true,
    messages: [{ role: "user", content: "Colour?" }],
    tools: [{ type: "function", function: { name: "ask_user", description: "asks", parameters: { type: "object", properties: {} }, parse: JSON.parse, function: () => { asked += 1; return "blue"; } } }],
  });
  assert.equal(await runner.finalContent(), "It says blue.");
  assert.equal(asked, 1);
  await assert.rejects(ask("x", { model: "gpt-9" }), (error) => error instanceof OpenAI.NotFoundError && error.code === "model_not_found");
  await assert.rejects(ask("fail"), (error) => error.status === 502 && error.code === "http_401");
  await assert.rejects(async () => { for await (const _ of await ask("fail", { stream: true })); }, /./);
  const { data, response } = await ask("wait", { stream: true }).withResponse();
  for await (const chunk of data) {
    if (chunk.choices[0].delta.content === "Well") break;
  }
  left.openai = response.headers.get("fanlight-conversation");
}

// The AI SDK's provider for OpenAI takes the Responses API unless it is told otherwise.
async function responses() {
  const model = createOpenAI({ baseURL: `${url}/v1`, apiKey: "none" })("helper");
  const whole = await generateText({ model, prompt: "Weather?" });
  assert.deepEqual([whole.text, whole.reasoningText, whole.finishReason], ["Let me look.It is sunny.", "Hm.", "stop"]);
  const streamed = streamText({ model, prompt: "Weather?" });
  assert.equal(await streamed.text, "Let me look.It is sunny.");
  assert.equal((await streamed.usage).inputTokens, 14);
  let asked = 0;
  const inputSchema = jsonSchema({ type: "object", properties: {} });
  const tools = { ask_user: tool({ description: "asks", inputSchema, execute: () => { asked += 1; return "blue"; } }) };
  const done = await generateText({ model, prompt: "Colour?", tools, stopWhen: stepCountIs(3) });
  assert.deepEqual([done.text, asked], ['It says blue.', 1]);
  const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: "none" });
  const stream = client.responses.stream({ model: "helper", input: "Weather?" });
  assert.equal((await stream.finalResponse()).output_text, "Let me look.It is sunny.");
}

async function agUi() {
  const agent = new HttpAgent({ url: `${url}/compat/ag-ui/helper`, threadId: "ag" });
  const seen = [];
  const failures = [];
  const say = async (content, input = {}) => {
    agent.addMessage({ id: crypto.randomUUID(), role: "user", content });
    return agent.runAgent(input, {
      onEvent: ({ event }) => { seen.push(event.type); },
      onRunErrorEvent: ({ event }) => { failures.push(event.code); },
    });
  };
  await say("Weather?");
  const roles = agent.messages.map((message) => message.role);
  assert.equal(agent.messages.filter((message) => message.role === "assistant" && message.content).map((message) => message.content).join("|"), "Let me look.|It is sunny.", JSON.stringify(agent.messages));
  assert.equal(agent.messages.find((message) => message.role === "tool").content, '{"city":"Rome"}', roles.join());
  assert.ok(seen.includes("REASONING_MESSAGE_CONTENT"), seen.join());
  // A second turn with all that was said, and tools of the page's own.
  const tools = [{ name: "ask_user", description: "asks", parameters: { type: "object", properties: {} } }];
  await say("Colour?", { tools });
  const call = agent.messages.flatMap((message) => message.toolCalls ?? []).find((it) => it.function.name === "ask_user");
  assert.ok(call, JSON.stringify(agent.messages));
  agent.addMessage({ id: crypto.randomUUID(), role: "tool", toolCallId: call.id, content: "blue" });
  await agent.runAgent({ tools });
  assert.equal(agent.messages.at(-1).content, "It says blue.");
  // A page that was loaded anew knows its thread and nothing else.
  const fresh = new HttpAgent({ url: `${url}/compat/ag-ui/helper`, threadId: "ag", initialMessages: [{ id: "n", role: "user", content: "Sunny?" }] });
  await fresh.runAgent();
  assert.deepEqual(fresh.messages.filter((message) => message.role === "user").map((message) => message.content), ["Weather?", "Colour?", "Sunny?"]);
  assert.equal(fresh.messages.at(-1).content, "It is sunny.");
  // An agent that asks before it calls its tool: the run ends with the question, and the next one brings the answer.
  const careful = new HttpAgent({ url: `${url}/compat/ag-ui/careful`, threadId: "ag-careful", initialMessages: [{ id: "q", role: "user", content: "Weather?" }] });
  await careful.runAgent();
  assert.deepEqual(careful.pendingInterrupts.map((it) => it.reason), ["tool_call"]);
  const [asked] = careful.pendingInterrupts;
  const payload = { approved: true, editedArgs: { city: "Oslo" } };
  await careful.runAgent({ resume: buildResumeArray(careful.pendingInterrupts, { [asked.id]: { status: "resolved", payload } }) });
  assert.deepEqual(careful.pendingInterrupts, []);
  assert.equal(careful.messages.find((message) => message.role === "tool").content, '{"city":"Oslo"}', JSON.stringify(careful.messages));
  assert.equal(careful.messages.at(-1).content, "It is sunny.");
  agent.threadId = "ag-fail";
  agent.setMessages([]);
  await say("fail");
  assert.deepEqual(failures, ["http_401"]);
  agent.threadId = "ag-wait";
  agent.setMessages([{ id: "w", role: "user", content: "wait" }]);
  await agent.runAgent({}, { onTextMessageContentEvent: () => agent.abortRun() }).catch(() => {});
  left.agUi = "ag-wait";
}

const user = (text) => ({ id: crypto.randomUUID(), role: "user", parts: [{ type: "text", text }] });

async function aiSdk() {
  const transport = new DefaultChatTransport({ api: `${url}/compat/ai-sdk/helper` });
  const send = async (chatId, messages, more = {}) => {
    const stream = await transport.sendMessages({ chatId, messages, trigger: "submit-message", abortSignal: undefined, ...more });
    return read(stream, messages);
  };
  const read = async (stream, messages = []) => {
    let last, failure;
    const message = messages.at(-1)?.role === "assistant" ? structuredClone(messages.at(-1)) : undefined;
    for await (const message_ of readUIMessageStream({ stream, message, onError: (error) => { failure = error; } })) last = message_;
    if (failure) throw failure;
    return last;
  };
  const texts = (message) => message.parts.filter((part) => part.type === "text").map((part) => part.text);
  const messages = [user("Weather?")];
  const first = await send("ai", messages);
  assert.deepEqual(texts(first), ["Let me look.", "It is sunny."]);
  assert.equal(first.parts.find((part) => part.type === "reasoning").text, "Hm.");
  const tool = first.parts.find((part) => part.type === "dynamic-tool");
  assert.deepEqual([tool.toolName, tool.state, tool.providerExecuted, tool.output], ["t__echo", "output-available", true, '{"city":"Rome"}']);
  const again = await send("ai", messages, { trigger: "regenerate-message", messageId: first.id });
  assert.deepEqual(texts(again), texts(first));
  assert.notEqual(again.id, first.id);
  // A tool of the page's own: the same message goes on.
  const tools = [{ name: "ask_user", description: "asks", parameters: { type: "object", properties: {} } }];
  const question = user("Colour?");
  const asks = await send("ai-own", [question], { body: { tools } });
  const own = asks.parts.find((part) => part.type === "dynamic-tool");
  assert.equal(own.state, "input-available");
  Object.assign(own, { state: "output-available", output: "blue" });
  const on = await send("ai-own", [question, asks], { body: { tools } });
  assert.equal(on.id, asks.id);
  assert.equal(texts(on).at(-1), "It says blue.");
  // An agent that asks before it calls its tool.
  for (const approved of [true, false]) {
    const careful = new DefaultChatTransport({ api: `${url}/compat/ai-sdk/careful` });
    const chatId = `ai-careful-${approved}`;
    const submit = async (all) => read(await careful.sendMessages({ chatId, messages: all, trigger: "submit-message" }), all);
    const waits = await submit(messages);
    const part = waits.parts.find((it) => it.type === "dynamic-tool");
    assert.equal(part.state, "approval-requested", JSON.stringify(waits.parts));
    Object.assign(part, { state: "approval-responded", approval: { ...part.approval, approved } });
    assert.ok(lastAssistantMessageIsCompleteWithApprovalResponses({ messages: [...messages, waits] }));
    const went = await submit([...messages, waits]);
    assert.equal(went.id, waits.id);
    assert.equal(went.parts.find((it) => it.type === "dynamic-tool").state, approved ? "output-available" : "output-denied", JSON.stringify(went.parts));
    assert.equal(texts(went).at(-1), "It is sunny.");
  }
  await assert.rejects(send("ai-fail", [user("fail")]), /./);
  await assert.rejects(new DefaultChatTransport({ api: `${url}/compat/ai-sdk/nobody` }).sendMessages({ chatId: "x", messages, trigger: "submit-message" }), /unknown_agent/);
  assert.equal(await transport.reconnectToStream({ chatId: "ai" }), null);
  const abort = new AbortController();
  const stream = await transport.sendMessages({ chatId: "ai-wait", messages: [user("wait")], trigger: "submit-message", abortSignal: abort.signal });
  const reader = stream.getReader();
  while ((await reader.read()).value.delta !== "Well");
  abort.abort();
  // The chat comes back to it.
  const back = (await transport.reconnectToStream({ chatId: "ai-wait" })).getReader();
  while ((await back.read()).value.delta !== "Well");
  await back.cancel();
  left.aiSdk = "ai-wait";
}

for (const client of [openai, responses, agUi, aiSdk]) {
  try {
    await client();
  } catch (error) {
    console.error(`${client.name}: ${error.stack ?? JSON.stringify(error)}`);
    process.exit(1);
  }
}
console.log(JSON.stringify({ left: Object.values(left) }));
process.exit(0);
