/** Node's HTTP/2 server and nothing else: every request gets the same bytes. */
import { createSecureServer } from "node:http2";
import { readFixedAnswer } from "./fixed-answer.ts";

const { port, tls, headers, body } = readFixedAnswer();
const fields = { ":status": 200, ...headers };
const server = createSecureServer(tls);
server.on("stream", (stream, request) => {
  const respond = () => {
    stream.respond(fields);
    stream.end(body);
  };
  if (request[":method"] === "GET") respond();
  else stream.resume().once("end", respond);
});
server.listen(port, "127.0.0.1");
