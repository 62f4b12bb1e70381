// What the project's own package does at its borders. The program says itself what is wrong.
//
// Usage: node behaves.mjs HUB          against a hub with a log on disk
//        node behaves.mjs HUB memory   against one without, that dies and comes back when this program says `ready`
//        node behaves.mjs HUB changed  against one whose words are changed on their way, once this program has said `ready`
import assert from "node:assert/strict";
import { once } from "node:events";
import { formatPosition, Publisher, Subscription } from "fanlight";
import { WebSocket } from "./websocket.mjs";

const [url, mode] = process.argv.slice(2);
const hub = { url, WebSocket };
const status = (number) => ({ k: "status", text: `${number}`, run: "r" });
const range = (from, to) => Array.from({ length: to - from }, (_, index) => from + index);

async function isFencedOffByALaterLife() {
  const first = new Publisher("fenced", { ...hub, publisher: "one", life: 7 });
  await first.publish(status(1));
  await first.flush(30_000);
  const second = new Publisher("fenced", { ...hub, publisher: "one", life: 8 });
  await second.publish(status(2));
  await second.close();
  await first.publish(status(3));
  await assert.rejects(first.close(), { name: "Fenced" });
}

async function isToldWhatTheHubDoesNotTake() {
  const publisher = new Publisher("refused", hub);
  await publisher.publish({ k: "part.delta", run: "r" });
  await assert.rejects(publisher.close(), { name: "Refused", code: "bad_event" });
}

async function sendsWhatNoFrameHolds() {
  const publisher = new Publisher("large", { ...hub, durability: "synced" });
  const run = "r";
  await publisher.publish({ k: "run.start", run }, { k: "tool.call", run, tool: "t", name: "read" });
  await publisher.publish({ k: "tool.result", run, tool: "t", output: "é".repeat(1 << 20) });
  await publisher.publish({ k: "run.end", run, status: "complete" });
  const { acked, position } = await publisher.close();
  assert.deepEqual([acked, position.seq], [4, 4]);
  for await (const event of new Subscription("large", hub)) {
    assert.equal(event.state.runs.r.tools.t.result_ref.bytes, (2 << 20) + 2);
    break;
  }
}

async function waitsOrSaysSoWhereThereIsNoRoom() {
  const publisher = new Publisher("full", { url: "http://127.0.0.1:9", WebSocket, waitingBytesMax: 1_000 });
  let taken = 0;
  assert.throws(() => { for (; taken < 100; taken += 1) publisher.offer(status(taken)); }, { name: "BufferFull" });
  assert.ok(taken > 10 && taken < 30, `${taken}`);
  const waiting = publisher.publish(status(0)).then(() => "taken", (error) => error.name);
  await assert.rejects(publisher.flush(100), { name: "Undelivered", count: taken });
  publisher.stop();
  assert.equal(await waiting, "Closed");
}

async function goesOnWhereAnotherViewerStood() {
  const publisher = new Publisher("resumed", hub);
  await publisher.publish(...range(0, 10).map(status));
  await publisher.flush(30_000);
  const first = new Subscription("resumed", hub);
  for await (const frame of first.frames()) if (frame.t === "live") break;
  await publisher.publish(...range(10, 20).map(status));
  const seen = [];
  for await (const event of new Subscription("resumed", { ...hub, have: formatPosition(first.position) })) {
    seen.push(Number(event.text));
    if (seen.at(-1) === 19) break;
  }
  assert.deepEqual(seen, range(10, 20));
  await publisher.close();
}

async function seesWholeTextsAloneWhereItAsksForThem() {
  const publisher = new Publisher("parts", hub);
  const run = "r";
  const seen = [];
  let begun = false;
  for await (const frame of new Subscription("parts", { ...hub, level: "parts" }).frames()) {
    if (frame.t === "live" && !begun) {
      begun = true;
      await publisher.publish({ k: "run.start", run }, { k: "part.start", run, part: "p", kind: "text" });
      for (const text of ["one", " two"]) await publisher.publish({ k: "part.delta", run, part: "p", text });
      await publisher.publish({ k: "part.end", run, part: "p" }, { k: "run.end", run, status: "complete" });
    }
    if (frame.t !== "batch") continue;
    seen.push(...frame.ev);
    if (frame.ev.some((event) => event.k === "run.end")) break;
  }
  assert.deepEqual(seen.filter((event) => event.k === "part.replace").map((event) => event.text), ["one two"]);
  assert.ok(!seen.some((event) => event.k === "part.delta"));
  await publisher.close();
}

async function endsItsIterationWhenItIsClosed() {
  const ended = new AbortController();
  const subscription = new Subscription("resumed", { ...hub, signal: ended.signal });
  for await (const frame of subscription.frames()) if (frame.t === "live") ended.abort();
}

async function tellsAHubThatForgotEverythingAgain() {
  const told = [];
  const publisher = new Publisher("forgetful", { ...hub, durability: "memory", onNews: (news) => told.push(news.what) });
  await publisher.publish(...range(0, 100).map(status));
  await publisher.flush(30_000);
  console.log("ready");
  await once(process.stdin, "data");
  process.stdin.destroy();
  await publisher.publish(...range(100, 200).map(status));
  const { acked, missing, position } = await publisher.close(60_000);
  assert.deepEqual([acked, missing, position.seq], [200, 0, 200]);
  assert.equal(told.filter((what) => what === "connected").length, 2);
  const more = new Publisher("forgetful", { ...hub, durability: "stored" });
  await more.publish(status(0));
  await assert.rejects(more.close(), { name: "Refused", code: "durability_unavailable" });
}

async function noticesATextThatWasChangedOnItsWay() {
  let text = "";
  for await (const event of new Subscription("changed", hub)) {
    if (event.k === "part.delta") {
      text += event.text;
      assert.equal(text, "a bogus! word");
    } else if (event.k === "snapshot" && event.state.runs.r) {
      assert.ok(text, "the snapshot came before it was asked for");
      assert.equal(event.state.runs.r.parts.p.text, "a honest word");
      break;
    } else if (event.k === "snapshot") {
      console.log("ready");
    }
  }
}

if (mode === "memory") {
  await tellsAHubThatForgotEverythingAgain();
} else if (mode === "changed") {
  await noticesATextThatWasChangedOnItsWay();
} else {
  await isFencedOffByALaterLife();
  await isToldWhatTheHubDoesNotTake();
  await sendsWhatNoFrameHolds();
  await waitsOrSaysSoWhereThereIsNoRoom();
  await goesOnWhereAnotherViewerStood();
  await seesWholeTextsAloneWhereItAsksForThem();
  await endsItsIterationWhenItIsClosed();
}
