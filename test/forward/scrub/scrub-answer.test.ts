import type { Answer, Packet } from "dns-packet";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseAddressRanges } from "../../../src/dns/address.ts";
import { labelText, readName, readWord } from "../../../src/dns/name.ts";
import { LocalZones } from "../../../src/forward/local.ts";
import { PrivateAddresses } from "../../../src/forward/private-addresses.ts";
import { readEntries } from "../../../src/forward/records.ts";
import { scrubAnswer } from "../../../src/forward/scrub.ts";
import { readUpstreamAnswer } from "../../../src/forward/upstream.ts";
import { optRecord } from "../../dns/opt-record.ts";
import { extendedErrors, soaRecord, withEdns } from "../fake-forwarder.ts";
import { answerTo, decoded, optOf, queryFor, relayed } from "../fake-upstreams.ts";

const NAME = "www.example.com";
const localZones = new LocalZones({ own: ["clusterset.local", "ours.example.com"], also: [], except: [] });
const privateAddresses = new PrivateAddresses({
  also: parseAddressRanges(["203.0.113.0/24"]),
  except: parseAddressRanges(["10.9.0.0/16"]),
  names: ["corp.example"],
});
const RULES = {
  isOurs: (name: Parameters<LocalZones["find"]>[0]) => localZones.find(name) !== undefined,
  isPrivate: (bytes: Uint8Array) => privateAddresses.isPrivate(bytes),
  isTrusted: (name: string) => privateAddresses.isTrusted(name),
};

/** What a client gets of an answer. */
function scrub(packet: Packet & { rcode?: number }, { name = NAME, type = "A" } = {}) {
  const message = queryFor(name, withEdns, type);
  return scrubBytes(message, answerTo(message, packet));
}

function scrubBytes(message: Uint8Array, bytes: Uint8Array) {
  const read = readUpstreamAnswer(message, bytes);
  if (read === undefined) return undefined;
  const scrubbed = scrubAnswer(read, RULES)!;
  const given = relayed(message, scrubbed.answer).bytes;
  const said = decoded(given);
  const inShort = (records: readonly Answer[] = []) =>
    records.flatMap((one) => (one.type === "OPT" ? [] : `${one.name} ${one.type} ${dataOf(one)}`));
  return {
    relayed: given,
    rcode: said.rcode,
    errors: extendedErrors(optOf(given)?.options),
    answers: inShort(said.answers),
    authorities: inShort(said.authorities),
    additionals: inShort(said.additionals),
    dropped: Object.fromEntries(scrubbed.dropped),
  };
}

function dataOf(record: Answer): string {
  if (record.type === "RRSIG") return `of ${record.data.typeCovered}`;
  const data = "data" in record ? record.data : "";
  return typeof data === "string" ? data : Buffer.isBuffer(data) ? data.toString("hex") : "";
}

const address = (data: string, name = NAME): Answer => ({ type: "A", name, ttl: 30, data });
const aaaa = (data: string, name = NAME): Answer => ({ type: "AAAA", name, ttl: 30, data });
const cname = (name: string, data: string): Answer => ({ type: "CNAME", name, ttl: 30, data });
const rrsig = (name: string, typeCovered: string, signersName = "example.com"): Answer => ({
  type: "RRSIG",
  name,
  ttl: 30,
  data: {
    typeCovered,
    algorithm: 13,
    labels: 2,
    originalTTL: 30,
    expiration: 2,
    inception: 1,
    keyTag: 1,
    signersName,
    signature: Buffer.alloc(8),
  },
});
const BLOCKED = { rcode: "NOERROR", errors: [15], answers: [], authorities: [], additionals: [] };

