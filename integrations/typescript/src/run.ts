// What an agent does, said in events, for those who would rather not write events. All adapters are made of it.
//
// Nothing here ever throws or waits: what cannot be published is counted, and logged once.

import type { Event } from "./types.js";

/** How a run ends. */
export type Status = "complete" | "error" | "cancelled" | "interrupted";

/** Whatever takes events without waiting. */
export interface Offers {
  /** Takes events or throws. */
  offer(...events: Event[]): void;
}

/** Says events through a publisher and keeps its troubles from the agent. */
export class Voice {
  /** Events that could not be published. */
  unsaid = 0;

  constructor(private readonly publisher: Offers) {}

  /** Publishes events, or counts them. */
  say(...events: Event[]): void {
    try {
      this.publisher.offer(...events);
    } catch (error) {
      this.trouble(error, events.length);
    }
  }

  /** Does something for the publishing only. */
  quietly(work: () => void): void {
    try {
      work();
    } catch (error) {
      this.trouble(error);
    }
  }

  /** Notes a trouble, and logs the first. */
  trouble(error: unknown, count = 1): void {
    if (this.unsaid === 0) console.warn("fanlight: what the agent does is not published; said once:", error);
    this.unsaid += count;
  }
}

interface Call {
  pendingAt?: number;
  executingAt?: number;
  isOver?: boolean;
}

/** Who runs, as far as it is known. */
export interface RunOptions {
  run?: string | undefined;
  name?: string | undefined;
  model?: string | undefined;
  title?: string | undefined;
  /** The name of the machine, such as `os.hostname()`; nobody is told one unless you say it. */
  host?: string | undefined;
}

/** Tokens of one call of a model. */
export interface Tokens {
  input?: number | undefined;
  output?: number | undefined;
  reasoning?: number | undefined;
  cached?: number | undefined;
}

/** Whose fact it is: the main agent's where it is left out. */
export interface By {
  agent?: string | undefined;
}

/** One execution of an agent. */
export class Run {
  readonly id: string;
  readonly voice: Voice;
  isOver = false;
  #calls = new Map<string, Call>();
  #open = new Map<string | undefined, { part: string; kind: string }>();
  #parts = 0;
  #messages = 0;
  #model: string | undefined;

  constructor(voice: Voice | Offers, options: RunOptions = {}) {
    this.voice = voice instanceof Voice ? voice : new Voice(voice);
    this.id = options.run ?? crypto.randomUUID();
    this.#model = options.model;
    const { name, model, title, host } = options;
    this.#say({ k: "run.start", name, model, title, host });
  }

