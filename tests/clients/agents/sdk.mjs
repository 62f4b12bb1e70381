// Asks each recorded exchange with the packages of OpenAI and Anthropic, and prints what came.
import { createHash } from "node:crypto";
import { createInterface } from "node:readline";
import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";

const openai = new OpenAI({ maxRetries: 0 });
const anthropic = new Anthropic({ maxRetries: 0 });
const apis = {
  "openai-chat": openai.chat.completions,
  "openai-responses": openai.responses,
  "anthropic-messages": anthropic.messages,
};

for await (const line of createInterface({ input: process.stdin })) {
  const { name, dialect, request, stream } = JSON.parse(line);
  const ask = () => apis[dialect].create({ ...request, stream }, { headers: { "x-recording": name } });
  const response = await ask().asResponse();
  const bytes = Buffer.from(await response.arrayBuffer());
  console.log(name, response.status, createHash("sha256").update(bytes).digest("hex"));
  const answer = await ask();
  if (stream) for await (const event of answer) console.log(JSON.stringify(event));
  else console.log(JSON.stringify(answer));
}
