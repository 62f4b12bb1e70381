// Prints what an agent says as it says it, until its run ends. Usage: node subscribe.mjs CONVERSATION
import { formatPosition, Subscription } from "fanlight";
import { WebSocket } from "./websocket.mjs";

const subscription = new Subscription(process.argv[2], { WebSocket });
let text = "";
let shown = "";

/** Prints what `text` has beyond `shown`, which is printed already. */
function show() {
  // A hub that crashed may have less than it had shown. The publisher sends the rest again.
  if (shown.startsWith(text)) return;
  if (!text.startsWith(shown)) {
    // What comes in the place of the rest is something else: print it from its beginning.
    process.stdout.write("\n");
    shown = "";
  }
  process.stdout.write(text.slice(shown.length));
  shown = text;
}

for await (const event of subscription) {
  if (event.k === "snapshot") {
    // It stands for everything before it.
    const runs = Object.values(event.state.runs);
    text = runs.flatMap((run) => Object.values(run.parts).map((part) => part.text)).join("");
    show();
    if (runs.some((run) => run.status !== "running")) break;
  } else if (event.k === "part.delta") {
    text += event.text;
    show();
  } else if (event.k === "run.end") {
    break;
  }
}
console.error(`\nat ${formatPosition(subscription.position)}, ${subscription.connections} connections`);
