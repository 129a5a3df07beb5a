import { MessageChannel } from "node:worker_threads";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { NodeRequest } from "../../../src/hosts/node/server/requests.ts";
import { answerHanded, HandOver } from "../../../src/hosts/node/threads/hand-over.ts";
import { until } from "../../until.ts";

const CLIENT = { address: "192.0.2.1", certificate: "none" };
/** The path of a push. */
const PUSH = "api/v1/clusters/west/snapshot";
/** More than the main thread is given at once. */
const MANY = 200;

let channel: MessageChannel;
beforeEach(() => {
  channel = new MessageChannel();
});
afterEach(() => channel.port1.close());

/** A request to a path as a server of Node has it. @param more its other members */
function request(path: string | number, more: object = {}) {
  return {
    method: "GET",
    url: `/${path}`,
    scheme: "https",
    host: "gateway.example",
    isClosed: false,
    client: CLIENT,
    rawHeaders: ["accept", "*/*"],
    arrivedBody: async () => undefined,
    whenGone: () => {},
    ...more,
  } as unknown as NodeRequest & { isClosed: boolean };
}

/** Resolves when the main thread has what was sent to it until the next turn. */
async function settle(): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
  const seen = new Promise<void>((resolve) =>
    channel.port2.on("message", (message) => message === LAST && resolve()),
  );
  channel.port1.postMessage(LAST);
  await seen;
}
const LAST = "last";

/** A main thread that answers when it is told to. */
function slowMain() {
  const seen: string[] = [];
  const begun: { id: number }[] = [];
  channel.port2.on("message", (message: { id: number; url: string }) => {
    if (message.url === undefined) return;
    seen.push(new URL(message.url).pathname.slice(1));
    begun.push(message);
  });
  const answerAll = () => {
    for (const { id } of begun.splice(0))
      channel.port2.postMessage({ id, status: 200, headers: {}, body: null });
  };
  return { seen, answerAll };
}

/** A main thread that answers by a function. */
function answerBy(fetch: (asked: globalThis.Request) => Response | Promise<Response>): void {
  answerHanded(channel.port2, fetch, new AbortController().signal, (error) => expect.unreachable(`${error}`));
}

