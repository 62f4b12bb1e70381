// How long a client waits before it connects again.

const FIRST_MS = 500;
const LONGEST_MS = 30_000;

/** The wait before attempt `attempt` (from 1): doubling, of which a random half is left out. */
export function waitMs(attempt: number): number {
  const half = Math.min(FIRST_MS * 2 ** Math.min(Math.max(attempt - 1, 0), 16), LONGEST_MS) / 2;
  return Math.floor(half + Math.random() * half);
}

/** The wait that a hub asked for, with up to the same again at random. */
export function askedMs(retryMs: number): number {
  const least = Math.min(retryMs, LONGEST_MS);
  return Math.floor(least + Math.random() * least);
}

/** Whether a client comes back after a close with this code. */
export function mayReconnect(code: number): boolean {
  return code < 4500;
}
