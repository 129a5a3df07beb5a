import { once } from "node:events";
import { connect, type Socket } from "node:net";

/** A request with a body, of which the first half is sent. */
export interface HalfRequest {
  method: string;
  path: string;
  headers: Record<string, string>;
  body: Buffer;
  /** Whether the body has a declared length, or is sent in chunks. */
  framing: "length" | "chunks";
}

/** A connection whose request waits for its other half. */
export interface OpenRequest {
  /** The status of an answer that comes before the other half; waits for ever where none comes. */
  readonly answered: Promise<number>;
  /** Ends the connection by FIN or by RST. */
  cut(how: "closed" | "reset"): Promise<void>;
}

/** The bytes of an answer up to its status. */
const STATUS_LINE = 16;

/** Sends half of a request over HTTP/1.1. */
export async function sendHalf(
  url: string,
  { method, path, headers, body, framing }: HalfRequest,
): Promise<OpenRequest> {
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
  await write(
    socket,
    [`${method} ${path} HTTP/1.1`, `host: ${host}`, ...fields, length, "", ""].join("\r\n"),
  );
  const half = body.subarray(0, body.length >> 1);
  if (framing === "length") await write(socket, half);
  else {
    // A chunk that is whole, and one that is not.
    const whole = half.length >> 1;
    await write(socket, `${whole.toString(16)}\r\n`);
    await write(socket, half.subarray(0, whole));
    await write(socket, `\r\n${(body.length - whole).toString(16)}\r\n`);
    await write(socket, half.subarray(whole));
  }
  return {
    answered,
    cut: async (how) => {
      if (socket.closed) return;
      const closed = once(socket, "close");
      if (how === "reset") socket.resetAndDestroy();
      else socket.end();
      await closed;
    },
  };
}

function write(socket: Socket, bytes: string | Uint8Array): Promise<void> {
  return new Promise((resolve) => {
    socket.write(bytes, () => resolve());
  });
}
