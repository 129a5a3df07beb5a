import { describe, expect, test } from "vitest";
import { HttpTransferSource } from "../../../src/transfer/http-source.ts";
import { PartMemory } from "../../../src/transfer/part-cache.ts";
import { Secondary } from "../../../src/transfer/secondary.ts";
import { NONCE_FIELD, SIGNATURE_FIELD, TransferKeys } from "../../../src/transfer/signature.ts";
import type { TransferEvent } from "../../../src/transfer/transfer-state.ts";
import { FakeClock, settle } from "../../gateway/fake-clock.ts";
import { decode, encodeQuery } from "../../resolve/ask.ts";
import { extendedErrors } from "../../resolve/extended-errors.ts";
import { shopSnapshot } from "../../snapshot/worlds.ts";
import { MEBIBYTE, openPrimary, READER_STAGES, transferApp, WEB } from "../pair.ts";

const KEY = "a".repeat(32);
const NEXT_KEY = "b".repeat(32);

/**
 * A primary that signs with `signing`, and a secondary that verifies with `verifying`; `tamper` is the
 * network between them.
 */
async function pair(signing: string | undefined, verifying: readonly string[] | undefined) {
  const clock = new FakeClock(1_000_000_000_000);
  const { gateway, database, put } = openPrimary(clock);
  const push = (endpoints: number) => put(shopSnapshot("west", endpoints), 3600);
  const keys = { signing: signing === undefined ? undefined : new TransferKeys([signing]) };
  const routes = () =>
    transferApp(clock, { gateway, database }, { key: keys.signing && (() => keys.signing!) });
  const network = { tamper: async (response: Response, _url: string): Promise<Response> => response };
  const events: TransferEvent[] = [];
  const source = new HttpTransferSource({
    gateway: "http://primary.example",
    clock: () => clock.now(),
    ...(verifying !== undefined && { keys: new TransferKeys(verifying) }),
    fetch: async (url, request) => network.tamper(await routes().request(url, request), url),
  });
  let underWay = 0;
  const counted = async <Result>(request: Promise<Result>) => {
    underWay++;
    return request.finally(() => underWay--);
  };
  const secondary = new Secondary({
    source: {
      state: (age, signal) => counted(source.state(age, signal)),
      part: (path, signal) => counted(source.part(path, signal)),
    },
    stages: READER_STAGES,
    memory: new PartMemory(MEBIBYTE),
    clock,
    onEvent: (event) => events.push(event),
  });
  /** Waits for what is under way, lets `milliseconds` pass, and queries. */
  const ask = async (milliseconds = 0) => {
    await clock.advance(milliseconds);
    const fresh = secondary.freshen(clock.now());
    const idle = async () => {
      do {
        // Keys work in threads of their own.
        await new Promise((resolve) => setImmediate(resolve));
        await settle();
      } while (underWay > 0);
    };
    await idle();
    await Promise.race([fresh, settle()]);
    const answer = secondary.answer(encodeQuery(WEB, "A"), undefined, clock.now());
    await idle();
    const { bytes } = (await answer)!;
    const decoded = decode(bytes);
    return { rcode: decoded.rcode, records: decoded.answer.length, errors: extendedErrors(bytes) };
  };
  return { push, ask, network, events, secondary, keys };
}

const good = (records: number) => ({ rcode: "NOERROR", records, errors: [] });
const NOTHING = { rcode: "SERVFAIL", records: 0, errors: [14] };

describe("with a shared key", () => {
  test("states and parts of the primary are taken over", async () => {
    const { push, ask } = await pair(KEY, [KEY]);
    await push(2);
    expect(await ask()).toEqual(good(2));
    await push(3);
    await ask(2_000);
    expect(await ask()).toEqual(good(3));
  });

  test("a secondary that has the next key already follows its primary through a rotation", async () => {
    const { push, ask, keys } = await pair(KEY, [NEXT_KEY, KEY]);
    await push(2);
    expect(await ask()).toEqual(good(2));
    keys.signing = new TransferKeys([NEXT_KEY]);
    await push(3);
    await ask(2_000);
    expect(await ask()).toEqual(good(3));
  });

  test.for([
    { title: "another key", signing: NEXT_KEY },
    { title: "no key", signing: undefined },
  ])("nothing is taken over from a primary with $title", async ({ signing }) => {
    const { push, ask, secondary } = await pair(signing, [KEY]);
    await push(2);
    expect(await ask()).toEqual(NOTHING);
    expect(secondary.status().transferError).toMatch(/sign/);
  });

  test("a secondary without a key takes over what is signed", async () => {
    const { push, ask } = await pair(KEY, undefined);
    await push(2);
    expect(await ask()).toEqual(good(2));
  });
});

