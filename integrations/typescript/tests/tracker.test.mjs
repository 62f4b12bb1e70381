// Which frames count: gaps, doubles, snapshots in pieces, texts that have drifted.
import assert from "node:assert/strict";
import { test } from "node:test";
import { formatPosition, parsePosition } from "fanlight";
import { Hash, Tracker } from "../dist/tracker.js";

const octets = (text) => new TextEncoder().encode(text);
function hash(text) {
  const hash = new Hash();
  hash.add(octets(text));
  return hash.hex();
}

const subbed = (epoch = "e", mode = "tail", head = 0) => ({ t: "subbed", sub: 1, epoch, mode, head });
const batch = (from, to, ...ev) => ({ t: "batch", sub: 1, from, to, ts: 0, ev });
const snap = (seq, state = {}, epoch = "e", more = false) => ({
  t: "snap", sub: 1, epoch, seq, more, state: { items: [], messages: {}, runs: {}, ...state },
});
const start = { k: "part.start", run: "r", part: "p", kind: "text" };
const delta = (text, off) => ({ k: "part.delta", run: "r", part: "p", text, off });
const end = (text) => ({ k: "part.end", run: "r", part: "p", len: octets(text).length, hash: hash(text) });

function takes(tracker, ...frames) {
  return frames.map((frame) => tracker.take(frame));
}

test("the tracker applies what follows and nothing else", () => {
  const tracker = new Tracker();
  const outcomes = takes(tracker, subbed(), batch(1, 3), batch(2, 3), batch(5, 6), batch(4, 3), batch(4, 6));
  assert.deepEqual(outcomes, ["subscribed", "applied", "nothing", "gap", "applied", "applied"]);
  assert.deepEqual(tracker.position(), { epoch: "e", seq: 6 });
  tracker.disconnected();
  assert.deepEqual(takes(tracker, batch(7, 7), subbed("e", "tail", 7), batch(7, 7)), ["gap", "subscribed", "applied"]);
});

test("the tracker goes on in another epoch only from its snapshot", () => {
  const tracker = new Tracker();
  assert.deepEqual(takes(tracker, subbed(), batch(1, 3), subbed("f", "snapshot"), batch(4, 4)).at(-1), "gap");
  assert.deepEqual(tracker.position(), { epoch: "e", seq: 3 });
  assert.deepEqual(takes(tracker, snap(9, {}, "f"), batch(10, 10)), ["replaced", "applied"]);
  assert.deepEqual(tracker.position(), { epoch: "f", seq: 10 });
});

test("the tracker puts a snapshot in pieces together", () => {
  const tracker = new Tracker();
  const first = snap(8, { items: [{ run: "a" }], runs: { a: {} }, title: "T" }, "e", true);
  const outcomes = takes(tracker, subbed("e", "snapshot", 8), first, snap(8, { items: [{ run: "b" }], runs: { b: {} } }));
  assert.deepEqual(outcomes, ["subscribed", "piece", "replaced"]);
  const { items, runs, title } = tracker.state;
  assert.deepEqual([items, Object.keys(runs), title], [[{ run: "a" }, { run: "b" }], ["a", "b"], "T"]);
});

test("the tracker is live where it has what there was", () => {
  const tracker = new Tracker();
  const live = { t: "live", sub: 1, seq: 2 };
  assert.deepEqual(takes(tracker, subbed("e", "tail", 2), live, batch(1, 2), live), ["subscribed", "gap", "applied", "live"]);
});

test("the tracker tells once that a text has drifted", () => {
  const tracker = new Tracker();
  tracker.take(subbed());
  assert.equal(tracker.take(batch(1, 3, start, delta("é", 0), end("é"))), "applied");
  assert.equal(tracker.take(batch(4, 6, start, delta("a", 0), end("b"))), "drift");
  assert.equal(tracker.take(batch(7, 9, start, delta("a", 0), end("b"))), "applied");
  assert.equal(tracker.take(batch(10, 13, start, delta("ab", 0), delta("bc", 1), end("abc"))), "applied");
});

test("the tracker follows a text from the snapshot on", () => {
  const tracker = new Tracker();
  const body = { text: "ab", len: 2, hash: hash("ab") };
  takes(tracker, subbed("e", "snapshot"), snap(5, { runs: { r: { open: [{ part: "p" }], parts: { p: body } } } }));
  assert.equal(tracker.take(batch(6, 7, delta("c", 2), end("abc"))), "applied");
});

test("the tracker hears that it is dead over two heartbeats", () => {
  const tracker = new Tracker();
  takes(tracker, subbed(), batch(1, 3));
  assert.deepEqual([1, 2, 3].map(() => tracker.heartbeat(["e", 5])), [false, true, false]);
});

test("the hash is that of the hub", () => {
  assert.equal(hash(""), "cbf29ce484222325");
  assert.equal(hash("a"), "af63dc4c8601ec8c");
  assert.equal(hash("foobar"), "85944171f73967e8");
  const step = (value, octet) => ((value ^ BigInt(octet)) * 0x100000001b3n) & 0xffffffffffffffffn;
  const long = octets("The quick brown fox ☀ ".repeat(50));
  const told = new Hash();
  told.add(long);
  assert.equal(told.hex(), long.reduce(step, 0xcbf29ce484222325n).toString(16).padStart(16, "0"));
});

test("a position is written as it is read", () => {
  assert.equal(formatPosition(parsePosition("k3v9:1041")), "k3v9:1041");
  for (const text of ["", "k3v9", ":1", "a:", "a:-1"]) assert.throws(() => parsePosition(text), RangeError);
});
