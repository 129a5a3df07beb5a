import { createHash, createHmac } from "node:crypto";
import { describe, expect, test } from "vitest";
import { HttpTransferSource } from "../../../src/transfer/http-source.ts";
import { NONCE_FIELD, SIGNATURE_FIELD, type Signed, TransferKeys } from "../../../src/transfer/signature.ts";
import { FakeClock, settle } from "../../gateway/fake-clock.ts";
import { decode, encodeQuery } from "../../resolve/ask.ts";
import { extendedErrors } from "../../resolve/extended-errors.ts";
import { shopSnapshot } from "../../snapshot/worlds.ts";
import { openPair, openPrimary, transferApp, WEB } from "../pair.ts";

const KEY = "a".repeat(32);
const NEXT_KEY = "b".repeat(32);

/**
 * A primary that signs with `signing`, and a secondary that verifies with `verifying`; `tamper` is the
 * network between them.
 */
async function pair(signing: string | undefined, verifying: readonly string[] | undefined) {
  const { clock, held, events, open } = await openPair();
  const push = (endpoints: number) => held.put(shopSnapshot("west", endpoints), 3600);
  const keys = { signing: signing === undefined ? undefined : new TransferKeys([signing]) };
  const routes = () => transferApp(clock, held, { key: keys.signing && (() => keys.signing!) });
  const network = { tamper: async (response: Response, _url: string): Promise<Response> => response };
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
  const secondary = open({
    source: {
      state: (age, signal) => counted(source.state(age, signal)),
      part: (path, signal) => counted(source.part(path, signal)),
    },
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

test.for<[title: string, verifying: readonly string[] | undefined]>([
  ["a secondary with the same key", [KEY]],
  ["a secondary that has the next key already", [NEXT_KEY, KEY]],
  ["a secondary without a key", undefined],
])(
  "%s takes over what its primary signs, and goes on through a rotation to a key that it has",
  async ([, verifying]) => {
    const { push, ask, keys } = await pair(KEY, verifying);
    await push(2);
    expect(await ask()).toEqual(good(2));
    if (verifying?.[0] === NEXT_KEY) keys.signing = new TransferKeys([NEXT_KEY]);
    await push(3);
    await ask(2_000);
    expect(await ask()).toEqual(good(3));
  },
);

test.for([
  ["another key", NEXT_KEY],
  ["no key", undefined],
])("nothing is taken over from a primary with %s", async ([, signing]) => {
  const { push, ask, secondary } = await pair(signing, [KEY]);
  await push(2);
  expect(await ask()).toEqual(NOTHING);
  expect(secondary.status().transferError).toMatch(/sign/);
});

type Change = (response: Response) => Promise<Response>;
const withSignature =
  (signature?: string): Change =>
  async (response) => {
    response.headers.delete(SIGNATURE_FIELD);
    if (signature !== undefined) response.headers.set(SIGNATURE_FIELD, signature);
    return response;
  };
const withAnotherLease: Change = async (response) =>
  new Response((await response.text()).replace(/"expiresAt":\d/, '"expiresAt":9'), response);
const withAnotherByte: Change = async (response) => {
  const bytes = new Uint8Array(await response.arrayBuffer());
  bytes[bytes.length - 1]! ^= 1;
  return new Response(bytes, response);
};

/** What somebody on the network's path does to a response. */
test.for<[title: string, only: "state" | "key", change: Change]>([
  ["a state with another lease", "state", withAnotherLease],
  ["a state without its signature", "state", withSignature()],
  ["a state with an invented signature", "state", withSignature("0".repeat(64))],
  ["a key with another byte", "key", withAnotherByte],
  ["a key without its signature", "key", withSignature()],
])("%s is rejected, and what is in memory keeps answering", async ([, only, change]) => {
  const { push, ask, network, events, secondary } = await pair(KEY, [KEY]);
  await push(2);
  expect(await ask()).toEqual(good(2));
  network.tamper = async (response, url) => (url.includes(`/${only}`) ? change(response) : response);
  await push(3);
  await ask(2_000);
  // A key that is known to be old says so.
  expect(await ask()).toEqual(only === "state" ? good(2) : { ...good(2), errors: [3] });
  expect(secondary.status().ready).toBe(true);
  if (only === "state") expect(secondary.status().transferError).toMatch(/sign/);
  const event = only === "state" ? "transfer-failed" : "part-unavailable";
  expect(events).toContainEqual(expect.objectContaining({ event }));
  // Above the limit answers say that they are old.
  expect(await ask(5_000)).toEqual({ ...good(2), errors: [3] });
  network.tamper = async (response) => response;
  await ask(20_000);
  expect(await ask()).toEqual(good(3));
  expect(secondary.status().transferError).toBeUndefined();
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

describe("a signature", () => {
  const body = Uint8Array.of(1, 2, 3);
  const part = ["part", "key?zone=clusterset&v=1-2"] as const;
  const state = ["state", "0".repeat(32), '{"clusters":["west"]}'] as const;
  const keys = new TransferKeys([KEY]);

  test.for<readonly [Signed]>([[part], [state]])(
    "is an HMAC-SHA-256 of what docs/reference/transfer.md says: %j",
    async ([signed]) => {
      const digest = createHash("sha256").update(body).digest("hex");
      const message = JSON.stringify(["clusterset-doh transfer", ...signed, digest]);
      const expected = createHmac("sha256", KEY).update(message).digest("hex");
      expect(await keys.sign(signed, body)).toBe(expected);
    },
  );

  test("is 64 hexadecimal digits, for one part or state", async () => {
    const signature = await keys.sign(part, body);
    await keys.verify(signature, part, body);
    const others: Signed[] = [
      ["part", "key?zone=clusterset&v=1-3"],
      ["state", part[1], ""],
    ];
    for (const other of others)
      await expect(keys.verify(signature, other, body)).rejects.toMatchObject({ code: "BAD_SIGNATURE" });
    for (const wrong of [`00${signature}`, `${signature}00`, signature.slice(2), "", "zz"])
      await expect(keys.verify(wrong, part, body)).rejects.toThrow(/the primary's part is wrong/);
    await expect(keys.verify(null, state, body)).rejects.toThrow(
      "the primary does not sign its state: give it transfer.keyFile",
    );
  });
});

test("a request with a malformed nonce gets a state without a signature", async () => {
  const clock = new FakeClock();
  const app = transferApp(clock, openPrimary(clock), { key: () => new TransferKeys([KEY]) });
  const signatureFor = async (nonce: string) => {
    const response = await app.request("/api/v1/transfer/state", { headers: { [NONCE_FIELD]: nonce } });
    expect(response.status).toBe(200);
    return response.headers.get(SIGNATURE_FIELD);
  };
  for (const nonce of ["", "short", "x".repeat(32), "0".repeat(33)])
    expect(await signatureFor(nonce)).toBeNull();
  expect(await signatureFor("0".repeat(32))).toMatch(/^[0-9a-f]{64}$/);
});
