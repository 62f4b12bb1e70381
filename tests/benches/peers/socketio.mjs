// The peer `socket.io`: a room for each conversation. Copied beside its node_modules by the bench; argument 1 is the
// port.
import { createServer } from "node:http";
import { Server } from "socket.io";

const http = createServer();
const io = new Server(http, {
  transports: ["websocket"],
  perMessageDeflate: false,
  httpCompression: false,
  serveClient: false,
});

io.on("connection", (socket) => {
  const name = socket.handshake.query.c;
  if (name === undefined) {
    socket.on("pub", (conversation, event) => io.to(conversation).emit("e", event));
    return;
  }
  socket.join(name);
  socket.emit("ready");
});
http.listen({ host: "127.0.0.1", port: Number(process.argv[2]), backlog: 4096 }, () => console.log("listening"));
