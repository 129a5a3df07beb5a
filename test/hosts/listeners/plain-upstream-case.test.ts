import fc from "fast-check";
import { describe, expect, it, onTestFinished } from "vitest";
import { readUpstreamAnswer } from "../../../src/forward/upstream.ts";
import {
  createPlainUpstream,
  hasSameCase,
  randomizeCase,
  restoreCase,
} from "../../../src/hosts/node/upstreams/plain-upstream.ts";
import { DEADLINE } from "../../deadline.ts";
import { answerTo, decoded, queryFor } from "../../forward/fake-upstreams.ts";
import { type Say, startDnsServer } from "./dns-server.ts";

const NAME = "www.some-long-name.example.com";
const query = queryFor(NAME, { id: 0 });
const patient = () => AbortSignal.timeout(DEADLINE);

async function upstreamOf(says: { udp?: Say; tcp?: Say }) {
  const server = await startDnsServer(says);
  onTestFinished(() => server.close());
  const endpoint = { address: "127.0.0.1", port: server.port };
  return { server, upstream: createPlainUpstream("plain", endpoint, { randomizeCase: true }) };
}

/** Answers with an address and the owner name in the query's case, uncompressed. */
const withAddress =
  (data: string): Say =>
  (asked) => {
    const { name } = decoded(asked).questions![0]!;
    return answerTo(asked, { answers: [{ type: "A", name, ttl: 30, data }] });
  };
const lowerCase =
  (say: Say): Say =>
  (asked) => {
    const lower = Uint8Array.from(asked);
    lower.set(query.subarray(12), 12);
    return say(Buffer.from(lower));
  };

describe("letters in random case (draft-vixie-dnsext-dns0x20)", () => {
  it("differ from query to query; the client gets its own case, in every record of that name", async () => {
    const { server, upstream } = await upstreamOf({ udp: withAddress("192.0.2.1") });
    for (let count = 0; count < 8; count++) {
      const answer = decoded(await upstream.exchange(query, patient()));
      expect(answer).toMatchObject({
        id: 0,
        questions: [{ name: NAME }],
        answers: [{ name: NAME, data: "192.0.2.1" }],
      });
    }
    const spellings = server.udp.map((one) => decoded(one).questions![0]!.name);
    expect(new Set(spellings).size).toBe(8);
    expect(new Set(spellings.map((name) => name.toLowerCase()))).toEqual(new Set([NAME]));
    expect(server.tcp).toEqual([]);
  });

  it("that differ in an answer over UDP cause a query over TCP, where forging is hard", async () => {
    const { server, upstream } = await upstreamOf({
      udp: lowerCase(withAddress("192.0.2.66")),
      tcp: lowerCase(withAddress("192.0.2.1")),
    });
    const answer = decoded(await upstream.exchange(query, patient()));
    expect(answer).toMatchObject({ id: 0, answers: [{ name: NAME, data: "192.0.2.1" }] });
    expect([server.udp.length, server.tcp.length]).toEqual([1, 1]);
  });
});

describe("the case of a name", () => {
  const label = fc.uint8Array({ minLength: 1, maxLength: 20 });
  const names = fc.array(label, { maxLength: 8 });
  /** Type A, class IN. */
  const A_IN = [0, 1, 0, 1];
  const queryOf = (labels: readonly Uint8Array[]) =>
    Uint8Array.of(
      ...queryFor(".").subarray(0, 12),
      ...labels.flatMap((one) => [one.length, ...one]),
      0,
      ...A_IN,
    );

  it("is the only change, for any bytes of a name", () => {
    fc.assert(
      fc.property(names, (labels) => {
        const before = queryOf(labels);
        const after = before.slice();
        randomizeCase(after);
        for (const [at, byte] of before.entries()) {
          const isLetter = at >= 12 && /[A-Za-z]/.test(String.fromCharCode(byte));
          if (byte !== after[at]) expect([isLetter, byte ^ 0x20]).toEqual([true, after[at]]);
        }
        // A length byte is never a letter: the question differs only in case.
        after[2] = 0x81;
        expect(readUpstreamAnswer(before, after)).toBeDefined();
        restoreCase(before, after);
        expect(hasSameCase(before, after)).toBe(true);
        expect(after.subarray(12)).toEqual(before.subarray(12));
      }),
    );
  });

  it("is restored in uncompressed names, and other names do not change", () => {
    const asked = queryFor("www.example.com");
    const answer = answerTo(asked, {
      answers: [
        { type: "CNAME", name: "WWW.example.COM", ttl: 1, data: "Other.example.com" },
        { type: "A", name: "Other.example.com", ttl: 1, data: "192.0.2.1" },
      ],
    });
    restoreCase(asked, answer);
    expect(decoded(answer).answers).toMatchObject([
      { name: "www.example.com", data: "Other.example.com" },
      { name: "Other.example.com" },
    ]);
  });
});
