import { connect, type TLSSocket } from "node:tls";
import {
  END_HEADERS,
  END_STREAM,
  FRAME,
  frame,
  framesIn,
  getHeaders,
  PREFACE,
} from "../../test/hosts/server/http2-frames.ts";

const AT_ONCE = 50;
const ACKNOWLEDGEMENT = frame(FRAME.settings, 1, 0);
const REQUEST = Buffer.concat([
  PREFACE,
  ACKNOWLEDGEMENT,
  frame(FRAME.headers, END_HEADERS | END_STREAM, 1, getHeaders()),
]);

/** Opens connections over HTTP/2, each of which had one response. @throws where one is rejected */
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
