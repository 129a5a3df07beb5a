/** TLS and nothing else: every connection gets the frame that ends an HTTP/2 response, whatever it sends. */
import { createServer } from "node:tls";
import { readFixedAnswer } from "../cpu/fixed-answer.ts";

const HEADERS = Buffer.from([0, 0, 0, 1, 5, 0, 0, 0, 1]);
const { port, tls } = readFixedAnswer();
const server = createServer({ ...tls, ALPNProtocols: ["h2"] }, (socket) => {
  socket.on("error", () => {});
  socket.on("data", () => socket.write(HEADERS));
});
server.listen(port, "127.0.0.1");
