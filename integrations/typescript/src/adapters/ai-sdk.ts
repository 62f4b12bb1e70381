// The AI SDK: a middleware that shows what models say, and tools that tell when they are executed.
//
//     const seen = new FanlightAiSdk(new Publisher("weather"), { name: "Weather" });
//     const result = streamText({
//       model: wrapLanguageModel({ model: openai("gpt-5"), middleware: seen.middleware }),
//       tools: seen.tools({ getWeather }),
//       …
//     });
//
// The calls of one agent loop are one run: a call of the model that brings the results of calls belongs to the run that these
// are of. A run is over with the first answer that calls no tool; where a loop is stopped before, say `seen.end()`. What a tool
// asks models for is a sub-agent (where the runtime has AsyncLocalStorage).

import type {
  LanguageModelV3,
  LanguageModelV3CallOptions,
  LanguageModelV3Content,
  LanguageModelV3Message,
  LanguageModelV3Middleware,
  LanguageModelV3StreamPart,
  LanguageModelV3Usage,
} from "@ai-sdk/provider";
import { type Offers, Run, type Status, Voice } from "../run.js";

/** Calls without a result that are remembered. */
const PENDING_MAX = 10_000;

/** An agent loop: a run, or a sub-agent of one. */
interface Loop {
  run: Run;
  agent: string | undefined;
}

/** Carries what is around a call through what it awaits. */
interface Storage<T> {
  run<R>(value: T, work: () => R): R;
  getStore(): T | undefined;
}

interface Executable {
  execute?: ((...args: never[]) => unknown) | undefined;
}

/** See the file. One serves any number of loops. */
export class FanlightAiSdk {
  readonly voice: Voice;
  /** For `wrapLanguageModel`. */
  readonly middleware: LanguageModelV3Middleware;
  #name: string | undefined;
  /** The loops by their calls that have no result yet. */
  #pending = new Map<string, Loop>();
  /** The loops by what their newest call of the model was asked: the SDK asks the same again after a failure. */
  #asked = new WeakMap<object, Loop>();
  #open = new Set<Loop>();
  #inside: Storage<{ loop: Loop; call: string }> | undefined = storage();

