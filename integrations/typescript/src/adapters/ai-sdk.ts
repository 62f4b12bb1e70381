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
// are of. A run is over with the first answer that calls no tool. A loop that is stopped before (`stopWhen`) is over when the
// model was not asked again for some seconds after the last result, or at once with `seen.end("complete", result.toolCalls)`; one
// that does go on later goes on in the same run. What a tool asks models for is a sub-agent (where the runtime has
// AsyncLocalStorage).

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

/** Loops that are open; beyond them the one that was heard of longest ago is given up. */
const OPEN_MAX = 1_000;

/** How long a loop with all its results may wait for the next question, in milliseconds. */
const REST_MS = 10_000;

/** An agent loop: a run, or a sub-agent of one. */
interface Loop {
  run: Run;
  agent: string | undefined;
  /** The call whose tool it runs in. */
  within: string | undefined;
  /** Its calls whose results no question has brought yet, and those of them that have told none. */
  calls: Set<string>;
  untold: Set<string>;
  /** Whether the model is being asked. */
  asks: boolean;
  reason: string | undefined;
  rest: ReturnType<typeof setTimeout> | undefined;
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
  #restMs: number;
  /** The loops by their calls that have no result yet. */
  #pending = new Map<string, Loop>();
  /** The loops by what their newest call of the model was asked: the SDK asks the same again after a failure. */
  #asked = new WeakMap<object, Loop>();
  #open = new Set<Loop>();
  #inside: Storage<{ loop: Loop; call: string }> | undefined = storage();

  /** `restMs`: how long a loop with all its results may wait for the next question, before it counts as over. */
  constructor(publisher: Offers, options: { name?: string; restMs?: number } = {}) {
    this.voice = new Voice(publisher);
    this.#name = options.name;
    this.#restMs = options.restMs ?? REST_MS;
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

  /**
   * The loops that have these calls without having gone on from them are over: give the `toolCalls` of the last step. Without calls
   * all loops that are open are, also those of other requests.
   */
  end(status: Status = "complete", calls?: Iterable<{ toolCallId: string }>): void {
    const loops = calls ? [...calls].map(({ toolCallId }) => this.#pending.get(toolCallId)) : [...this.#open];
    for (const loop of new Set(loops)) if (loop && this.#open.has(loop)) this.#end(loop, status);
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
        // What ran inside of it and was stopped is not asked again.
        for (const inner of this.#open) if (inner.within === call && inner.run === loop.run && !inner.asks) this.#end(inner, "complete");
        loop.untold.delete(call);
        this.#rest(loop);
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
    loop.asks = true;
    clearTimeout(loop.rest);
    // The newest stands last.
    this.#open.delete(loop);
    this.#open.add(loop);
    for (const oldest of this.#open) {
      if (this.#open.size <= OPEN_MAX) break;
      this.#end(oldest, "interrupted");
    }
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
        loop.run.goOn();
        this.#pending.delete(part.toolCallId);
        loop.calls.delete(part.toolCallId);
        loop.untold.delete(part.toolCallId);
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
      return loopOf(run, agent, inside.call);
    }
    const run = new Run(this.voice, { name: this.#name, model: model.modelId });
    for (const message of prompt) {
      const parts = typeof message.content === "string" ? [message.content] : message.content.map(textOf);
      const text = parts.join("");
      if (text && message.role !== "tool") run.message(message.role, text);
    }
    return loopOf(run);
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
    loop.calls.add(call);
    loop.untold.add(call);
    for (const [oldest, its] of this.#pending) {
      if (this.#pending.size <= PENDING_MAX) break;
      this.#pending.delete(oldest);
      its.calls.delete(oldest);
      its.untold.delete(oldest);
    }
  }

  #finish(loop: Loop, usage: LanguageModelV3Usage, reason: string): void {
    loop.run.usage({
      input: usage.inputTokens.total,
      output: usage.outputTokens.total,
      reasoning: usage.outputTokens.reasoning,
      cached: usage.inputTokens.cacheRead,
    });
    loop.asks = false;
    loop.reason = reason;
    if (loop.calls.size === 0) this.#end(loop, reason === "error" ? "error" : "complete", reason);
    else this.#rest(loop);
  }

  /** Where all results are there, the next question comes soon, or the loop was stopped. */
  #rest(loop: Loop): void {
    // A sub-agent is over with the tool that it runs in.
    if (loop.asks || loop.untold.size > 0 || loop.agent !== undefined || !this.#open.has(loop)) return;
    clearTimeout(loop.rest);
    loop.rest = setTimeout(() => {
      this.#open.delete(loop);
      // Its calls stay known: a question that brings them after all goes on in the same run.
      loop.run.end("complete", loop.reason);
    }, this.#restMs);
    // No program stays for that.
    (loop.rest as { unref?: () => void }).unref?.();
  }

  #fail(loop: Loop, error: unknown): void {
    const cancelled = error instanceof Error && error.name === "AbortError";
    if (!cancelled) loop.run.error(error, loop);
    this.#end(loop, cancelled ? "cancelled" : "error");
  }

  #end(loop: Loop, status: Status, reason?: string): void {
    this.#open.delete(loop);
    clearTimeout(loop.rest);
    // Ids of calls may come again in another loop.
    for (const call of loop.calls) if (this.#pending.get(call) === loop) this.#pending.delete(call);
    loop.calls.clear();
    loop.untold.clear();
    loop.asks = false;
    if (loop.agent === undefined) loop.run.end(status, reason);
    else loop.run.agentEnd(loop.agent, status);
  }
}

function loopOf(run: Run, agent?: string, within?: string): Loop {
  return { run, agent, within, calls: new Set(), untold: new Set(), asks: false, reason: undefined, rest: undefined };
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
