// Tells a hub what an agent does, each event exactly once. Usage: node publish.mjs CONVERSATION [STEPS]
import { setTimeout as pause } from "node:timers/promises";
import { formatPosition, Publisher } from "fanlight";
import { WebSocket } from "./websocket.mjs";

const [conversation, steps = "100"] = process.argv.slice(2);
const run = "r1";
const publisher = new Publisher(conversation, { durability: "stored", WebSocket });
await publisher.publish(
  { k: "run.start", run, name: "counter", model: "none" },
  { k: "part.start", run, part: "p1", kind: "text" },
);
for (let step = 1; step <= Number(steps); step += 1) {
  await publisher.publish({ k: "part.delta", run, part: "p1", text: `${step} ` });
  await pause(5);
}
await publisher.publish({ k: "part.end", run, part: "p1" }, { k: "run.end", run, status: "complete" });
const { acked, offered, position } = await publisher.close();
console.log(`${acked} of ${offered} events are at ${formatPosition(position)}`);