  #say(event: { k: Event["k"]; [name: string]: unknown }, agent?: string): void {
    const said = Object.fromEntries(Object.entries(event).filter(([, value]) => value !== undefined));
    said["run"] = this.id;
    if (agent !== undefined) said["agent"] = agent;
    this.voice.say(said as unknown as Event);
  }

  /** A message of the history: what the user asked, the instructions. */
  message(role: string, text: string): void {
    this.#messages += 1;
    this.#say({ k: "message", message: `${this.id}-m${this.#messages}`, role, text });
  }

  /** The model that answers from now on. */
  model(model: string | undefined): void {
    if (!model || model === this.#model) return;
    this.#model = model;
    this.#say({ k: "run.update", model });
  }

  /** More of the answer. */
  text(delta: string, by: By = {}): void {
    this.#delta("text", delta, by.agent);
  }

  /** More of the reasoning. */
  thinking(delta: string, by: By = {}): void {
    this.#delta("thinking", delta, by.agent);
  }

  #delta(kind: string, text: string, agent: string | undefined): void {
    if (!text) return;
    let open = this.#open.get(agent);
    if (open?.kind !== kind) {
      this.endText({ agent });
      this.#parts += 1;
      open = { part: `p${this.#parts}`, kind };
      this.#open.set(agent, open);
      this.#say({ k: "part.start", part: open.part, kind }, agent);
    }
    this.#say({ k: "part.delta", part: open.part, text }, agent);
  }

  /** The text or reasoning that this agent streams is whole. */
  endText(by: By = {}): void {
    const open = this.#open.get(by.agent);
    if (!open) return;
    this.#open.delete(by.agent);
    this.#say({ k: "part.end", part: open.part }, by.agent);
  }

  #call(call: string): Call {
    let known = this.#calls.get(call);
    if (!known) this.#calls.set(call, (known = {}));
    return known;
  }

  /** The model begins to write a call. */
  toolStart(call: string, name: string, by: By = {}): void {
    if (this.#calls.has(call)) return;
    this.#call(call);
    this.endText(by);
    this.#say({ k: "tool.start", tool: call, name }, by.agent);
  }

  /** More of a call's arguments. */
  toolArguments(call: string, delta: string, by: By = {}): void {
    if (delta) this.#say({ k: "tool.args", tool: call, text: delta }, by.agent);
  }

  /** A call is written: it waits to be executed. Arguments may be JSON text or anything that becomes it. */
  toolCall(call: string, name: string, args: unknown, by: By = {}): void {
    const known = this.#call(call);
    if (known.pendingAt !== undefined) return;
    known.pendingAt = performance.now();
    this.endText(by);
    const text = typeof args === "string" ? args : JSON.stringify(plain(args) ?? {});
    this.#say({ k: "tool.call", tool: call, name, arguments: text }, by.agent);
  }

  /** A call begins to be executed. */
  toolExecuting(call: string, by: By = {}): void {
    const known = this.#call(call);
    if (known.executingAt !== undefined || known.isOver) return;
    known.executingAt = performance.now();
    this.#say({ k: "tool.state", tool: call, state: "executing", queued_ms: queuedMs(known) }, by.agent);
  }

  /** What a call gave back. Its latency is that between this and the beginning of its execution. */
  toolResult(call: string, output: unknown, by: By & { isError?: boolean | undefined } = {}): void {
    const known = this.#call(call);
    if (known.isOver) return;
    known.isOver = true;
    const execMs = known.executingAt === undefined ? undefined : Math.round(performance.now() - known.executingAt);
    const isError = by.isError || undefined;
    const event = { tool: call, output: plain(output) ?? "", is_error: isError, queued_ms: queuedMs(known), exec_ms: execMs };
    this.#say({ k: "tool.result", ...event }, by.agent);
  }

  /** A sub-agent begins; what it does is said with its id as `agent`. */
  agentStart(agent: string, options: { name?: string | undefined; parent?: string | undefined; tool?: string | undefined }): void {
    this.#say({ k: "agent.start", name: options.name, parent: options.parent, tool: options.tool }, agent);
  }

  /** A sub-agent is done. */
  agentEnd(agent: string, status: Status = "complete"): void {
    this.endText({ agent });
    this.#say({ k: "agent.end", status }, agent);
  }

  /** Tokens of one more call of the model: they count for the run, and for the sub-agent that is named. */
  usage(tokens: Tokens, by: By = {}): void {
    const { input = 0, output = 0, reasoning = 0, cached = 0 } = tokens;
    const usage = { input_tokens: input, output_tokens: output, reasoning_tokens: reasoning, cached_tokens: cached };
    this.#say({ k: "run.update", usage }, by.agent);
  }

  /** A line about what goes on. */
  status(text: string): void {
    this.#say({ k: "status", text });
  }

  /** Something failed. It does not end the run by itself. */
  error(error: unknown, by: By = {}): void {
    const [code, message] = error instanceof Error ? [error.name, error.message] : ["error", String(error)];
    this.#say({ k: "error", code, message }, by.agent);
  }

  /** The run is over, and with it what is open in it. */
  end(status: Status = "complete", finishReason?: string): void {
    if (this.isOver) return;
    this.isOver = true;
    for (const agent of [...this.#open.keys()]) this.endText({ agent });
    this.#say({ k: "run.end", status, finish_reason: finishReason });
  }

  /** The run was not over yet. */
  goOn(): void {
    if (!this.isOver) return;
    this.isOver = false;
    this.#say({ k: "run.start", model: this.#model });
  }

  /** The run is over with an error. */
  fail(error: unknown): void {
    this.error(error);
    this.end("error");
  }
}

function queuedMs(call: Call): number | undefined {
  if (call.pendingAt === undefined || call.executingAt === undefined) return undefined;
  return Math.round(call.executingAt - call.pendingAt);
}

/** `value` as far as JSON can say it, else its text. */
export function plain(value: unknown): unknown {
  try {
    JSON.stringify(value);
    return value;
  } catch {
    return String(value);
  }
}
