import { decode } from "dns-packet";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readQuery, readSourceCluster, withSourceCluster } from "../../src/resolve/query.ts";
import { optRecord } from "../dns/opt-record.ts";
import { queryFor } from "../forward/fake-upstreams.ts";
import { encodeQuery } from "./ask.ts";

const CODE = 65001;
const NAME = "myservice.myns.myfederation.svc.federation";

/** A query with these EDNS options (RFC 6891 section 6.1.2), as dns-packet writes it. */
function withOptions(...options: readonly (readonly [code: number, content: string | Uint8Array])[]) {
  const opt = optRecord(
    options.map(([code, content]) => ({ code, data: Buffer.from(content) })),
    { flag_do: true },
  );
  return queryFor(NAME, { additionals: [opt] });
}

describe("readSourceCluster", () => {
  it.each([
    ["two labels", "foo.eu-west"],
    ["127 bytes", `${"a".repeat(63)}.${"b".repeat(63)}`],
  ])("reads %s", (_, clusterId) => {
    expect(readSourceCluster(withOptions([CODE, clusterId]), CODE)).toBe(clusterId);
  });

  it("finds it among other options, and only under the configured code", () => {
    const query = withOptions([10, "01234567"], [CODE, "cluster-a"], [65002, "cluster-b"], [12, ""]);
    expect(readSourceCluster(query, CODE)).toBe("cluster-a");
    expect(readSourceCluster(query, 65002)).toBe("cluster-b");
    expect(readSourceCluster(query, 65003)).toBeUndefined();
  });

  it.each([
    ["no OPT record", encodeQuery(NAME, "A", false)],
    ["no option", encodeQuery(NAME, "A", true)],
    ["an empty option", withOptions([CODE, ""])],
    ["a terminator", withOptions([CODE, "cluster-a\0"])],
    ["upper case", withOptions([CODE, "Cluster-a"])],
    ["bytes outside ASCII", withOptions([CODE, Uint8Array.of(0xc3, 0xa4)])],
    ["128 bytes", withOptions([CODE, "a".repeat(128)])],
    ["the option twice", withOptions([CODE, "cluster-a"], [CODE, "cluster-a"])],
    ["a message that is cut off", withOptions([CODE, "cluster-a"]).slice(0, -1)],
    ["extra bytes at the end", Uint8Array.from([...withOptions([CODE, "cluster-a"]), 0])],
    ["an option that is longer than the record", longerOption(withOptions([CODE, "cluster-a"]))],
    ["nothing", new Uint8Array()],
  ])("ignores %s", (_, message) => {
    expect(readSourceCluster(message, CODE)).toBeUndefined();
  });

  it("never throws, and returns a cluster id or undefined", () => {
    const whole = withOptions([CODE, "cluster-a"]);
    const damaged = fc
      .array(fc.tuple(fc.nat(whole.length - 1), fc.nat(255)), { maxLength: 6 })
      .map((changes) => {
        const copy = whole.slice();
        for (const [at, byte] of changes) copy[at] = byte;
        return copy;
      });
    fc.assert(
      fc.property(fc.oneof(damaged, fc.uint8Array({ maxLength: 80 })), (message) => {
        expect(readSourceCluster(message, CODE) ?? "a").toMatch(/^[-.a-z0-9]{1,127}$/);
      }),
    );
  });
});

describe("withSourceCluster", () => {
  const clusterId = fc.stringMatching(/^[a-z0-9]([-a-z0-9]{0,20}[a-z0-9])?$/);

  it("adds an option that can be read back, to any query (round trip)", () => {
    const before = fc.constantFrom(
      encodeQuery(NAME, "A", false),
      encodeQuery(NAME, "SRV", true),
      withOptions([CODE, "forged"], [12, "00000000"]),
    );
    fc.assert(
      fc.property(before, clusterId, fc.integer({ min: 65001, max: 65534 }), (query, id, code) => {
        const sent = withSourceCluster(query, code, id);
        expect(readSourceCluster(sent, code)).toBe(id);
        expect(readQuery(sent)).not.toHaveProperty("code");
        expect(decode(Buffer.from(sent)).questions).toEqual(decode(Buffer.from(query)).questions);
        expect(sent.subarray(0, 2)).toEqual(query.subarray(0, 2));
      }),
    );
  });

  it("has these bytes for cluster-a", () => {
    const sent = withSourceCluster(encodeQuery("a", "A", false), CODE, "cluster-a");
    expect(Buffer.from(sent.subarray(19)).toString("hex")).toBe(
      "00" + // root
        "0029" + // OPT
        "04d0" + // 1232 bytes
        "00000000" + // rcode, version, flags
        "000d" + // 13 bytes of options
        "fde9" + // 65001
        "0009" + // 9 bytes
        "636c75737465722d61", // cluster-a
    );
  });

  it("keeps DNSSEC OK (RFC 3225) and nothing else of the OPT record, also without a source cluster", () => {
    const forged = withOptions([CODE, "forged"], [10, "cookie00"]);
    const optOf = (sent: Uint8Array) => decode(Buffer.from(sent)).additionals?.[0];
    const kept = { flag_do: true, udpPayloadSize: 1232 };
    expect(optOf(withSourceCluster(forged, CODE, "a"))).toMatchObject({ ...kept, options: [{ code: CODE }] });
    expect(optOf(withSourceCluster(forged, CODE, undefined))).toMatchObject({ ...kept, options: [] });
  });

  it.each([new Uint8Array(), new Uint8Array(12), encodeQuery(NAME, "A").slice(0, 20)])(
    "rejects a message without a question",
    (message) => {
      expect(() => withSourceCluster(message, CODE, "a")).toThrow(RangeError);
    },
  );
});

function longerOption(query: Uint8Array): Uint8Array {
  const copy = query.slice();
  copy[copy.length - "cluster-a".length - 1] = 10;
  return copy;
}