describe("records that do not belong to the question are removed", () => {
  it("records of other names and types, in the answer section", () => {
    const given = scrub({
      answers: [
        address("192.0.2.9", "bank.example.net"),
        address("192.0.2.1"),
        { type: "TXT", name: NAME, ttl: 30, data: "x" },
        cname("login.example.net", "evil.example"),
        { ...address("192.0.2.1"), class: "CH" } as Answer,
      ],
    });
    expect(given).toMatchObject({ answers: [`${NAME} A 192.0.2.1`], dropped: { unrelated: 4 }, errors: [] });
  });

  it("all behind a chain's sixteenth CNAME", () => {
    const names = [NAME, ...Array.from({ length: 17 }, (_, index) => `${index + 1}.example.net`)];
    const chain = (length: number) => [
      ...names.slice(0, length).map((name, index) => cname(name, names[index + 1]!)),
      address("192.0.2.1", names[length]!),
    ];
    expect(scrub({ answers: chain(16) })).toMatchObject({ dropped: {} });
    const given = scrub({ answers: chain(17) })!;
    expect(given).toMatchObject({ errors: [], dropped: { unrelated: 2 } });
    expect(given.answers.at(-1)).toBe("15.example.net CNAME 16.example.net");
  });

  it("all but the chain, in any order; of two CNAME records of one name, the second", () => {
    const chain = [
      cname(NAME, "a.example.net"),
      cname("a.example.net", "b.example.org"),
      address("192.0.2.1", "b.example.org"),
    ];
    for (const answers of [chain, chain.toReversed()]) {
      const more = [cname(NAME, "c.example.net"), address("192.0.2.2", "c.example.net")];
      const given = scrub({ answers: [...answers, ...more] })!;
      expect(given.answers.toSorted()).toEqual(
        [
          `${NAME} CNAME a.example.net`,
          "a.example.net CNAME b.example.org",
          "b.example.org A 192.0.2.1",
        ].toSorted(),
      );
    }
  });

  it("a chain that is a circle", () => {
    expect(scrub({ answers: [cname(NAME, "a.example"), cname("a.example", NAME)] })).toMatchObject({
      answers: [`${NAME} CNAME a.example`],
      dropped: { unrelated: 1 },
    });
  });

  it("the additional section, and in the authority section all but denials of zones that the chain is in", () => {
    const given = scrub({
      rcode: 3,
      authorities: [
        { type: "NS", name: "example.com", ttl: 30, data: "ns.evil.example" },
        soaRecord(60, 60),
        soaRecord(60, 60, "example.net"),
        address("192.0.2.9", "example.com"),
      ],
      additionals: [address("192.0.2.9", "ns.evil.example"), optRecord()],
    });
    expect(given).toMatchObject({
      rcode: "NXDOMAIN",
      authorities: ["example.com SOA "],
      additionals: [],
      dropped: { unrelated: 3 },
    });
  });

  it("not signatures and DNAME records of the chain, and proofs of the signer's zone (RFC 4035, RFC 6672)", () => {
    const dname = { type: "DNAME", name: "example.com", ttl: 30, data: "example.net" } as unknown as Answer;
    const nsec: Answer = {
      type: "NSEC",
      name: "wild.example.net",
      ttl: 30,
      data: { nextDomain: "z.example.net", rrtypes: ["A"] },
    };
    const target = "www.example.net";
    const packet = {
      answers: [
        dname,
        rrsig("example.com", "DNAME"),
        cname(NAME, target),
        address("192.0.2.1", target),
        rrsig(target, "A", "example.net"),
      ],
      authorities: [nsec, rrsig("wild.example.net", "NSEC", "example.net")],
    };
    const given = scrub(packet)!;
    expect([given.answers.length, given.authorities.length, given.dropped]).toEqual([5, 2, {}]);
    expect(
      scrub({
        answers: [...packet.answers, rrsig(target, "TXT"), rrsig("example.org", "A")],
        authorities: [
          ...packet.authorities,
          { ...nsec, name: "wild.example.org" },
          rrsig("example.org", "NSEC"),
        ],
      }),
    ).toMatchObject({ answers: given.answers, authorities: given.authorities, dropped: { unrelated: 4 } });
  });

  it("none of a name's types for the question ANY", () => {
    const answers = [address("192.0.2.1"), aaaa("2001:db8::1"), address("192.0.2.1", "other.example")];
    expect(scrub({ answers }, { type: "ANY" })!.answers).toEqual([
      `${NAME} A 192.0.2.1`,
      `${NAME} AAAA 2001:db8::1`,
    ]);
  });

  it("keeps names whole that point into what is left out (RFC 1035 section 4.1.4)", () => {
    const given = scrub({
      answers: [
        address("192.0.2.9", "x.cdn.example.net"),
        cname(NAME, "y.cdn.example.net"),
        address("192.0.2.1", "y.cdn.example.net"),
      ],
      authorities: [soaRecord(60, 60, "cdn.example.net")],
    });
    expect(given).toMatchObject({
      answers: [`${NAME} CNAME y.cdn.example.net`, "y.cdn.example.net A 192.0.2.1"],
      authorities: ["cdn.example.net SOA "],
    });
  });
});

