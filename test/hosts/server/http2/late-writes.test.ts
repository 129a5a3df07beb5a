import { Duplex } from "node:stream";
import { expect, test } from "vitest";
import { Http2Connection } from "../../../../src/hosts/node/server/http2/connection.ts";
import { FRAME, framesIn, PREFACE } from "../http2-frames.ts";
import { get, LIMITS } from "./connected.ts";

/** A connection whose writes are recorded, with the name of each request. */
function open(name: string, events: string[]) {
  const written: Buffer[] = [];
  const socket = new Duplex({
    read() {},
    write(bytes: Buffer, _, done) {
      written.push(bytes);
      if ([...framesIn(bytes)].some(({ type }) => type === FRAME.headers)) events.push(`wrote ${name}`);
      done();
    },
  });
  const connection = new Http2Connection(socket, LIMITS, {
    request: (stream) => {
      events.push(`read ${name}`);
      stream.respond({ status: 200, headers: {}, body: Buffer.from(name) });
    },
    reset: () => {},
    flooded: () => {},
    failed: () => {},
  });
  return { socket, connection, frames: () => [...framesIn(Buffer.concat(written))] };
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

test("all connections with requests are read before their answers are written", async () => {
  const events: string[] = [];
  const one = open("one", events);
  const other = open("other", events);
  one.socket.emit("data", Buffer.concat([PREFACE, get(1)]));
  other.socket.emit("data", Buffer.concat([PREFACE, get(1)]));
  await turn();
  expect(events).toEqual(["read one", "read other", "wrote one", "wrote other"]);
});

test("two reads of a connection in one turn are answered in their order", async () => {
  const { socket, frames } = open("a", []);
  socket.emit("data", Buffer.concat([PREFACE, get(1)]));
  socket.emit("data", get(3));
  socket.emit("data", get(5));
  await turn();
  const answered = frames().filter(({ type }) => type === FRAME.headers);
  expect(answered.map(({ stream }) => stream)).toEqual([1, 3, 5]);
});

test("a connection that ends after an answer writes the answer first", async () => {
  const { socket, connection, frames } = open("a", []);
  socket.emit("data", Buffer.concat([PREFACE, get(1)]));
  connection.end(0);
  await turn();
  expect(
    frames()
      .slice(-3)
      .map(({ type }) => type),
  ).toEqual([FRAME.headers, FRAME.data, FRAME.goaway]);
});

test("a connection whose socket is gone at the end of the turn writes nothing, the others do", async () => {
  const events: string[] = [];
  const gone = open("gone", events);
  const other = open("other", events);
  gone.socket.emit("data", Buffer.concat([PREFACE, get(1)]));
  other.socket.emit("data", Buffer.concat([PREFACE, get(1)]));
  gone.socket.destroy();
  await turn();
  expect(events).toEqual(["read gone", "read other", "wrote other"]);
});
