// Publish what an agent does to a Fanlight hub, exactly once, and watch it.
//
// `Publisher` says events, `Run` says what an agent does in events, `ingest` passes a vendor's stream on, `subscribe` watches.
// The adapters of frameworks are entries of their own: `fanlight/adapters/ai-sdk`, `fanlight/adapters/langchain`.

export type { HubOptions, Socket, SocketClass } from "./address.js";
export {
  BufferFull,
  Closed,
  EventTooLarge,
  FanlightError,
  Fenced,
  Refused,
  Undelivered,
  Unreachable,
} from "./errors.js";
export { ingest, type IngestOptions, type Taken } from "./ingest.js";
export { formatPosition, parsePosition } from "./position.js";
export { type News, Publisher, type PublisherOptions, type Standing } from "./publisher.js";
export { type By, type Offers, Run, type RunOptions, type Status, type Tokens, Voice } from "./run.js";
export { subscribe, Subscription, type SubscriptionOptions } from "./subscription.js";
export type * from "./types.js";
