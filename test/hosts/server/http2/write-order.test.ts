import { Duplex } from "node:stream";
import { expect, test } from "vitest";
import { Http2Connection } from "../../../../src/http2/connection.ts";
import { FRAME, framesIn, PREFACE } from "../http2-frames.ts";
import { get, LIMITS } from "./connected.ts";

/** A connection whose writes are recorded. */
function open() {
  const written: Buffer[] = [];
  const socket = new Duplex({
    read() {},
    write(bytes: Buffer, _, done) {
      written.push(bytes);
      done();
    },
  });
  const connection = new Http2Connection(socket, LIMITS, {
    request: (stream) => stream.respond({ status: 200, headers: {}, body: Buffer.from("a") }),
    reset: () => {},
    flooded: () => {},
    failed: () => {},
  });
  return { socket, connection, frames: () => [...framesIn(Buffer.concat(written))] };
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

test("two reads of a connection in one turn are answered in their order", async () => {
  const { socket, frames } = open();
  socket.emit("data", Buffer.concat([PREFACE, get(1)]));
  socket.emit("data", get(3));
  socket.emit("data", get(5));
  await turn();
  const answered = frames().filter(({ type }) => type === FRAME.headers);
  expect(answered.map(({ stream }) => stream)).toEqual([1, 3, 5]);
});

test("a connection that ends after an answer writes the answer first", async () => {
  const { socket, connection, frames } = open();
  socket.emit("data", Buffer.concat([PREFACE, get(1)]));
  connection.end(0);
  await turn();
  expect(
    frames()
      .slice(-3)
      .map(({ type }) => type),
  ).toEqual([FRAME.headers, FRAME.data, FRAME.goaway]);
});
