// An agent of the AI SDK that is seen in all that it does. Usage: node with_ai_sdk.mjs CONVERSATION
import { openai } from "@ai-sdk/openai";
import { jsonSchema, stepCountIs, streamText, tool, wrapLanguageModel } from "ai";
import { Publisher } from "fanlight";
import { FanlightAiSdk } from "fanlight/adapters/ai-sdk";
import { WebSocket } from "./websocket.mjs";

const get_weather = tool({
  description: "The weather in a city",
  inputSchema: jsonSchema({ type: "object", properties: { city: { type: "string" } }, required: ["city"] }),
  execute: async ({ city }) => ({ city, degrees: 21 }),
});

const publisher = new Publisher(process.argv[2], { WebSocket });
const seen = new FanlightAiSdk(publisher, { name: "Weather" });
const result = streamText({
  model: wrapLanguageModel({ model: openai("gpt-5"), middleware: seen.middleware }),
  prompt: "What is the weather in Lisbon?",
  tools: seen.tools({ get_weather }),
  stopWhen: stepCountIs(5),
});
for await (const text of result.textStream) process.stdout.write(text);
await publisher.close();
