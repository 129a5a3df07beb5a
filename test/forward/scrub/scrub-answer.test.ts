import type { Answer } from "dns-packet";
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
import { errorsIn, rrsigRecord, soaRecord, withEdns } from "../fake-forwarder.ts";
import { answerTo, decoded, queryFor, relayed } from "../fake-upstreams.ts";

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

type Given = string | Answer;

/** A record as text: `NAME TYPE DATA`; of an SOA record the name. */
function record(given: Given): Answer {
  if (typeof given !== "string") return given;
  const [name, type, data] = given.split(" ") as [string, "A", string];
  return data === undefined ? soaRecord(60, 60, name) : { type, name, ttl: 30, data };
}

/** What a client gets of an answer. */
function scrub(
  answers: readonly Given[],
  {
    name = NAME,
    type = "A",
    rcode = 0,
    authorities = [] as readonly Given[],
    additionals = [] as readonly Given[],
  } = {},
) {
  const message = queryFor(name, withEdns, type);
  const [given, below, beside] = [answers, authorities, additionals].map((one) => one.map(record));
  const packet = { rcode, answers: given!, authorities: below!, additionals: beside! };
  const scrubbed = scrubAnswer(readUpstreamAnswer(message, answerTo(message, packet))!, RULES)!;
  const bytes = relayed(message, scrubbed.answer).bytes;
  const said = decoded(bytes);
  const inShort = (records: readonly Answer[] = []) =>
    records.flatMap((one) => (one.type === "OPT" ? [] : `${one.name} ${one.type} ${dataOf(one)}`));
  return {
    rcode: said.rcode,
    errors: errorsIn(bytes),
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

const W = `${NAME} A 192.0.2.1`;
const OURS = "vault.secret.svc.clusterset.local";
const BLOCKED = { rcode: "NOERROR", errors: [15], answers: [], authorities: [], additionals: [] };

describe("records that do not belong to the question are removed", () => {
  const V6 = `${NAME} AAAA 2001:db8::1`;
  const CHAIN = [
    `${NAME} CNAME a.example.net`,
    "a.example.net CNAME b.example.org",
    "b.example.org A 192.0.2.1",
  ];
  const SECOND = [`${NAME} CNAME c.example.net`, "c.example.net A 192.0.2.2"];

  it.each<[string, Given[], string[], object, string?]>([
    [
      "of other names, types and classes",
      ["bank.example.net A 192.0.2.9", W, `${NAME} TXT x`, { ...record(W), class: "CH" } as Answer],
      [W],
      { unrelated: 3 },
    ],
    [
      "all but the chain, in any order",
      [...CHAIN.toReversed(), "a.example A 192.0.2.9"],
      CHAIN,
      { unrelated: 1 },
    ],
    ["of two CNAME records of one name, the second", [...CHAIN, ...SECOND], CHAIN, { unrelated: 2 }],
    ["a chain that is a circle", [CHAIN[0]!, `a.example.net CNAME ${NAME}`], [CHAIN[0]!], { unrelated: 1 }],
    [
      "none of a name's types for ANY",
      [W, V6, "other.example A 192.0.2.1"],
      [W, V6],
      { unrelated: 1 },
      "ANY",
    ],
    ["of ours, alone", [W, `${OURS} A 192.0.2.2`], [W], { "own-zone": 1 }],
    [
      "with private addresses, and the signature of what is no longer whole",
      [`${NAME} A 10.0.0.1`, W, rrsigRecord(NAME, "A")],
      [W],
      { "private-address": 1, unrelated: 1 },
    ],
  ])("%s", (_, answers, left, dropped, type = "A") => {
    const given = scrub(answers, { type });
    expect(given).toMatchObject({ errors: [], dropped });
    expect(given.answers.toSorted()).toEqual(left.toSorted());
  });

  it("all behind a chain's sixteenth CNAME", () => {
    const names = [NAME, ...Array.from({ length: 17 }, (_, index) => `${index + 1}.example.net`)];
    const chain = (length: number) => [
      ...names.slice(0, length).map((name, index) => `${name} CNAME ${names[index + 1]}`),
      `${names[length]} A 192.0.2.1`,
    ];
    expect(scrub(chain(16))).toMatchObject({ dropped: {} });
    const given = scrub(chain(17));
    expect(given).toMatchObject({ errors: [], dropped: { unrelated: 2 } });
    expect(given.answers.at(-1)).toBe("15.example.net CNAME 16.example.net");
  });

  it("the additional section, and in the authority section all but denials of zones that the chain is in", () => {
    const authorities = [
      "example.com NS ns.evil.example",
      "example.com",
      "example.net",
      "example.com A 192.0.2.9",
    ];
    const additionals = ["ns.evil.example A 192.0.2.9", optRecord() as Answer];
    expect(scrub([], { rcode: 3, authorities, additionals })).toMatchObject({
      rcode: "NXDOMAIN",
      authorities: ["example.com SOA "],
      additionals: [],
      dropped: { unrelated: 3 },
    });
  });

  it("not signatures and DNAME records of the chain, and proofs of the signer's zone (RFC 4035, RFC 6672)", () => {
    const target = "www.example.net";
    const nsec = (name: string): Answer => {
      const data = { nextDomain: "z.example.net", rrtypes: ["A"] };
      return { type: "NSEC", name, ttl: 30, data };
    };
    const answers = [
      "example.com DNAME example.net",
      rrsigRecord("example.com", "DNAME"),
      `${NAME} CNAME ${target}`,
      `${target} A 192.0.2.1`,
      rrsigRecord(target, "A", "example.net"),
    ];
    const authorities = [nsec("wild.example.net"), rrsigRecord("wild.example.net", "NSEC", "example.net")];
    const given = scrub(answers, { authorities });
    expect([given.answers.length, given.authorities.length, given.dropped]).toEqual([5, 2, {}]);
    const more = [...answers, rrsigRecord(target, "TXT"), rrsigRecord("example.org", "A")];
    const foreign = [nsec("wild.example.org"), rrsigRecord("example.org", "NSEC")];
    const dropped = { unrelated: 4 };
    expect(scrub(more, { authorities: [...authorities, ...foreign] })).toEqual({ ...given, dropped });
  });

  it("keeps names whole that point into what is left out (RFC 1035 section 4.1.4)", () => {
    const left = [`${NAME} CNAME y.cdn.example.net`, "y.cdn.example.net A 192.0.2.1"];
    const authorities = ["cdn.example.net"];
    expect(scrub(["x.cdn.example.net A 192.0.2.9", ...left], { authorities })).toMatchObject({
      answers: left,
      authorities: ["cdn.example.net SOA "],
    });
  });
});

describe("names of ours", () => {
  it.each<[string, Given[], string?]>([
    ["a CNAME record points to", [`${NAME} CNAME ${OURS}`, `${OURS} A 192.0.2.1`]],
    ["a chain points to", [`${NAME} CNAME a.example`, "a.example CNAME web.OURS.example.com"]],
    ["a CNAME record points to, for the question CNAME", [`${NAME} CNAME ${OURS}`], "CNAME"],
    ["a CNAME record points to, for the question ANY", [`${NAME} CNAME ${OURS}`], "ANY"],
    ["are never forwarded, and a CNAME record points to", [`${NAME} CNAME localhost`]],
    ["an HTTPS record points to (RFC 9460 section 2.4)", [unknown("UNKNOWN_65", wire(OURS))], "UNKNOWN_65"],
    ["are answered alone", [`${OURS} A 192.0.2.1`]],
  ])("that %s are never passed on", (_, answers, type = "A") => {
    expect(scrub(answers, { type, authorities: ["example.com"] })).toMatchObject(BLOCKED);
  });

  it("are in the chain of a name that is trusted, with their records: a stub resolver does not look for them", () => {
    const name = "www.corp.example";
    const left = [`${name} CNAME ${OURS}`, `${OURS} A 192.0.2.1`];
    const given = scrub([...left, `other.${OURS} A 192.0.2.2`], { name });
    expect(given).toMatchObject({ answers: left, errors: [] });
    const alone = left.slice(0, 1);
    expect(scrub(alone, { name })).toMatchObject({ answers: alone, errors: [] });
  });
});

describe("private addresses", () => {
  /** The answer to the question for an address. */
  const scrubAddress = (data: string) => {
    const type = data.includes(":") ? "AAAA" : "A";
    return scrub([`${NAME} ${type} ${data}`], { type });
  };

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
  ])("%s is not the address of a public name (RFC 1918, 4291, 4193, 6052, 8215, 3056)", (data) => {
    expect(scrubAddress(data)).toMatchObject(BLOCKED);
  });

  it.each([
    "10.9.0.1",
    "9.255.255.255",
    "100.128.0.0",
    "172.32.0.1",
    "2001:db8::1",
    "64:ff9b::192.0.2.1",
    "64:ff9b:1::192.0.2.1",
    "2002:c000:201::1",
    "64:ff9b::10.9.0.1",
  ])("%s may be", (data) => {
    const given = scrubAddress(data);
    expect([given.answers.length, given.dropped]).toEqual([1, {}]);
  });

  it("behind a chain leave nothing of it", () => {
    const answers = [`${NAME} CNAME a.example`, "a.example A 10.0.0.1"];
    expect(scrub(answers, { authorities: ["example.com"] })).toMatchObject(BLOCKED);
  });

  it.each([
    ["ipv4hint", [0, 4, 0, 8, 192, 0, 2, 1, 10, 0, 0, 1], 0],
    ["ipv6hint", [0, 6, 0, 16, 0xfd, ...Array<number>(15).fill(0)], 0],
    ["a hint that is cut off", [0, 4, 0, 3, 10, 0, 0], 0],
    ["a public hint", [0, 4, 0, 4, 192, 0, 2, 1], 1],
  ])("in SVCB and HTTPS records count, too: %s (RFC 9460 section 7.3)", (_, parameters, kept) => {
    for (const type of ["UNKNOWN_64", "UNKNOWN_65"])
      expect(scrub([unknown(type, Buffer.from([0, ...parameters]))], { type }).answers).toHaveLength(kept);
  });

  it("are passed on for names that may have them, also at CNAME targets; not for other names with such targets", () => {
    const name = "www.Corp.example";
    const answers = (from: string) => [`${from} CNAME lb.example.net`, "lb.example.net A 10.0.0.1"];
    expect(scrub(answers(name), { name }).answers).toHaveLength(2);
    expect(scrub([`${NAME} CNAME ${name}`, `${name} A 10.0.0.1`])).toMatchObject(BLOCKED);
    expect(scrub(answers("notcorp.example"), { name: "notcorp.example" })).toMatchObject(BLOCKED);
  });
});