describe("names of ours", () => {
  const OURS = "vault.secret.svc.clusterset.local";

  it.each<[string, Answer[], string?]>([
    ["a CNAME record points to", [cname(NAME, OURS), address("192.0.2.1", OURS)]],
    ["a chain points to", [cname(NAME, "a.example"), cname("a.example", "web.OURS.example.com")]],
    ["a CNAME record points to, for the question CNAME", [cname(NAME, OURS)], "CNAME"],
    ["a CNAME record points to, for the question ANY", [cname(NAME, OURS)], "ANY"],
    ["that are never forwarded, a CNAME record points to", [cname(NAME, "localhost")]],
    ["alone are answered", [address("192.0.2.1", OURS)]],
  ])("that %s are never passed on", (_, answers, type = "A") => {
    expect(scrub({ answers, authorities: [soaRecord(60, 60)] }, { type })).toMatchObject(BLOCKED);
  });

  it("that an HTTPS record points to are never passed on (RFC 9460 section 2.4)", () => {
    const data = Buffer.concat([Buffer.from([0, 1]), wire(OURS)]);
    expect(scrub({ answers: [unknown("UNKNOWN_65", data)] }, { type: "UNKNOWN_65" })).toMatchObject(BLOCKED);
  });

  it("beside other records are removed alone", () => {
    expect(scrub({ answers: [address("192.0.2.1"), address("192.0.2.2", OURS)] })).toMatchObject({
      answers: [`${NAME} A 192.0.2.1`],
      errors: [],
      dropped: { "own-zone": 1 },
    });
  });

  it("are in the chain of a name that is trusted, with their records: a stub resolver does not look for them", () => {
    const name = "www.corp.example";
    const answers = [cname(name, OURS), address("192.0.2.1", OURS), address("192.0.2.2", `other.${OURS}`)];
    expect(scrub({ answers }, { name })).toMatchObject({
      answers: [`${name} CNAME ${OURS}`, `${OURS} A 192.0.2.1`],
      errors: [],
    });
    expect(scrub({ answers: [cname(name, OURS)] }, { name })).toMatchObject({
      answers: [`${name} CNAME ${OURS}`],
      errors: [],
    });
  });
});

