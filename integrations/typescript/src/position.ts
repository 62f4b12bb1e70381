// Where something stands in a conversation.

import type { Position } from "./types.js";

export type { Position };

/** A position as it is written: `EPOCH:SEQ`. */
export function formatPosition(position: Position): string {
  return `${position.epoch}:${position.seq}`;
}

/** The position that `text` holds. */
export function parsePosition(text: string): Position {
  const match = /^(.+):(\d+)$/s.exec(text);
  if (!match) throw new RangeError(`${JSON.stringify(text.slice(0, 80))} is not a position, which is written EPOCH:SEQ`);
  return { epoch: match[1]!, seq: Number(match[2]) };
}