it("whatever an upstream sends: nothing throws, what is left was there, and is readable where it was readable", () => {
  const message = queryFor(NAME, withEdns);
  const names = [NAME, "a.example.com", "b.example.net", "example.com", "web.clusterset.local"];
  const name = fc.constantFrom(...names);
  const any: fc.Arbitrary<Answer> = fc.oneof(
    fc.tuple(name, fc.ipV4()).map(([owner, data]) => record(`${owner} A ${data}`)),
    fc.tuple(name, fc.ipV6()).map(([owner, data]) => record(`${owner} AAAA ${data}`)),
    fc.tuple(name, name).map(([owner, data]) => record(`${owner} CNAME ${data}`)),
    fc.tuple(name, fc.constantFrom("A", "CNAME", "SOA")).map(([owner, type]) => rrsigRecord(owner, type)),
    name.map((owner) => soaRecord(60, 60, owner)),
    name.map(
      (owner) => ({ type: "MX", name: owner, ttl: 5, data: { preference: 1, exchange: owner } }) as const,
    ),
  );
  const records = fc.array(any, { maxLength: 8 });
  const damage = fc.array(fc.tuple(fc.nat(400), fc.nat(255)), { maxLength: 6 });
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

/** The owner names of all records, as dns-packet and as RDLENGTH has them. */
function ownersOf({
  answers = [],
  authorities = [],
  additionals = [],
}: ReturnType<typeof decoded>): string[] {
  return [...answers, ...authorities, ...additionals].map(({ name }) => name.toLowerCase());
}

function ownersRead(bytes: Uint8Array): string[] {
  const read = { bytes, answers: readWord(bytes, 6) + readWord(bytes, 10), authorities: readWord(bytes, 8) };
  return readEntries(read, readName(bytes, 12) + 4).map(({ owner: { folded } }) => {
    const labels = Array.from({ length: folded.labels }, (_, label) => labelText(folded, label));
    return labels.join(".") || ".";
  });
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

/** A record of a type that dns-packet has no name for, SVCB is 64, HTTPS 65, of priority 1. */
function unknown(type: string, data: Buffer): Answer {
  return { type, name: NAME, ttl: 30, data: Buffer.concat([Buffer.from([0, 1]), data]) } as unknown as Answer;
}
