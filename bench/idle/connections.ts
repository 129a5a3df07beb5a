import { connect, type TLSSocket } from "node:tls";
import {
  END_HEADERS,
  END_STREAM,
  FRAME,
  frame,
  framesIn,
  PREFACE,
} from "../../test/hosts/server/http2-frames.ts";
import { queryOf } from "../worlds/asked.ts";

const AT_ONCE = 50;
const ACKNOWLEDGEMENT = frame(FRAME.settings, 1, 0);
const PATH = `/dns-query?dns=${Buffer.from(queryOf(0)).toString("base64url")}`;
/**
 * GET, https, the authority `a`, and the path, without an index and Huffman codes (RFC 7541 section 6.2.2).
 */
const FIELDS = Buffer.concat([
  Buffer.from([0x82, 0x87, 0x41, 1, 0x61, 0x04, PATH.length]),
  Buffer.from(PATH),
]);
const REQUEST = Buffer.concat([
  PREFACE,
  ACKNOWLEDGEMENT,
  frame(FRAME.headers, END_HEADERS | END_STREAM, 1, FIELDS),
]);

/** Opens connections over HTTP/2, each of which had the answer to one query. @throws where one is rejected */
export async function openConnections(port: number, ca: string, count: number): Promise<TLSSocket[]> {
  const opened: TLSSocket[] = [];
  while (opened.length < count) {
    const more = Array.from({ length: Math.min(AT_ONCE, count - opened.length) }, () => open(port, ca));
    opened.push(...(await Promise.all(more)));
  }
  return opened;
}

function open(port: number, ca: string): Promise<TLSSocket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: "127.0.0.1", port, ca, ALPNProtocols: ["h2"] });
    let received = Buffer.alloc(0);
    const take = (part: Buffer) => {
      received = Buffer.concat([received, part]);
      if (![...framesIn(received)].some(({ type }) => type === FRAME.headers)) return;
      socket.off("data", take);
      socket.resume();
      resolve(socket);
    };
    socket.on("data", take);
    socket.on("error", reject);
    socket.on("close", () => reject(new Error("the server closed a connection")));
    socket.write(REQUEST);
  });
}
