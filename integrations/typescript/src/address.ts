// Where a hub is, and what sockets and requests are made with.

/** As much of a browser's WebSocket class as is used. */
export interface Socket {
  readonly protocol: string;
  readonly readyState: number;
  readonly bufferedAmount: number;
  onopen: ((event: never) => unknown) | null;
  onmessage: ((event: never) => unknown) | null;
  onclose: ((event: never) => unknown) | null;
  onerror: ((event: never) => unknown) | null;
  send(text: string): void;
  close(code?: number, reason?: string): void;
}

/** A class of sockets: the one of browsers and of Node since 22, else that of `undici` or `ws`. */
export type SocketClass = new (url: string, protocols?: string | string[]) => Socket;

/** Which hub. */
export interface HubOptions {
  /** Its base URL; without it the environment's `FANLIGHT_URL`, the page's own hub, or the hub of this machine. */
  url?: string | undefined;
  /** The class of sockets where there is no global one. */
  WebSocket?: SocketClass | undefined;
  /** What posts, in place of the global `fetch`. */
  fetch?: typeof globalThis.fetch | undefined;
}

/** The options, completed. */
export interface Address {
  url: string;
  socketUrl: string;
  WebSocket: SocketClass;
  fetch: typeof globalThis.fetch;
}

const DEFAULT_URL = "http://127.0.0.1:4600";

interface Surroundings {
  process?: { env?: Record<string, string | undefined> };
  location?: { protocol: string; origin: string };
  WebSocket?: SocketClass;
}

/** Completes what was given. */
export function addressOf(options: HubOptions): Address {
  const around = globalThis as unknown as Surroundings;
  const page = around.location?.protocol.startsWith("http") ? around.location.origin : undefined;
  const url = (options.url ?? around.process?.env?.["FANLIGHT_URL"] ?? page ?? DEFAULT_URL).replace(/\/+$/, "");
  if (!/^https?:\/\/[^/]/.test(url)) throw new TypeError(`${JSON.stringify(url)} is not the http address of a hub`);
  const WebSocket = options.WebSocket ?? around.WebSocket;
  if (!WebSocket) {
    throw new TypeError("there is no global WebSocket here: give one as the option WebSocket (for one that of undici)");
  }
  const fetch = options.fetch ?? ((input, init) => globalThis.fetch(input, init));
  return { url, socketUrl: `ws${url.slice("http".length)}/v1/ws`, WebSocket, fetch };
}

/** The URL of a path of the interface, each segment escaped. */
export function urlOf(address: { url: string }, ...segments: string[]): string {
  return `${address.url}/v1/${segments.map(encodeURIComponent).join("/")}`;
}
