// LangChain and LangGraph: a callback handler that shows what chains, models and tools do.
//
//     const publisher = new Publisher("weather");
//     await graph.invoke(question, { callbacks: [new FanlightCallback(publisher)] });
//
// Each call at the top is one run. What a tool runs inside of itself is a sub-agent. Texts come as the model streams them, if
// it does.

import { BaseCallbackHandler } from "@langchain/core/callbacks/base";
import type { HandleLLMNewTokenCallbackFields, NewTokenIndices } from "@langchain/core/callbacks/base";
import type { Serialized } from "@langchain/core/load/serializable";
import { type AIMessage, type AIMessageChunk, BaseMessage, ToolMessage, type UsageMetadata } from "@langchain/core/messages";
import type { LLMResult } from "@langchain/core/outputs";
import { type Offers, Run, Voice } from "../run.js";

/** What graphs throw to be stopped or led elsewhere: no failures. */
const INTERRUPTS = new Set(["GraphInterrupt", "NodeInterrupt", "GraphBubbleUp", "ParentCommand"]);

/** A chain, model or tool that runs: whose it is. */
interface Step {
  run: Run;
  agent: string | undefined;
  kind: "chain" | "model" | "tool";
  /** Of a tool: the call that it answers. */
  call?: string;
  beginsAgent?: boolean;
  hasStreamed?: boolean;
  /** Of a model: the calls that it writes, by their index. */
  calls: Map<unknown, string>;
}

/** See the file. One may serve any number of calls at once. */
export class FanlightCallback extends BaseCallbackHandler {
  name = "fanlight";
  readonly voice: Voice;
  #steps = new Map<string, Step>();

  constructor(publisher: Offers) {
    // In order, and before the agent goes on; nothing here waits.
    super({ _awaitHandler: true });
    this.voice = new Voice(publisher);
  }

