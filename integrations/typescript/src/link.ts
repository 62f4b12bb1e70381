// One WebSocket to a hub, from the handshake to the close.

import type { Address, Socket } from "./address.js";
import { mayReconnect } from "./backoff.js";
import { Closed, Lost } from "./errors.js";
import type { ClientFrame, ServerFrame, WelcomeFrame } from "./types.js";

const SUBPROTOCOL = "fanlight.v1";
const CLIENT = "fanlight-typescript/0.1.0";

/** How long the handshake, `hello` and `welcome` included, may take. */
const OPEN_TIMEOUT_MS = 10_000;

/** Added to two heartbeats before a silent socket counts as dead: the hub may be busy. */
const SILENCE_GRACE_MS = 10_000;

/** An open socket on which both sides have said hello. */
export class Link {
  welcome!: WelcomeFrame;
  #socket: Socket;
  #frames: ServerFrame[] = [];
  #failure: Error | undefined;
  #wake: (() => void) | undefined;
  #askedMs: number | undefined;
  #silence: ReturnType<typeof setTimeout> | undefined;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.onmessage = (event: never) => this.#heard((event as { data: unknown }).data);
    socket.onclose = (event: never) => this.#closed(event as { code: number; reason: string });
    // A close follows, and says as much as there is to say.
    socket.onerror = () => {};
  }

  /** Connects and says hello. Throws `Lost` where it may work later, else `Closed`. */
  static async open(address: Address): Promise<Link> {
    const socket = new address.WebSocket(address.socketUrl, SUBPROTOCOL);
    const link = new Link(socket);
    const timer = setTimeout(() => link.#fail(new Lost("the hub does not answer the handshake")), OPEN_TIMEOUT_MS);
    socket.onopen = () => link.send({ t: "hello", versions: ["1"], client: CLIENT });
    try {
      const welcome = await link.receive();
      if (welcome.t !== "welcome") throw new Lost(`the hub began with ${welcome.t} instead of welcome`);
      link.welcome = welcome;
      link.#listen();
      return link;
    } catch (error) {
      link.abort();
      throw error;
    } finally {
      clearTimeout(timer);
    }
  }

  /** Sends one frame. Where the socket is gone, `receive` says why. */
  send(frame: ClientFrame): void {
    this.sendText(JSON.stringify(frame));
  }

  /** The same with what is written already. */
  sendText(text: string): void {
    if (this.#failure || this.#socket.readyState !== 1) return;
    this.#socket.send(text);
  }

  /** Bytes that were sent and are not on their way yet. */
  get buffered(): number {
    return this.#socket.bufferedAmount;
  }

  /** The next frame. Throws `Lost` or `Closed` when there is none any more. */
  async receive(): Promise<ServerFrame> {
    for (;;) {
      const frame = this.#frames.shift();
      if (frame) return frame;
      if (this.#failure) throw this.#failure;
      await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }

  /** Closes in good order. */
  close(): void {
    this.#fail(new Closed(0, "closed"));
  }

  /** Lets go of the socket. */
  abort(): void {
    this.#fail(new Lost("given up"));
  }

  #heard(text: unknown): void {
    if (this.#failure) return;
    // Binary frames are for later versions.
    if (typeof text !== "string") return;
    this.#listen();
    let frame: ServerFrame;
    try {
      frame = JSON.parse(text) as ServerFrame;
    } catch (error) {
      this.#fail(new Lost(`the hub sent nonsense: ${String(error)}`));
      return;
    }
    if (frame.t === "bye") {
      if (!frame.reconnect) this.#fail(new Closed(frame.code, frame.reason));
      else this.#askedMs = frame.retry_ms;
    }
    this.#frames.push(frame);
    this.#wake?.();
  }

  #listen(): void {
    clearTimeout(this.#silence);
    if (!this.welcome || this.#failure) return;
    const patience = this.welcome.hb_ms * 2 + SILENCE_GRACE_MS;
    this.#silence = setTimeout(() => this.#fail(new Lost("the hub has fallen silent")), patience);
  }

  #closed({ code, reason }: { code: number; reason: string }): void {
    const final = code >= 4000 && !mayReconnect(code);
    this.#fail(final ? new Closed(code, reason) : new Lost(`closed: ${code} ${reason}`.trim(), this.#askedMs));
  }

  #fail(failure: Error): void {
    clearTimeout(this.#silence);
    if (this.#failure) return;
    this.#failure = failure;
    try {
      this.#socket.close();
    } catch {
      // One that never opened cannot be closed, and need not be.
    }
    this.#wake?.();
  }
}
