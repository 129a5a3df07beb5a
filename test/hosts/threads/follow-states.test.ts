import { MessageChannel } from "node:worker_threads";
import { afterEach, beforeEach, expect, test } from "vitest";
import { followStates } from "../../../src/hosts/node/gateway/threads/follow-states.ts";
import type { SharedUpdate } from "../../../src/transfer/parts/shared/shared-update.ts";
import { waitFor } from "../../e2e/servers/wait.ts";

const GREATEST = 2 ** 31 - 1;

let channel: MessageChannel;
let signals: { posted: number };
let taken: number[];

beforeEach(() => {
  channel = new MessageChannel();
  taken = [];
});

afterEach(() => {
  channel.port1.close();
  channel.port2.close();
});

/** A thread that follows states; `taken` has what it answers from, one after the other. */
function follow(posted: number): () => void {
  signals = { posted };
  return followStates({
    ...{ states: channel.port2, signals, stubs: { replaceAll: () => {} } },
    take: ({ added }: SharedUpdate) => void taken.push(Number(added[0]!.hash)),
  });
}

function post(number: number): void {
  const update = {
    added: [{ hash: String(number), bytes: new Uint8Array() }],
    dropped: [],
    scopes: new Map(),
  };
  channel.port1.postMessage({ update, number });
}

test("a query is answered from every state that was posted before it", () => {
  const receive = follow(0);
  for (const number of [1, 2]) post(number);
  signals.posted = 2;
  receive();
  expect(taken).toEqual([1, 2]);
});

test("no query is answered from a state that another thread may not have yet", () => {
  const receive = follow(0);
  for (const number of [1, 2]) post(number);
  signals.posted = 1;
  receive();
  receive();
  expect(taken).toEqual([1]);
  signals.posted = 2;
  receive();
  expect(taken).toEqual([1, 2]);
});

test("a thread that nobody asks takes each state when every thread has it", async () => {
  follow(0);
  for (const number of [1, 2]) post(number);
  signals.posted = 1;
  await waitFor("the first state", () => taken.length > 0);
  expect(taken).toEqual([1]);
  signals.posted = 2;
  await waitFor("the second state", () => taken.length > 1);
  expect(taken).toEqual([1, 2]);
});

test("numbers that begin anew are taken in their order", () => {
  const receive = follow(GREATEST - 1);
  for (const number of [GREATEST, -GREATEST - 1, -GREATEST]) post(number);
  signals.posted = GREATEST;
  receive();
  expect(taken).toEqual([GREATEST]);
  signals.posted = -GREATEST - 1;
  receive();
  expect(taken).toEqual([GREATEST, -GREATEST - 1]);
});
