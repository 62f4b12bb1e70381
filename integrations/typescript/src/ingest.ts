// Streams in a vendor's own format, as they are: the hub decodes them while they arrive.

import { type HubOptions } from "./address.js";
import { addressOf, urlOf } from "./address.js";
import { Refused, Unreachable } from "./errors.js";
import type { Durability, Position } from "./types.js";

/** What the hub has taken of a stream. */
export interface Taken {
  /** Where the conversation stands with it. */
  position: Position;
  /** How many events it became. */
  events: number;
  /** How much of it was odd. */
  anomalies: number;
  /** What the answer means. */
  durability: Durability;
}

/** How to pass a stream on. */
export interface IngestOptions extends HubOptions {
  /** The run that it is one step of, which other streams may continue. */
  run?: string | undefined;
  durability?: Durability | undefined;
  signal?: AbortSignal | undefined;
}

/**
 * Posts the stream `body` in `dialect` while it is made; done when it has ended and the hub has it. A stream has no numbers:
 * one that breaks off (`Unreachable`) leaves what came, and its run is interrupted. It is not tried again: what was sent is
 * gone from `body`, and the hub could not tell what it has of it. Where the network or the hub may go away, say events with
 * `Publisher`. Browsers need HTTP/2 to post what is still being made; give them the whole.
 */
export async function ingest(
  dialect: string,
  conversation: string,
  body: string | Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array> | AsyncIterable<string | Uint8Array>,
  options: IngestOptions = {},
): Promise<Taken> {
  // No socket is opened, so none is needed.
  const address = addressOf({ WebSocket: class {} as never, ...options });
  const headers: Record<string, string> = { "content-type": "application/octet-stream" };
  if (options.run !== undefined) headers["fanlight-run"] = options.run;
  if (options.durability !== undefined) headers["fanlight-durability"] = options.durability;
  const whole = typeof body === "string" || body instanceof Uint8Array || body instanceof ReadableStream;
  const request: RequestInit & { duplex: "half" } = {
    method: "POST",
    headers,
    body: whole ? body : streamOf(body),
    duplex: "half",
    signal: options.signal ?? null,
  };
  let answer: Response;
  try {
    answer = await address.fetch(urlOf(address, "ingest", dialect, conversation), request);
  } catch (error) {
    throw new Unreachable(`${address.url}: ${String((error as Error).cause ?? error)}`);
  }
  const said = (await answer.json().catch(() => ({}))) as Taken & { code?: string; detail?: string };
  if (!answer.ok) throw new Refused(said.code ?? String(answer.status), said.detail ?? answer.statusText);
  return said;
}

function streamOf(pieces: AsyncIterable<string | Uint8Array>): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  const source = pieces[Symbol.asyncIterator]();
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { done, value } = await source.next();
      if (done) controller.close();
      else controller.enqueue(typeof value === "string" ? encoder.encode(value) : value);
    },
    async cancel() {
      await source.return?.();
    },
  });
}