describe("private addresses", () => {
  it.each([
    "0.0.0.0",
    "10.1.2.3",
    "100.64.0.1",
    "127.0.0.1",
    "169.254.169.254",
    "172.31.255.255",
    "192.168.0.1",
    "255.255.255.255",
    "203.0.113.7",
  ])("%s is not the address of a public name (RFC 1918 and others)", (data) => {
    expect(scrub({ answers: [address(data)] })).toMatchObject(BLOCKED);
  });

  it.each([
    "::",
    "::1",
    "fd00::1",
    "fe80::1",
    "fec0::1",
    "::ffff:10.0.0.1",
    "::10.0.0.1",
    "::ffff:0:10.0.0.1",
    "64:ff9b::10.0.0.1",
    "64:ff9b:1::192.168.0.1",
    "2002:a00:1::1",
    "::ffff:203.0.113.7",
  ])("%s is not either (RFC 4291, RFC 4193, RFC 6052, RFC 8215, RFC 3056)", (data) => {
    expect(scrub({ answers: [aaaa(data)] }, { type: "AAAA" })).toMatchObject(BLOCKED);
  });

  it.each(["192.0.2.1", "10.9.0.1", "9.255.255.255", "100.128.0.0", "172.32.0.1"])("%s may be", (data) => {
    expect(scrub({ answers: [address(data)] })).toMatchObject({
      answers: [`${NAME} A ${data}`],
      dropped: {},
    });
  });

  it.each([
    "2001:db8::1",
    "64:ff9b::192.0.2.1",
    "64:ff9b:1::192.0.2.1",
    "2002:c000:201::1",
    "64:ff9b::10.9.0.1",
  ])("%s may be", (data) => {
    expect(scrub({ answers: [aaaa(data)] }, { type: "AAAA" })!.answers).toHaveLength(1);
  });

  it("go one by one, with the signature of what is no longer whole", () => {
    expect(scrub({ answers: [address("10.0.0.1"), address("192.0.2.1"), rrsig(NAME, "A")] })).toMatchObject({
      answers: [`${NAME} A 192.0.2.1`],
      errors: [],
      dropped: { "private-address": 1, unrelated: 1 },
    });
  });

  it("behind a chain leave nothing of it", () => {
    const answers = [cname(NAME, "a.example"), address("10.0.0.1", "a.example")];
    expect(scrub({ answers, authorities: [soaRecord(60, 60)] })).toMatchObject(BLOCKED);
  });

  it.each([
    ["ipv4hint", [0, 4, 0, 8, 192, 0, 2, 1, 10, 0, 0, 1], 0],
    ["ipv6hint", [0, 6, 0, 16, 0xfd, ...Array<number>(15).fill(0)], 0],
    ["a hint that is cut off", [0, 4, 0, 3, 10, 0, 0], 0],
    ["a public hint", [0, 4, 0, 4, 192, 0, 2, 1], 1],
  ])("in SVCB and HTTPS records count, too: %s (RFC 9460 section 7.3)", (_, parameters, kept) => {
    const data = Buffer.from([0, 1, 0, ...parameters]);
    for (const type of ["UNKNOWN_64", "UNKNOWN_65"])
      expect(scrub({ answers: [unknown(type, data)] }, { type })!.answers).toHaveLength(kept);
  });

  it("are passed on for names that may have them, also at CNAME targets; not for other names with such targets", () => {
    const name = "www.Corp.example";
    const answers = (from: string) => [cname(from, "lb.example.net"), address("10.0.0.1", "lb.example.net")];
    expect(scrub({ answers: answers(name) }, { name })!.answers).toHaveLength(2);
    expect(scrub({ answers: [cname(NAME, name), address("10.0.0.1", name)] })).toMatchObject(BLOCKED);
    expect(scrub({ answers: answers("notcorp.example") }, { name: "notcorp.example" })).toMatchObject(
      BLOCKED,
    );
  });
});

