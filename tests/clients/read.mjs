// Reads the conversation `story` of a hub with other projects' clients and says what is wrong.
// Usage: node read.mjs http://127.0.0.1:PORT
import assert from "node:assert/strict";
import { HttpAgent } from "@ag-ui/client";
import Anthropic from "@anthropic-ai/sdk";
import { parseJsonEventStream, readUIMessageStream, uiMessageChunkSchema } from "ai";
import OpenAI from "openai";

const hub = process.argv[2];
const base = (dialect) => `${hub}/v1/conversations/story/stream/${dialect}`;
const ANSWER = "It is 18 degrees in London ☂.";

async function openai(dialect) {
  const client = new OpenAI({ apiKey: "none", baseURL: base(dialect), maxRetries: 0 });
  const request = { model: "any", messages: [{ role: "user", content: "?" }], stream: true };
  const completion = await client.chat.completions.stream(request).finalChatCompletion();
  const [choice] = completion.choices;
  assert.equal(choice.message.content, ANSWER);
  assert.equal(choice.finish_reason, "stop");
  assert.deepEqual(JSON.parse(choice.message.tool_calls[0].function.arguments), { city: "London" });
}

// Bernard's stream has objects and roles that only its own clients put together; any client can walk through it.
async function bernard() {
  const client = new OpenAI({ apiKey: "none", baseURL: base("bernard"), maxRetries: 0 });
  const request = { model: "any", messages: [{ role: "user", content: "?" }], stream: true };
  let text = "";
  let result = "";
  for await (const chunk of await client.chat.completions.create(request)) {
    const delta = chunk.choices?.[0]?.delta;
    if (delta?.role === "tool") result += delta.content;
    else text += delta?.content ?? "";
  }
  assert.equal(text, ANSWER);
  assert.equal(result, '{"temperature":18}');
}

async function anthropic() {
  const client = new Anthropic({ apiKey: "none", baseURL: base("anthropic"), maxRetries: 0 });
  const request = { model: "any", max_tokens: 100, messages: [{ role: "user", content: "?" }] };
  const message = await client.messages.stream(request).finalMessage();
  assert.deepEqual(
    message.content.map((block) => block.type),
    ["thinking", "tool_use", "mcp_tool_result", "text"],
  );
  assert.deepEqual(message.content[1].input, { city: "London" });
  assert.equal(message.content.at(-1).text, ANSWER);
  assert.equal(message.stop_reason, "end_turn");
  assert.equal(message.usage.output_tokens, 34);
}

async function agUi() {
  const agent = new HttpAgent({ url: base("ag-ui"), threadId: "story" });
  const seen = [];
  await agent.runAgent({ runId: "mine" }, { onEvent: ({ event }) => void seen.push(event.type) });
  assert.equal(seen.at(-1), "RUN_FINISHED");
  const answer = agent.messages.findLast((message) => message.role === "assistant" && message.content);
  assert.equal(answer.content, ANSWER);
  assert.deepEqual(agent.state, { city: "London" });
  assert.ok(agent.messages.some((message) => message.role === "tool"));
}

async function aiSdk() {
  const answer = await fetch(base("ai-sdk"), { method: "POST" });
  assert.equal(answer.headers.get("x-vercel-ai-ui-message-stream"), "v1");
  const chunks = parseJsonEventStream({ stream: answer.body, schema: uiMessageChunkSchema }).pipeThrough(
    new TransformStream({
      transform(parsed, controller) {
        if (!parsed.success) throw parsed.error;
        controller.enqueue(parsed.value);
      },
    }),
  );
  let last;
  const fail = (error) => { throw error; };
  for await (const message of readUIMessageStream({ stream: chunks, onError: fail, terminateOnError: true })) {
    last = message;
  }
  const text = last.parts.filter((part) => part.type === "text").map((part) => part.text).join("");
  assert.equal(text, ANSWER);
  const call = last.parts.find((part) => part.toolCallId === "call_1");
  assert.equal(call.state, "output-available");
  assert.deepEqual([call.input, call.output], [{ city: "London" }, { temperature: 18 }]);
  assert.equal(last.metadata.usage.outputTokens, 34);
}

const checks = { openai: () => openai("openai-chat"), bernard, anthropic, agUi, aiSdk };
let failed = 0;
for (const [name, check] of Object.entries(checks)) {
  try {
    await check();
    console.log(`ok   ${name}`);
  } catch (error) {
    failed += 1;
    console.log(`FAIL ${name}: ${error?.stack ?? error}`);
  }
}
process.exit(failed ? 1 : 0);