describe("requests that a thread hands over", () => {
  it("wait in the thread, their bodies unread, while the main thread has many of them, and keep their order", async () => {
    const { seen, answerAll } = slowMain();
    const handOver = new HandOver(channel.port1);
    const arrivedBody = vi.fn(async () => new Uint8Array(1));
    const put = (index: number) => request(index, { method: "PUT", arrivedBody });
    const all = Array.from({ length: MANY }, (_, index) => handOver.answer(put(index)));
    await until(() => expect(seen).toHaveLength(64));
    await settle();
    expect(seen).toHaveLength(64);
    expect(arrivedBody).toHaveBeenCalledTimes(64);
    const answering = setInterval(answerAll, 5);
    const statuses = await Promise.all(all.map(async (response) => (await response).status));
    clearInterval(answering);
    expect(new Set(statuses)).toEqual(new Set([200]));
    expect(seen).toEqual(Array.from({ length: MANY }, (_, index) => String(index)));
  });

  it("do not wait if they are urgent, and never reach the main thread if their clients go while they wait", async () => {
    const { seen, answerAll } = slowMain();
    const handOver = new HandOver(channel.port1);
    const senders = Array.from({ length: MANY }, (_, index) => request(index));
    const all = senders.map((sender) => handOver.answer(sender));
    await until(() => expect(seen).toHaveLength(64));
    all.push(handOver.answer(request(PUSH, { method: "PUT", arrivedBody: async () => new Uint8Array() })));
    await until(() => expect(seen.slice(64)).toEqual([PUSH]));
    for (const sender of senders.slice(0, -1)) sender.isClosed = true;
    const answering = setInterval(answerAll, 5);
    await Promise.all(all);
    clearInterval(answering);
    expect(seen.slice(65)).toEqual([String(MANY - 1)]);
  });

  it("are begun one in each turn of the event loop, urgent ones first, and not for clients that have gone", async () => {
    const begun: string[] = [];
    let turns = 0;
    const fetch = (asked: globalThis.Request) => {
      begun.push(new URL(asked.url).pathname.slice(1));
      expect(begun.length).toBeLessThanOrEqual(turns + 1);
      return new Response();
    };
    answerBy(fetch);
    const count = () => {
      turns++;
      if (begun.length < 5) setImmediate(count);
    };
    const handed = (id: number, path: string, urgent = false) =>
      channel.port1.postMessage({
        id,
        urgent,
        method: urgent ? "PUT" : "GET",
        url: `https://gateway.example/${path}`,
        headers: [],
        client: CLIENT,
        body: null,
      });
    const answers = new Map<number, number>();
    channel.port1.on("message", ({ id, status }) => status && answers.set(id, status));
    for (let id = 0; id < 4; id++) handed(id, String(id));
    handed(4, PUSH, true);
    handed(5, "5");
    channel.port1.postMessage({ gone: 2 });
    setImmediate(count);
    await until(() => expect(answers.size).toBe(6));
    expect(begun).toEqual([PUSH, "0", "1", "3", "5"]);
    expect(answers.get(2)).toBe(503);
  });

  it.each([
    ["their clients have gone before the main thread begins with them", (gone: () => void) => gone(), 503, 0],
    ["the main thread answers without them", () => {}, 401, 1],
  ])("have their bodies cancelled if %s", async (_, whenGone, status, calls) => {
    const fetch = vi.fn(() => new Response(null, { status: 401 }));
    answerBy(fetch);
    const cancel = vi.fn();
    const body = new ReadableStream<Uint8Array>({ cancel }, { highWaterMark: 0 });
    const put = request(PUSH, { method: "PUT", bodyStream: () => body, whenGone });
    expect((await new HandOver(channel.port1).answer(put)).status).toBe(status);
    await until(() => expect(cancel).toHaveBeenCalled());
    expect(fetch).toHaveBeenCalledTimes(calls);
  });

  it("do not wait for others that take long, such as pushes", async () => {
    const fetch = vi.fn((asked: globalThis.Request) =>
      asked.url.endsWith("/quick") ? new Response("quick") : new Promise<Response>(() => {}),
    );
    answerBy(fetch);
    const handOver = new HandOver(channel.port1);
    for (let index = 0; index < MANY; index++) void handOver.answer(request(index));
    const quick = await handOver.answer(request("quick"));
    expect(String(Buffer.from(quick.body!))).toBe("quick");
    expect(fetch).toHaveBeenCalledTimes(MANY + 1);
  });

  it("are answered here if the Fetch standard cannot express them", async () => {
    const { seen } = slowMain();
    const handOver = new HandOver(channel.port1);
    expect((await handOver.answer(request("", { method: "TRACE" }))).status).toBe(501);
    await settle();
    expect(seen).toEqual([]);
  });

  it("tell the main thread if their clients go, until they have their responses", async () => {
    const signals: AbortSignal[] = [];
    const { promise: answered, resolve: answer } = Promise.withResolvers<Response>();
    const fetch = (asked: globalThis.Request) => {
      signals.push(asked.signal);
      return asked.url.endsWith("/quick") ? new Response("quick") : answered;
    };
    answerBy(fetch);
    const handOver = new HandOver(channel.port1);
    const clients = ["slow", "quick"].map((path) => {
      const client = { go: () => {} };
      const whenGone = (callback: () => void) => {
        client.go = callback;
      };
      const response = handOver.answer(request(path, { whenGone }));
      return { client, response };
    });
    await clients[1]!.response;
    for (const { client } of clients) client.go();
    await until(() => expect(signals[0]!.aborted).toBe(true));
    expect(signals[1]!.aborted).toBe(false);
    answer(new Response());
    await clients[0]!.response;
  });
});
