// Prints what an agent says as it says it, until its run ends. Usage: node subscribe.mjs CONVERSATION
import { formatPosition, Subscription } from "fanlight";
import { WebSocket } from "./websocket.mjs";

const subscription = new Subscription(process.argv[2], { WebSocket });
let shown = "";
for await (const event of subscription) {
  if (event.k === "snapshot") {
    // It stands for everything before it; what is shown already is its beginning.
    const runs = Object.values(event.state.runs);
    const text = runs.flatMap((run) => Object.values(run.parts).map((part) => part.text)).join("");
    process.stdout.write(text.slice(shown.length));
    shown = text;
    if (runs.some((run) => run.status !== "running")) break;
  } else if (event.k === "part.delta") {
    process.stdout.write(event.text);
    shown += event.text;
  } else if (event.k === "run.end") {
    break;
  }
}
console.error(`\nat ${formatPosition(subscription.position)}, ${subscription.connections} connections`);
