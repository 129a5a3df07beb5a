import { createSocket, type Socket } from "node:dgram";
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { once } from "node:events";
import { afterEach, beforeEach, describe, expect, it, test, vi } from "vitest";
import { QueryCounters } from "../../../src/answer/answer-query.ts";
import { Dns } from "../../../src/config/listeners.ts";
import { listenUdp, ResponseRateLimit } from "../../../src/hosts/node/listeners/udp.ts";
import { SharedBuckets } from "../../../src/limits/shared.ts";
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

/** The answer to a client that takes it from the queried address alone; undefined where nobody listens. */
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

test("a wildcard address of which another program has one is an error, and nothing stays open", async () => {
  addresses = ["127.0.0.11", "127.0.0.12"];
  const other = createSocket("udp4").bind(0, "127.0.0.12");
  await once(other, "listening");
  const { port } = other.address();
  const opened: Socket[] = [];
  const note = (message: unknown) => void opened.push((message as { socket: Socket }).socket);
  subscribe("udp.socket", note);
  try {
    await expect(listenUdp("0.0.0.0", port, parts)).rejects.toMatchObject({ code: "EADDRINUSE" });
    expect(opened).toHaveLength(2);
    for (const socket of opened) expect(() => socket.close()).toThrow("Not running");
  } finally {
    unsubscribe("udp.socket", note);
    other.close();
  }
});

test("a stop waits for answers that come later", async () => {
  const late = Promise.withResolvers<ReturnType<typeof parts.answer>>();
  const answer = vi.fn(() => late.promise);
  const { port, stop } = await listenUdp("127.0.0.11", 0, { ...parts, answer });
  const answered = ask(port, "127.0.0.11");
  await vi.waitFor(() => expect(answer).toHaveBeenCalled());
  const stopped = stop(60_000);
  late.resolve(parts.answer(Buffer.from("asked")));
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

function limitOf(settings: object) {
  let now = 1000;
  const { rateLimit } = Dns.parse({ rateLimit: settings });
  const limit = new ResponseRateLimit(rateLimit, undefined, (rate) => {
    return new SharedBuckets(SharedBuckets.allocate(100), rate, () => now);
  });
  return {
    take: (address: string, times = 1) => Array.from({ length: times }, () => limit.take(address)),
    pass: (milliseconds: number) => {
      now += milliseconds;
    },
  };
}

const answers = (count: number) => new Array<string>(count).fill("answer");
const LIMIT = { answersPerSecond: 10, burst: 3, slip: 0 };

describe("response rate limiting", () => {
  it("allows a burst, then a rate of answers", () => {
    const { take, pass } = limitOf(LIMIT);
    expect(take("192.0.2.1", 5)).toEqual([...answers(3), "drop", "drop"]);
    pass(100);
    expect(take("192.0.2.1", 2)).toEqual(["answer", "drop"]);
    pass(60_000);
    expect(take("192.0.2.1", 4)).toEqual([...answers(3), "drop"]);
  });

  it.each([
    ["192.0.2.1", "192.0.2.254", "192.0.3.1"],
    ["2001:db8:0:ff::1", "2001:db8:0:1::2", "2001:db8:0:100::1"],
  ])("%s shares a bucket with %s, and not with %s", (one, near, far) => {
    const { take } = limitOf(LIMIT);
    take(one, 3);
    expect([...take(near), ...take(far)]).toEqual(["drop", "answer"]);
  });

  it.each([
    [0, ["drop", "drop", "drop", "drop"]],
    [1, ["truncate", "truncate", "truncate", "truncate"]],
    [3, ["drop", "drop", "truncate", "drop"]],
  ])("with slip %i queries over the limit get %j", (slip, expected) => {
    const { take } = limitOf({ ...LIMIT, slip });
    take("192.0.2.1", 3);
    expect(take("192.0.2.1", 4)).toEqual(expected);
  });

  const NEAR = [
    "127.0.0.1",
    "10.1.2.3",
    "172.31.0.1",
    "192.168.1.1",
    "100.64.0.1",
    "::1",
    "fd00::1",
    "fe80::1%eth0",
  ];
  it.each(NEAR)("%s is local, and by default not limited", (address) => {
    expect(limitOf(LIMIT).take(address, 10)).toEqual(answers(10));
    expect(limitOf({ ...LIMIT, exempt: [] }).take(address, 4)).toEqual([...answers(3), "drop"]);
  });

  it("counts alternating addresses separately, and is off with 0", () => {
    const { take } = limitOf({ ...LIMIT, exempt: ["192.0.2.7"] });
    const turns = Array.from({ length: 4 }, () => [...take("192.0.2.7"), ...take("198.51.100.1")]);
    expect(turns.flat()).toEqual([...answers(7), "drop"]);
    expect(limitOf({ answersPerSecond: 0, burst: 1 }).take("192.0.2.1", 1000)).toEqual(answers(1000));
  });
});
