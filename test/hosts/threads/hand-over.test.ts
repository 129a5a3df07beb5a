import { MessageChannel } from "node:worker_threads";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { HandOver } from "../../../src/hosts/node/gateway/threads/hand-over.ts";
import { answerHanded } from "../../../src/hosts/node/gateway/threads/handed-requests.ts";

const CLIENT = {
  address: "192.0.2.1",
  certificate: "none" as const,
  certificateIdentity: undefined,
  location: undefined,
};
const PATIENT = { timeout: 20_000, interval: 5 };
/** More than the main thread is given at once. */
const MANY = 200;

let channel: MessageChannel;
beforeEach(() => {
  channel = new MessageChannel();
});
afterEach(() => channel.port1.close());

const request = (index: number) => new Request(`https://gateway.example/${index}`);
const settle = () => new Promise((resolve) => setTimeout(resolve, 50));

/** A main thread that answers when it is told to. */
function slowMain() {
  const seen: string[] = [];
  const begun: { id: number }[] = [];
  channel.port2.on("message", (message: { id: number; url: string }) => {
    seen.push(new URL(message.url).pathname.slice(1));
    begun.push(message);
  });
  const answerAll = () => {
    for (const { id } of begun.splice(0))
      channel.port2.postMessage({ id, status: 200, headers: [], body: null });
  };
  return { seen, answerAll };
}

describe("requests that a thread hands over", () => {
  it("wait in the thread while the main thread has many of them, and keep their order", async () => {
    const { seen, answerAll } = slowMain();
    const handOver = new HandOver(channel.port1);
    const all = Array.from({ length: MANY }, (_, index) => handOver.fetch(request(index), CLIENT));
    await vi.waitFor(() => expect(seen).toHaveLength(64), PATIENT);
    await settle();
    expect(seen).toHaveLength(64);
    const answering = setInterval(answerAll, 5);
    const statuses = await Promise.all(all.map(async (response) => (await response).status));
    clearInterval(answering);
    expect(new Set(statuses)).toEqual(new Set([200]));
    expect(seen).toEqual(Array.from({ length: MANY }, (_, index) => String(index)));
  });

  it("never reach the main thread if their clients go while they wait", async () => {
    const { seen, answerAll } = slowMain();
    const handOver = new HandOver(channel.port1);
    const senders = Array.from({ length: MANY }, () => ({ isClosed: false }));
    const all = senders.map((sender, index) => handOver.fetch(request(index), CLIENT, sender));
    await vi.waitFor(() => expect(seen).toHaveLength(64), PATIENT);
    for (const sender of senders.slice(0, -1)) sender.isClosed = true;
    const answering = setInterval(answerAll, 5);
    await Promise.all(all);
    clearInterval(answering);
    expect(seen.slice(64)).toEqual([String(MANY - 1)]);
  });

  it("do not wait for others that take long, such as pushes", async () => {
    const ended = new AbortController();
    const fetch = vi.fn((url: Request) =>
      url.url.endsWith("/quick") ? new Response("quick") : new Promise<Response>(() => {}),
    );
    answerHanded(channel.port2, fetch, ended.signal, () => {});
    const handOver = new HandOver(channel.port1);
    for (let index = 0; index < MANY; index++) void handOver.fetch(request(index), CLIENT);
    const quick = await handOver.fetch(new Request("https://gateway.example/quick"), CLIENT);
    expect(await quick.text()).toBe("quick");
    expect(fetch).toHaveBeenCalledTimes(MANY + 1);
  });

  it("have their bodies cancelled if the main thread answers without them", async () => {
    const answer = () => new Response(null, { status: 401 });
    answerHanded(channel.port2, answer, new AbortController().signal, () => {});
    const cancel = vi.fn();
    const body = new ReadableStream<Uint8Array>({ cancel }, { highWaterMark: 0 });
    const put = new Request("https://gateway.example/", {
      method: "PUT",
      body,
      duplex: "half",
    } as RequestInit);
    expect((await new HandOver(channel.port1).fetch(put, CLIENT)).status).toBe(401);
    await vi.waitFor(() => expect(cancel).toHaveBeenCalled(), PATIENT);
  });

  it("have their bodies read to the end by a handler that goes on after its response", async () => {
    const read: Promise<string>[] = [];
    const answer = (request: Request) => {
      read.push(request.text());
      return new Response("taken");
    };
    answerHanded(channel.port2, answer, new AbortController().signal, () => {});
    const post = new Request("https://gateway.example/", { method: "POST", body: "a body" });
    expect(await (await new HandOver(channel.port1).fetch(post, CLIENT)).text()).toBe("taken");
    expect(await read[0]).toBe("a body");
  });
});
