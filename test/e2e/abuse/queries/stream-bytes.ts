import { framed } from "../../../hosts/listeners/dns-clients.ts";
import { attackQueries } from "../../../resolve/hostile/attack-queries.ts";
import { BIG, WEB } from "../../clients/listening-gateway.ts";
import { queryBytes } from "../../servers/dns.ts";
import { mutateBytes } from "../harness/byte-mutations.ts";
import type { Random } from "../harness/random.ts";

/** Ordinary queries, with short and with long answers. */
const QUERIES = [
  queryBytes({ name: WEB, type: "A" }, 1),
  queryBytes({ name: WEB, type: "AAAA", edns: true }, 2),
  queryBytes({ name: BIG, type: "A", edns: true }, 3),
  queryBytes({ name: "clusterset.local", type: "SOA" }, 4),
];
const ATTACKS = attackQueries.map(({ query }) => query).filter(({ length }) => length < 2000);
const LONGEST_DATAGRAM = 65_507;

/** So many ordinary queries, each behind its length. */
export function pipelinedQueries(count: number): Buffer {
  return Buffer.concat(Array.from({ length: count }, (_, index) => framed(QUERIES[index % QUERIES.length]!)));
}

/** A message after its length or a wrong one; and bytes that are not a message. */
export function messageSequence(random: Random): Buffer {
  const query = random.pick(random.once(3) ? ATTACKS : QUERIES);
  switch (random.below(12)) {
    case 0:
      return Buffer.concat([framed(query), framed(mutateBytes(random, query))]);
    case 1:
      return mutateBytes(random, framed(query));
    // A length that lies.
    case 2:
      return withLength(random.pick([0, 1, 11, 12, query.length - 1, query.length + 1, 65_535]), query);
    case 3:
      return random.once(3) ? Buffer.of(0, 0) : framed(query);
    case 4:
      return random.once(3) ? random.bytes(random.below(100)) : framed(query);
    default:
      return framed(random.once(3) ? changed(random, query) : query);
  }
}

function withLength(length: number, message: Buffer): Buffer {
  return Buffer.concat([Buffer.of((length >> 8) & 255, length & 255), message]);
}

/** The same message with one byte behind its header changed: an error as a rule, but a query still. */
function changed(random: Random, message: Buffer): Buffer {
  if (message.length <= 12) return message;
  const copy = Buffer.from(message);
  copy[12 + random.below(copy.length - 12)] = random.below(256);
  return copy;
}

/** A datagram: a query that is mutated, bytes of any kind, or nothing. */
export function mutatedDatagram(random: Random): Buffer {
  switch (random.below(10)) {
    case 0:
      return random.bytes(random.below(64));
    case 1:
      return Buffer.alloc(0);
    case 2:
      return random.once(20) ? Buffer.alloc(LONGEST_DATAGRAM, random.below(256)) : random.pick(QUERIES);
    default:
      return mutateBytes(random, random.pick(random.once(2) ? ATTACKS : QUERIES)).subarray(
        0,
        LONGEST_DATAGRAM,
      );
  }
}

const HELLO = Buffer.concat([Buffer.from("16030100c8010000c40303", "hex"), Buffer.alloc(193, 7)]);
/**
 * Records of TLS (RFC 8446 section 5.1): a fatal alert, one to close, a warning, application data, a change
 * of ciphers, renegotiation.
 */
const RECORDS = [
  "15030300020228",
  "15030300020100",
  "150303000201ff",
  "1703030005aabbccddee",
  "140303000101",
  "16030300040000 0000",
];

/** Bytes that are not TLS at their place. */
export function brokenTls(random: Random): Buffer {
  switch (random.below(5)) {
    case 0:
      return HELLO.subarray(0, random.below(HELLO.length));
    case 1:
      return mutateBytes(random, HELLO);
    case 2:
      return random.bytes(1 + random.below(300));
    case 3:
      return pipelinedQueries(1 + random.below(20));
    default:
      return Buffer.from(random.pick(RECORDS).replace(" ", ""), "hex");
  }
}