  #begin(kind: Step["kind"], id: string, parent: string | undefined, name?: string, model?: string): Step {
    const above = parent === undefined ? undefined : this.#steps.get(parent);
    const run = above?.run ?? new Run(this.voice, { run: id, name, model });
    const step: Step = { run, agent: above?.agent, kind, calls: new Map() };
    if (above?.kind === "tool" && kind === "chain") {
      step.agent = id;
      step.beginsAgent = true;
      run.agentStart(id, { name, parent: above.agent, tool: above.call });
    }
    this.#steps.set(id, step);
    return step;
  }

  #end(id: string, parent: string | undefined, error?: Error): void {
    const step = this.#steps.get(id);
    if (!step) return;
    this.#steps.delete(id);
    const stopped = error !== undefined && INTERRUPTS.has(error.name);
    const status = error === undefined ? "complete" : stopped ? "interrupted" : "error";
    if (step.beginsAgent && step.agent !== undefined) step.run.agentEnd(step.agent, status);
    if (parent !== undefined && this.#steps.has(parent)) return;
    if (status === "error") step.run.error(error);
    if (stopped) step.run.status("waits for somebody outside of the graph");
    step.run.end(status);
  }

  // The declaration calls the fourth argument something else; what comes is the parent, and the name comes last but one.
  override handleChainStart(
    chain: Serialized | undefined,
    inputs: unknown,
    id: string,
    parent?: string,
    _tags?: string[],
    _metadata?: Record<string, unknown>,
    _runType?: string,
    runName?: string,
  ): void {
    this.voice.quietly(() => {
      const isTop = parent === undefined || !this.#steps.has(parent);
      const step = this.#begin("chain", id, parent, runName ?? chain?.id?.at(-1));
      if (isTop) tell(step.run, inputs);
    });
  }

  override handleChainEnd(_outputs: unknown, id: string, parent?: string): void {
    this.voice.quietly(() => this.#end(id, parent));
  }

  override handleChainError(error: Error, id: string, parent?: string): void {
    this.voice.quietly(() => this.#end(id, parent, error));
  }

  override handleChatModelStart(
    _model: Serialized,
    messages: BaseMessage[][],
    id: string,
    parent?: string,
    extra?: Record<string, unknown>,
    _tags?: string[],
    metadata?: Record<string, unknown>,
  ): void {
    this.voice.quietly(() => {
      const asked = extra?.["invocation_params"] as { model?: string } | undefined;
      const model = (metadata?.["ls_model_name"] as string | undefined) ?? asked?.model;
      const isTop = parent === undefined || !this.#steps.has(parent);
      const step = this.#begin("model", id, parent, undefined, model);
      if (isTop) tell(step.run, { messages: messages[0] });
      if (step.agent === undefined) step.run.model(model);
    });
  }

  override handleLLMStart(_model: Serialized, _prompts: string[], id: string, parent?: string): void {
    this.voice.quietly(() => void this.#begin("model", id, parent));
  }

  override handleLLMNewToken(
    token: string,
    _index: NewTokenIndices,
    id: string,
    _parent?: string,
    _tags?: string[],
    fields?: HandleLLMNewTokenCallbackFields,
  ): void {
    this.voice.quietly(() => {
      const step = this.#steps.get(id);
      if (!step) return;
      step.hasStreamed = true;
      const chunk = fields?.chunk;
      const message = chunk && "message" in chunk ? (chunk.message as AIMessageChunk) : undefined;
      if (!message) return step.run.text(token, step);
      say(step, message);
      for (const piece of message.tool_call_chunks ?? []) {
        if (piece.id && piece.name) {
          step.calls.set(piece.index, piece.id);
          step.run.toolStart(piece.id, piece.name, step);
        }
        const call = step.calls.get(piece.index);
        if (call !== undefined) step.run.toolArguments(call, piece.args ?? "", step);
      }
    });
  }

  override handleLLMEnd(output: LLMResult, id: string, parent?: string): void {
    this.voice.quietly(() => {
      const step = this.#steps.get(id);
      const generation = output.generations[0]?.[0];
      if (!step || !generation) return this.#end(id, parent);
      const message = "message" in generation ? (generation.message as AIMessage) : undefined;
      if (!step.hasStreamed) {
        if (message) say(step, message);
        else step.run.text(generation.text, step);
      }
      step.run.endText(step);
      for (const call of message?.tool_calls ?? []) step.run.toolCall(call.id ?? call.name, call.name, call.args, step);
      const usage = message?.usage_metadata as UsageMetadata | undefined;
      if (usage) {
        const tokens = {
          input: usage.input_tokens,
          output: usage.output_tokens,
          reasoning: usage.output_token_details?.reasoning,
          cached: usage.input_token_details?.cache_read,
        };
        step.run.usage(tokens, step);
      }
      this.#end(id, parent);
    });
  }

  override handleLLMError(error: Error, id: string, parent?: string): void {
    this.voice.quietly(() => {
      const step = this.#steps.get(id);
      if (step && parent !== undefined && this.#steps.has(parent)) {
        step.run.endText(step);
        step.run.error(error, step);
      }
      this.#end(id, parent, error);
    });
  }

  override handleToolStart(
    tool: Serialized | undefined,
    input: string,
    id: string,
    parent?: string,
    _tags?: string[],
    _metadata?: Record<string, unknown>,
    runName?: string,
    toolCallId?: string,
  ): void {
    this.voice.quietly(() => {
      const name = runName ?? tool?.id?.at(-1) ?? "tool";
      const step = this.#begin("tool", id, parent, name);
      step.call = toolCallId ?? id;
      // One that no model asked for was never written.
      step.run.toolCall(step.call, name, input, step);
      step.run.toolExecuting(step.call, step);
    });
  }

  override handleToolEnd(output: unknown, id: string, parent?: string): void {
    this.voice.quietly(() => {
      const step = this.#steps.get(id);
      if (step?.call !== undefined) {
        const message = answerIn(output);
        const content = message ? message.content : output;
        step.run.toolResult(step.call, content, { agent: step.agent, isError: message?.status === "error" });
      }
      this.#end(id, parent);
    });
  }

  override handleToolError(error: Error, id: string, parent?: string): void {
    this.voice.quietly(() => {
      const step = this.#steps.get(id);
      if (step?.call !== undefined && !INTERRUPTS.has(error.name)) {
        step.run.toolResult(step.call, `${error.name}: ${error.message}`, { agent: step.agent, isError: true });
      }
      this.#end(id, parent, error);
    });
  }
}

function say(step: Step, message: BaseMessage): void {
  for (const block of message.contentBlocks) {
    if (block.type === "text") step.run.text(String(block["text"] ?? ""), step);
    else if (block.type === "reasoning") step.run.thinking(String(block["reasoning"] ?? ""), step);
  }
}

/** The message in what a tool gave back: itself, or the last of those that it adds to the state of its graph. */
function answerIn(output: unknown): ToolMessage | undefined {
  if (ToolMessage.isInstance(output)) return output;
  const added = (output as { update?: { messages?: unknown[] } } | undefined)?.update?.messages;
  return Array.isArray(added) ? added.filter((message) => ToolMessage.isInstance(message)).at(-1) : undefined;
}

/** Tells who said what before. */
function tell(run: Run, inputs: unknown): void {
  const messages = (inputs as { messages?: unknown } | undefined)?.messages;
  if (messages === undefined) return;
  const roles: Record<string, string> = { human: "user", ai: "assistant" };
  for (const message of Array.isArray(messages) ? messages : [messages]) {
    let role = "user";
    let text: unknown = message;
    if (BaseMessage.isInstance(message)) [role, text] = [message.type, message.text];
    else if (Array.isArray(message)) [role, text] = message as [string, unknown];
    else if (typeof message === "object" && message !== null) {
      const { role: said, content } = message as { role?: string; content?: unknown };
      [role, text] = [said ?? "user", content];
    }
    if (typeof text === "string" && text) run.message(roles[role] ?? role, text);
  }
}