describe("whatever an upstream sends", () => {
  const message = queryFor(NAME, withEdns);
  const names = [NAME, "a.example.com", "b.example.net", "example.com", "web.clusterset.local"];
  const name = fc.constantFrom(...names);
  const record: fc.Arbitrary<Answer> = fc.oneof(
    fc.tuple(name, fc.ipV4()).map(([owner, data]) => address(data, owner)),
    fc.tuple(name, fc.ipV6()).map(([owner, data]) => aaaa(data, owner)),
    fc.tuple(name, name).map(([owner, data]) => cname(owner, data)),
    fc.tuple(name, fc.constantFrom("A", "CNAME", "SOA")).map(([owner, type]) => rrsig(owner, type)),
    name.map((owner) => soaRecord(60, 60, owner)),
    name.map(
      (owner): Answer => ({ type: "MX", name: owner, ttl: 5, data: { preference: 1, exchange: owner } }),
    ),
  );
  const records = fc.array(record, { maxLength: 8 });
  const damage = fc.array(fc.tuple(fc.nat(400), fc.nat(255)), { maxLength: 6 });

  it("nothing throws, what is left was there, and is readable where it was readable", () => {
    fc.assert(
      fc.property(records, records, records, damage, (answers, authorities, additionals, changes) => {
        const bytes = answerTo(message, { answers, authorities, additionals });
        for (const [at, byte] of changes) if (at < bytes.length) bytes[at] = byte;
        const read = readUpstreamAnswer(message, bytes);
        if (read === undefined) return;
        const scrubbed = scrubAnswer(read, RULES)!;
        const { answers: left, authorities: leftBelow } = scrubbed.answer;
        expect(left).toBeLessThanOrEqual(read.answers);
        expect(leftBelow).toBeLessThanOrEqual(read.authorities);
        const given = relayed(message, scrubbed.answer).bytes;
        let before: ReturnType<typeof decoded>;
        try {
          before = decoded(bytes);
        } catch {
          return;
        }
        // dns-packet passes over RDLENGTH, and so takes other bytes for records where the data of one is
        // malformed.
        if (ownersOf(before).join() !== ownersRead(bytes).join()) return;
        const after = decoded(given);
        expect(after.additionals?.every(({ type }) => type === "OPT")).toBe(true);
        for (const section of ["answers", "authorities"] as const) {
          const there = before[section]!.map(canonical);
          for (const one of after[section]!) expect(there).toContain(canonical(one));
          for (const { name: owner } of after[section]!)
            expect(owner.toLowerCase()).not.toMatch(/(^|\.)clusterset\.local$/);
        }
        for (const one of after.answers!)
          if (one.type === "A") expect(one.data).not.toMatch(/^(?:10\.(?!9\.)|127\.|0\.|192\.168\.)/);
      }),
      { numRuns: 2000 },
    );
  });

  it("what is left stays as it is when it is scrubbed again", () => {
    fc.assert(
      fc.property(records, records, (answers, authorities) => {
        const once = scrub({ answers, authorities })!;
        const twice = scrubBytes(message, once.relayed)!;
        expect([twice.answers, twice.authorities, twice.dropped]).toEqual([
          once.answers,
          once.authorities,
          {},
        ]);
      }),
    );
  });
});

/** The owner names of all records, as dns-packet and as RDLENGTH has them. */
function ownersOf({
  answers = [],
  authorities = [],
  additionals = [],
}: ReturnType<typeof decoded>): string[] {
  return [...answers, ...authorities, ...additionals].map(({ name }) => name.toLowerCase());
}

function ownersRead(bytes: Uint8Array): string[] {
  const owners: string[] = [];
  const read = { bytes, answers: readWord(bytes, 6) + readWord(bytes, 10), authorities: readWord(bytes, 8) };
  for (const { owner } of readEntries(read, readName(bytes, 12) + 4))
    owners.push(
      Array.from({ length: owner.folded.labels }, (_, label) => labelText(owner.folded, label)).join(".") ||
        ".",
    );
  return owners;
}

/** Without the TTL, which is bounded (`cached-answer.test.ts`). */
function canonical(record: Answer): string {
  const { ttl: _, ...rest } = record as { readonly ttl?: number };
  return JSON.stringify(rest).toLowerCase();
}

function wire(name: string): Buffer {
  return Buffer.concat([
    ...name.split(".").map((label) => Buffer.from(`${String.fromCharCode(label.length)}${label}`)),
    Buffer.alloc(1),
  ]);
}

/** A record of a type that dns-packet has no name for: SVCB is 64, HTTPS 65. */
function unknown(type: string, data: Buffer): Answer {
  return { type, name: NAME, ttl: 30, data } as unknown as Answer;
}
