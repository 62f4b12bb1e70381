// The peer `ws`: whatever is published to a conversation is sent to each of its viewers. Copied beside its
// node_modules by the bench; argument 1 is the port.
import { WebSocketServer } from "ws";

const conversations = new Map();
const server = new WebSocketServer({
  host: "127.0.0.1",
  port: Number(process.argv[2]),
  perMessageDeflate: false,
  clientTracking: false,
  skipUTF8Validation: true,
  backlog: 4096,
});

function publish(bytes) {
  const end = bytes.indexOf(10);
  const viewers = conversations.get(bytes.latin1Slice(0, end));
  if (viewers === undefined) return;
  const event = bytes.subarray(end + 1);
  for (const viewer of viewers) viewer.send(event, { binary: false });
}

server.on("connection", (socket, request) => {
  socket.on("error", () => {});
  if (request.url === "/pub") {
    socket.on("message", publish);
    return;
  }
  const name = request.url.slice(1);
  if (!conversations.has(name)) conversations.set(name, new Set());
  conversations.get(name).add(socket);
  socket.on("close", () => conversations.get(name).delete(socket));
  socket.send("ready");
});
server.on("listening", () => console.log("listening"));