/** What somebody on the network's path does to a response. */
const attacks: {
  title: string;
  only: "state" | "key";
  change: (response: Response) => Promise<Response>;
}[] = [
  {
    title: "a state with another lease",
    only: "state",
    change: async (response) => {
      const text = (await response.text()).replace(/"expiresAt":\d/, '"expiresAt":9');
      return new Response(text, response);
    },
  },
  {
    title: "a state without its signature",
    only: "state",
    change: async (response) => {
      response.headers.delete(SIGNATURE_FIELD);
      return response;
    },
  },
  {
    title: "a state with an invented signature",
    only: "state",
    change: async (response) => {
      response.headers.set(SIGNATURE_FIELD, "0".repeat(64));
      return response;
    },
  },
  {
    title: "a key with another byte",
    only: "key",
    change: async (response) => {
      const bytes = new Uint8Array(await response.arrayBuffer());
      bytes[bytes.length - 1]! ^= 1;
      return new Response(bytes, response);
    },
  },
  {
    title: "a key without its signature",
    only: "key",
    change: async (response) => {
      response.headers.delete(SIGNATURE_FIELD);
      return response;
    },
  },
];

describe.each(attacks)("$title", ({ only, change }) => {
  test("is rejected, and what is in memory keeps answering", async () => {
    const { push, ask, network, events, secondary } = await pair(KEY, [KEY]);
    await push(2);
    expect(await ask()).toEqual(good(2));
    network.tamper = async (response, url) => (url.includes(`/${only}`) ? change(response) : response);
    await push(3);
    await ask(2_000);
    // A key that is known to be old says so.
    expect(await ask()).toEqual(only === "state" ? good(2) : { ...good(2), errors: [3] });
    expect(secondary.status().ready).toBe(true);
    if (only === "state") {
      expect(secondary.status().transferError).toMatch(/sign/);
      expect(events).toContainEqual(expect.objectContaining({ event: "transfer-failed" }));
    } else expect(events).toContainEqual(expect.objectContaining({ event: "part-unavailable" }));
    // Above the limit answers say that they are old.
    expect(await ask(5_000)).toEqual({ ...good(2), errors: [3] });
    network.tamper = async (response) => response;
    await ask(20_000);
    expect(await ask()).toEqual(good(3));
    expect(secondary.status().transferError).toBeUndefined();
  });
});

test("a key that was signed as another one is rejected", async () => {
  const { push, ask, network, events } = await pair(KEY, [KEY]);
  await push(2);
  const signed = new Map<string, Response>();
  network.tamper = async (response, url) => {
    if (url.includes("/world")) signed.set("other", response.clone());
    return url.includes("/key") ? signed.get("other")!.clone() : response;
  };
  expect(await ask()).toEqual(NOTHING);
  expect(events).toContainEqual(
    expect.objectContaining({
      event: "part-unavailable",
      error: expect.objectContaining({ code: "BAD_SIGNATURE" }),
    }),
  );
});

test("a state that was signed for another request is rejected, so none can be replayed", async () => {
  const { push, ask, network, secondary } = await pair(KEY, [KEY]);
  await push(2);
  let recorded: Response | undefined;
  network.tamper = async (response, url) => {
    if (url.includes("/state")) recorded ??= response.clone();
    return response;
  };
  expect(await ask()).toEqual(good(2));
  network.tamper = async (response, url) => (url.includes("/state") ? recorded!.clone() : response);
  await push(3);
  await ask(2_000);
  expect(await ask()).toEqual(good(2));
  expect(secondary.status().transferError).toContain("signature");
});

test("a part is not taken for another one, whatever the key", async () => {
  const keys = new TransferKeys([KEY]);
  const bytes = new Uint8Array([1, 2, 3]);
  const signature = await keys.sign({ kind: "part", path: "key?v=1-1" }, bytes);
  await keys.verify(signature, { kind: "part", path: "key?v=1-1" }, bytes);
  const others = [
    { kind: "part", path: "key?v=1-2" },
    { kind: "state", nonce: "key?v=1-1", scope: "" },
  ] as const;
  for (const other of others)
    await expect(keys.verify(signature, other, bytes)).rejects.toMatchObject({ code: "BAD_SIGNATURE" });
});

test("a request with a malformed nonce gets a state without a signature", async () => {
  const clock = new FakeClock();
  const app = transferApp(clock, openPrimary(clock), { key: () => new TransferKeys([KEY]) });
  for (const nonce of ["", "short", "x".repeat(32), "0".repeat(33)]) {
    const response = await app.request("/api/v1/transfer/state", { headers: { [NONCE_FIELD]: nonce } });
    expect([response.status, response.headers.get(SIGNATURE_FIELD)]).toEqual([200, null]);
  }
  const response = await app.request("/api/v1/transfer/state", {
    headers: { [NONCE_FIELD]: "0".repeat(32) },
  });
  expect(response.headers.get(SIGNATURE_FIELD)).toMatch(/^[0-9a-f]{64}$/);
});
