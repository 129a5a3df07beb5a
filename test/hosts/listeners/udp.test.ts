import { createSocket } from "node:dgram";
import { once } from "node:events";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { QueryCounters } from "../../../src/answer/answer-query.ts";
import { listenUdp, ResponseRateLimit } from "../../../src/hosts/node/listeners/udp.ts";
import { udpTransport } from "../../../src/resolve/message-writer.ts";

/** Of this host, on Linux all of them are its own. */
let addresses: string[] = [];
beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
});
afterEach(() => {
  vi.useRealTimers();
});

const parts = {
  interfaces: () => ({ lo: addresses.map((address) => ({ family: "IPv4", address })) }) as never,
  answer: (query: Uint8Array) => ({ bytes: new Uint8Array(query), outcome: "answer", freshness: 0 }) as const,
  transport: udpTransport(1232),
  rateLimit: new ResponseRateLimit({ answersPerSecond: 0, burst: 1, slip: 0, exempt: [] }),
  counters: new QueryCounters(),
  onError: (error: unknown) => {
    throw error;
  },
};

/**
 * What comes back to a client that takes datagrams from the queried address alone. Undefined where nobody
 * listens there.
 */
async function ask(port: number, host: string): Promise<string | undefined> {
  const socket = createSocket("udp4");
  try {
    // The host answers this source from 127.0.0.1, unless the socket has another address.
    socket.bind(0, "127.0.0.1");
    socket.connect(port, host);
    await once(socket, "connect");
    socket.send("asked");
    const [answer] = await once(socket, "message");
    return String(answer);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ECONNREFUSED") return undefined;
    throw error;
  } finally {
    socket.close();
  }
}

test("a wildcard address answers from each address of the host, and follows those that come and go", async () => {
  addresses = ["127.0.0.11", "127.0.0.12"];
  const { port, stop } = await listenUdp("0.0.0.0", 0, parts);
  try {
    expect(await ask(port, "127.0.0.11")).toBe("asked");
    expect(await ask(port, "127.0.0.12")).toBe("asked");
    expect(await ask(port, "127.0.0.13")).toBeUndefined();
    addresses = ["127.0.0.12", "127.0.0.13", "198.51.100.1"];
    await vi.advanceTimersByTimeAsync(5000);
    await vi.waitFor(async () => expect(await ask(port, "127.0.0.13")).toBe("asked"));
    expect(await ask(port, "127.0.0.12")).toBe("asked");
    expect(await ask(port, "127.0.0.11")).toBeUndefined();
  } finally {
    await stop(0);
  }
  expect(await ask(port, "127.0.0.12")).toBeUndefined();
});

test("an address that another program has is an error, and nothing stays open", async () => {
  addresses = ["127.0.0.11", "127.0.0.12"];
  const other = createSocket("udp4").bind(0, "127.0.0.12");
  await once(other, "listening");
  const { port } = other.address();
  await expect(listenUdp("0.0.0.0", port, parts)).rejects.toMatchObject({ code: "EADDRINUSE" });
  expect(await ask(port, "127.0.0.11")).toBeUndefined();
  other.close();
});

test("a stop waits for answers that come later", async () => {
  let answerLate = () => {};
  const answer = (query: Uint8Array) => {
    const own = new Uint8Array(query);
    return new Promise<ReturnType<typeof parts.answer>>((resolve) => {
      answerLate = () => resolve(parts.answer(own));
    });
  };
  const { port, stop } = await listenUdp("127.0.0.11", 0, { ...parts, answer });
  const answered = ask(port, "127.0.0.11");
  const begun = answerLate;
  await vi.waitFor(() => expect(answerLate).not.toBe(begun));
  const stopped = stop(60_000);
  answerLate();
  expect(await answered).toBe("asked");
  await stopped;
});

test("a datagram that cannot be handled is reported, and the next one is answered", async () => {
  addresses = ["127.0.0.11"];
  const onError = vi.fn();
  const answer = vi.fn(parts.answer).mockImplementationOnce(() => {
    throw new Error("a bug");
  });
  const { port, stop } = await listenUdp("127.0.0.11", 0, { ...parts, answer, onError });
  const bad = createSocket("udp4");
  try {
    bad.send("asked", port, "127.0.0.11");
    await vi.waitFor(() => expect(onError).toHaveBeenCalledExactlyOnceWith(new Error("a bug")));
    expect(await ask(port, "127.0.0.11")).toBe("asked");
  } finally {
    bad.close();
    await stop(0);
  }
});
