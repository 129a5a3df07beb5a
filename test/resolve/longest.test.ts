import { describe, expect, it } from "vitest";
import { HTTPS, streamTransport } from "../../src/resolve/message/transport.ts";
import { resolve } from "../../src/resolve/resolve.ts";
import { endpoints, exported, snapshot } from "../merge/fixtures.ts";
import { compileWorld, decode } from "./ask.ts";
import { optionsOf, queryWith } from "./edns.ts";

const LONGEST = 65_535;
/** An A record below a compressed name. */
const RECORD = 16;
const TCP = streamTransport("tcp", 30_000);

const addresses = Array.from({ length: 4200 }, (_, index) => ({
  address: `10.3.${index >> 8}.${index & 255}`,
}));
const crowd = exported({ headless: true, endpoints: endpoints(...addresses) });
// Zones of 16 lengths leave 0 to 15 bytes of room after the last record.
const zones = Array.from({ length: 16 }, (_, index) => `${"z".repeat(index + 1)}.test`);
const crowded = compileWorld(
  [snapshot("east", { namespaces: { shop: {} }, exports: { "shop/crowd": crowd } })],
  { zones },
);

describe("padding near the longest message", () => {
  it("stops at the longest message, which is not a multiple of a block (RFC 8484 section 6)", () => {
    const padded = zones.flatMap((zone) => {
      const query = queryWith(`crowd.shop.svc.${zone}`, "A", { payload: 1232, codes: [12] });
      const { bytes } = resolve(query, { ...crowded, transport: HTTPS })!;
      const padding = optionsOf(bytes)![12];
      return padding === undefined ? [] : [{ length: bytes.length, padding: padding.length }];
    });
    expect(padded.map(({ length }) => length)).toEqual(padded.map(() => LONGEST));
    expect(padded.length).toBeGreaterThan(8);
    expect(padded.some(({ padding }) => padding === 0)).toBe(true);
    expect(padded.some(({ padding }) => padding > 4)).toBe(true);
  });

  it("is zeros, whatever the answer before had there (RFC 7830 section 3)", () => {
    const [zone] = zones;
    resolve(queryWith(`crowd.shop.svc.${zone}`, "A", { payload: 1232 }), crowded);
    const { bytes } = resolve(queryWith(zone!, "SOA", { payload: 1232, codes: [12] }), crowded)!;
    const padding = optionsOf(bytes)![12]!;
    expect(padding.length).toBeGreaterThan(300);
    expect(padding.every((byte) => byte === 0)).toBe(true);
  });
});

describe("the longest answer has as many addresses as fit beside the OPT record", () => {
  it.each([
    ["over TCP", TCP, [], 11],
    ["over TCP with the idle timeout (RFC 7828)", TCP, [11], 17],
    ["over HTTPS, which never has the idle timeout", HTTPS, [11], 11],
  ] as const)("%s", (_, transport, codes, opt) => {
    for (const zone of zones) {
      const query = queryWith(`crowd.shop.svc.${zone}`, "A", { payload: 1232, codes });
      const question = query.length - 11 - 4 * codes.length;
      const { bytes } = resolve(query, { ...crowded, transport })!;
      const fitting = Math.floor((LONGEST - question - opt) / RECORD);
      expect(bytes).toHaveLength(question + fitting * RECORD + opt);
      expect(decode(bytes).answer).toHaveLength(fitting);
    }
  });
});

describe("the additional addresses of a long SRV answer (RFC 2782)", () => {
  it("have owner names to which a compression pointer can point (RFC 1035 section 4.1.4)", () => {
    const zone = "z.test";
    const few = exported({ headless: true, endpoints: endpoints(...addresses.slice(0, 600)) });
    const world = compileWorld(
      [snapshot("east", { namespaces: { shop: {} }, exports: { "shop/few": few } })],
      { zones: [zone] },
    );
    const query = queryWith(`_http._tcp.few.shop.svc.${zone}`, "SRV", { payload: 1232 });
    const { answer, additional } = decode(resolve(query, { ...world, transport: TCP })!.bytes);
    const targets = answer.map((record) => record.split(" ").at(-1));
    const owners = additional.map((record) => record.split(" ")[0]);
    expect(owners).toEqual(targets.slice(0, owners.length));
    expect(owners.length).toBeGreaterThan(100);
    expect(owners.length).toBeLessThan(600);
  });
});

it("an answer stays the same while thousands of others are written", () => {
  const query = queryWith("z.test", "SOA", { payload: 1232 });
  const answers = Array.from({ length: 3000 }, () => resolve(query, crowded)!.bytes);
  const hex = new Set(answers.map((bytes) => Buffer.from(bytes).toString("hex")));
  expect([...hex]).toHaveLength(1);
  expect(decode(answers[0]!).answer).toHaveLength(1);
});
