import { once } from "node:events";
import { connect } from "node:net";

/** A request with a body, of which the first half is sent. */
export interface HalfRequest {
  method: string;
  path: string;
  headers: Record<string, string>;
  body: Buffer;
  /** Whether the body has a declared length, or is sent in chunks. */
  framing: "length" | "chunks";
}

/** The bytes of an answer up to its status. */
const STATUS_LINE = 16;

/** Sends half of a request over HTTP/1.1. */
export async function sendHalf(url: string, { method, path, headers, body, framing }: HalfRequest) {
  const { hostname, port, host } = new URL(url);
  const socket = connect(Number(port), hostname);
  socket.on("error", () => {}); // the server may end it first
  const answered = new Promise<number>((resolve) => {
    let head = "";
    socket.on("data", (part: Buffer) => {
      head = (head + part.toString("latin1")).slice(0, STATUS_LINE);
      const [, status] = /^HTTP\/1\.1 (\d{3}) /.exec(head) ?? [];
      if (status !== undefined) resolve(Number(status));
    });
  });
  await once(socket, "connect");
  const length = framing === "length" ? `content-length: ${body.length}` : "transfer-encoding: chunked";
  const fields = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  const head = [`${method} ${path} HTTP/1.1`, `host: ${host}`, ...fields, length, "", ""].join("\r\n");
  const half = body.subarray(0, body.length >> 1);
  // A chunk that is whole, and one that is not.
  const whole = half.length >> 1;
  const chunks = [`${whole.toString(16)}\r\n`, half.subarray(0, whole)];
  const cutOff = [`\r\n${(body.length - whole).toString(16)}\r\n`, half.subarray(whole)];
  const parts = framing === "length" ? [head, half] : [head, ...chunks, ...cutOff];
  await new Promise((resolve) =>
    socket.write(Buffer.concat(parts.map((part) => Buffer.from(part))), resolve),
  );
  return {
    /** The status of an answer that comes before the other half; waits for ever where none comes. */
    answered,
    /** Ends the connection by FIN or by RST. */
    cut: async (how: "closed" | "reset") => {
      if (socket.closed) return;
      const closed = once(socket, "close");
      if (how === "reset") socket.resetAndDestroy();
      else socket.end();
      await closed;
    },
  };
}