  constructor(publisher: Offers, options: { name?: string } = {}) {
    this.voice = new Voice(publisher);
    this.#name = options.name;
    this.middleware = {
      specificationVersion: "v3",
      wrapGenerate: async ({ doGenerate, params, model }) => {
        const loop = this.#begin(params, model);
        try {
          const result = await doGenerate();
          this.voice.quietly(() => {
            for (const content of result.content) this.#say(loop, content);
            this.#finish(loop, result.usage, result.finishReason.unified);
          });
          return result;
        } catch (error) {
          this.#fail(loop, error);
          throw error;
        }
      },
      wrapStream: async ({ doStream, params, model }) => {
        const loop = this.#begin(params, model);
        try {
          const { stream, ...rest } = await doStream();
          return { stream: this.#watch(loop, stream), ...rest };
        } catch (error) {
          this.#fail(loop, error);
          throw error;
        }
      },
    };
  }

  /** The same tools, which tell when they are executed and what they gave back. */
  tools<Tools extends Record<string, object>>(tools: Tools): Tools {
    return Object.fromEntries(Object.entries(tools).map(([name, tool]) => [name, this.#tool(tool)])) as Tools;
  }

  /** The loops that are open are over. */
  end(status: Status = "complete"): void {
    for (const loop of [...this.#open]) this.#end(loop, status);
  }

  #tool(tool: Executable): Executable {
    const execute = tool.execute as ((input: unknown, options: { toolCallId: string }) => unknown) | undefined;
    if (!execute) return tool;
    const watched = (input: unknown, options: { toolCallId: string }): unknown => {
      const call = options.toolCallId;
      const loop = this.#pending.get(call);
      if (!loop) return execute.call(tool, input, options);
      loop.run.toolExecuting(call, loop);
      const work = () => execute.call(tool, input, options);
      const told = (output: unknown, isError = false) => {
        loop.run.toolResult(call, isError ? String(output) : output, { agent: loop.agent, isError });
      };
      try {
        const output = this.#inside ? this.#inside.run({ loop, call }, work) : work();
        if (isIterable(output)) return this.#each(output, told);
        return Promise.resolve(output).then(
          (value) => {
            told(value);
            return value;
          },
          (error: unknown) => {
            told(error, true);
            throw error;
          },
        );
      } catch (error) {
        told(error, true);
        throw error;
      }
    };
    return { ...tool, execute: watched };
  }

  /** A tool that gives back one value after the other: the last is its result. */
  async *#each(output: AsyncIterable<unknown>, told: (output: unknown, isError?: boolean) => void): AsyncGenerator<unknown> {
    let last: unknown;
    try {
      for await (const value of output) {
        last = value;
        yield value;
      }
    } catch (error) {
      told(error, true);
      throw error;
    }
    told(last);
  }

  /** The loop that a call of the model belongs to. Never throws. */
  #begin(params: LanguageModelV3CallOptions, model: LanguageModelV3): Loop {
    const again = this.#asked.get(params.prompt);
    const loop = again ?? this.#joined(params.prompt) ?? this.#started(params.prompt, model);
    this.#asked.set(params.prompt, loop);
    if (again) loop.run.goOn();
    this.#open.add(loop);
    if (loop.agent === undefined) loop.run.model(model.modelId);
    return loop;
  }

  #joined(prompt: LanguageModelV3Message[]): Loop | undefined {
    let joined: Loop | undefined;
    for (const message of prompt) {
      if (message.role !== "tool") continue;
      for (const part of message.content) {
        const loop = part.type === "tool-result" ? this.#pending.get(part.toolCallId) : undefined;
        if (!loop || part.type !== "tool-result") continue;
        joined = loop;
        this.#pending.delete(part.toolCallId);
        const { output } = part;
        const isError = output.type === "error-text" || output.type === "error-json" || output.type === "execution-denied";
        const value = output.type === "execution-denied" ? (output.reason ?? "denied") : output.value;
        // Where the tool said so itself, this is no news.
        loop.run.toolResult(part.toolCallId, value, { agent: loop.agent, isError });
      }
    }
    return joined;
  }

  #started(prompt: LanguageModelV3Message[], model: LanguageModelV3): Loop {
    const inside = this.#inside?.getStore();
    if (inside) {
      const { run, agent: parent } = inside.loop;
      const agent = crypto.randomUUID();
      run.agentStart(agent, { parent, tool: inside.call });
      return { run, agent };
    }
    const run = new Run(this.voice, { name: this.#name, model: model.modelId });
    for (const message of prompt) {
      const parts = typeof message.content === "string" ? [message.content] : message.content.map(textOf);
      const text = parts.join("");
      if (text && message.role !== "tool") run.message(message.role, text);
    }
    return { run, agent: undefined };
  }

  #watch(loop: Loop, stream: ReadableStream<LanguageModelV3StreamPart>): ReadableStream<LanguageModelV3StreamPart> {
    let isFinished = false;
    const reader = stream.getReader();
    return new ReadableStream<LanguageModelV3StreamPart>(
      {
        pull: async (controller) => {
          try {
            const { done, value } = await reader.read();
            if (done) {
              if (!isFinished) this.#end(loop, "interrupted");
              controller.close();
              return;
            }
            isFinished ||= value.type === "finish" || value.type === "error";
            this.voice.quietly(() => this.#hear(loop, value));
            controller.enqueue(value);
          } catch (error) {
            this.#fail(loop, error);
            controller.error(error);
          }
        },
        cancel: async (reason) => {
          if (!isFinished) this.#end(loop, "cancelled");
          await reader.cancel(reason);
        },
      },
      // Nothing is read that nobody asks for.
      { highWaterMark: 0 },
    );
  }

  #hear(loop: Loop, part: LanguageModelV3StreamPart): void {
    const { run } = loop;
    switch (part.type) {
      case "text-delta":
        return run.text(part.delta, loop);
      case "reasoning-delta":
        return run.thinking(part.delta, loop);
      case "text-end":
      case "reasoning-end":
        return run.endText(loop);
      case "tool-input-start":
        return run.toolStart(part.id, part.toolName, loop);
      case "tool-input-delta":
        return run.toolArguments(part.id, part.delta, loop);
      case "tool-call":
      case "tool-result":
        return this.#say(loop, part);
      case "error":
        return this.#fail(loop, part.error);
      case "finish":
        return this.#finish(loop, part.usage, part.finishReason.unified);
      default:
    }
  }

  #say(loop: Loop, content: LanguageModelV3Content): void {
    const { run } = loop;
    if (content.type === "text") {
      run.text(content.text, loop);
      run.endText(loop);
    } else if (content.type === "reasoning") {
      run.thinking(content.text, loop);
      run.endText(loop);
    } else if (content.type === "tool-call") {
      if (!content.providerExecuted) this.#await(content.toolCallId, loop);
      run.toolCall(content.toolCallId, content.toolName, content.input, loop);
      if (content.providerExecuted) run.toolExecuting(content.toolCallId, loop);
    } else if (content.type === "tool-result" && !content.preliminary) {
      run.toolResult(content.toolCallId, content.result, { agent: loop.agent, isError: content.isError });
    }
  }

  #await(call: string, loop: Loop): void {
    this.#pending.set(call, loop);
    for (const [oldest] of this.#pending) {
      if (this.#pending.size <= PENDING_MAX) break;
      this.#pending.delete(oldest);
    }
  }

  #finish(loop: Loop, usage: LanguageModelV3Usage, reason: string): void {
    loop.run.usage({
      input: usage.inputTokens.total,
      output: usage.outputTokens.total,
      reasoning: usage.outputTokens.reasoning,
      cached: usage.inputTokens.cacheRead,
    });
    const waits = [...this.#pending.values()].includes(loop);
    if (!waits) this.#end(loop, reason === "error" ? "error" : "complete", reason);
  }

  #fail(loop: Loop, error: unknown): void {
    const cancelled = error instanceof Error && error.name === "AbortError";
    if (!cancelled) loop.run.error(error, loop);
    this.#end(loop, cancelled ? "cancelled" : "error");
  }

  #end(loop: Loop, status: Status, reason?: string): void {
    this.#open.delete(loop);
    for (const [call, pending] of this.#pending) if (pending === loop) this.#pending.delete(call);
    if (loop.agent === undefined) loop.run.end(status, reason);
    else loop.run.agentEnd(loop.agent, status);
  }
}

function textOf(part: { type: string; text?: string }): string {
  return part.type === "text" ? (part.text ?? "") : "";
}

function isIterable(value: unknown): value is AsyncIterable<unknown> {
  return typeof value === "object" && value !== null && Symbol.asyncIterator in value;
}

/** AsyncLocalStorage where there is one; asked for without an import, which browsers would not find. */
function storage<T>(): Storage<T> | undefined {
  const around = globalThis as unknown as {
    process?: { getBuiltinModule?: (name: string) => { AsyncLocalStorage: new () => Storage<T> } | undefined };
  };
  const hooks = around.process?.getBuiltinModule?.("node:async_hooks");
  return hooks && new hooks.AsyncLocalStorage();
}
