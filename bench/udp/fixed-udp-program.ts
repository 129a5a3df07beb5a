/** Node's UDP sockets and nothing else: every query gets the same bytes, with its own ID. */
import { createSocket } from "node:dgram";

const [port, answer] = process.argv.slice(2) as [string, string];
const bytes = Buffer.from(answer, "base64");
const socket = createSocket("udp4");
socket.on("message", (query, client) => {
  const own = Buffer.from(bytes);
  query.copy(own, 0, 0, 2);
  socket.send(own, client.port, client.address);
});
socket.bind(Number(port), "127.0.0.1");
