// The class of sockets: Node has one of its own since 22; before, that of the package undici does.
export const WebSocket = globalThis.WebSocket ?? (await import("undici")).WebSocket;
