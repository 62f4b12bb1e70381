// What a publisher says next: the ledger, the window, the events as they are sent.
import assert from "node:assert/strict";
import { test } from "node:test";
import { FLIGHTS_MAX, Ledger } from "../dist/ledger.js";
import { encode } from "../dist/publisher.js";
import { Window } from "../dist/window.js";

function connected(offered) {
  const ledger = new Ledger();
  ledger.connected();
  ledger.offer(offered);
  return ledger;
}

test("the ledger numbers events from one and is done when all are acked", () => {
  const ledger = connected(3);
  assert.deepEqual(ledger.send(2), { id: 1, life: 1, first: 1, last: 2 });
  assert.deepEqual(ledger.send(2), { id: 2, life: 1, first: 3, last: 3 });
  assert.equal(ledger.isDue(), false);
  assert.ok(ledger.ack(2), "an ack covers what was sent before");
  assert.ok(ledger.isDone());
});

test("the ledger sends again what was not acked, and asks first", () => {
  const ledger = connected(4);
  ledger.send(2);
  ledger.send(2);
  ledger.ack(1);
  ledger.lost();
  assert.equal(ledger.isDue(), false);
  ledger.connected();
  assert.ok(ledger.asks);
  assert.deepEqual(ledger.send(0), { id: 3, life: 1, first: 3, last: 2 });
  assert.equal(ledger.ack(2), false, "an answer to what was sent before the cut says nothing");
  assert.deepEqual(ledger.send(2), { id: 4, life: 1, first: 3, last: 4 });
});

test("the ledger goes back to what the hub expects, once", () => {
  const ledger = connected(5);
  ledger.send(5);
  ledger.ack(1);
  ledger.lost();
  ledger.connected();
  ledger.send(0);
  assert.equal(ledger.gap(2, 3), 0);
  assert.deepEqual([ledger.acked, ledger.life], [2, 1]);
  assert.deepEqual(ledger.send(3), { id: 3, life: 1, first: 3, last: 5 });
  assert.equal(ledger.gap(2, 1), 0);
  assert.equal(ledger.acked, 2);
});

test("the ledger begins a new life where what is expected is not here any more", () => {
  const ledger = connected(5);
  ledger.send(5);
  ledger.ack(1);
  ledger.forget(4);
  ledger.lost();
  ledger.connected();
  ledger.send(0);
  assert.equal(ledger.gap(2, 1), 4);
  assert.equal(ledger.missing, 4);
  assert.deepEqual(ledger.send(1), { id: 3, life: 2, first: 1, last: 1 });
});

test("the ledger has no more frames under way than it may", () => {
  const ledger = connected(100);
  for (let sent = 0; sent < FLIGHTS_MAX; sent += 1) ledger.send(1);
  assert.equal(ledger.isDue(), false);
  ledger.ack(1);
  assert.ok(ledger.isDue());
});

test("the window gives what fits, and one at least", () => {
  const window = new Window();
  for (const event of ["aaaa", "bb", "é", "dddd"]) window.push(event);
  assert.deepEqual(window.after(0, 10, 1), ["aaaa"]);
  assert.deepEqual(window.after(1, 10, 6), ["bb", "é"]);
  assert.deepEqual(window.after(1, 1, 100), ["bb"]);
  assert.deepEqual([window.bytes(), window.bytesAfter(2), window.bytesAfter(4), window.nextBytes(2)], [16, 8, 0, 3]);
});

test("the window drops what is acked and nothing else", () => {
  const window = new Window();
  for (const event of ["aaaa", "bb", "cc"]) window.push(event);
  window.shrink(0, 2);
  assert.deepEqual([window.beginsAfter, window.after(2, 10, 100), window.bytesAfter(2)], [2, ["cc"], 3]);
  window.dropTo(3);
  assert.deepEqual([window.bytes(), window.beginsAfter], [0, 3]);
  window.push("e");
  assert.deepEqual([window.after(3, 10, 100), window.bytesAfter(3)], [["e"], 2]);
});

test("an event is told when it happened, and half a character is no text", () => {
  assert.ok(JSON.parse(encode({ k: "status", text: "x" })).at > 1_700_000_000_000);
  assert.equal(JSON.parse(encode({ k: "status", text: "x", at: 7 })).at, 7);
  assert.equal(JSON.parse(encode({ k: "status", text: "a\ud83d" })).text, "a\ufffd");
  assert.throws(() => encode({ k: "status", text: "x".repeat(16 << 20) }), { name: "EventTooLarge" });
});
