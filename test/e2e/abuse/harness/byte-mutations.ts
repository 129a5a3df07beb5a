import type { Random } from "./random.ts";

const MOST_MUTATIONS = 3;
/** What parsers of text and of lengths stumble on. */
const TOKENS = [
  "\r\n",
  "\n",
  "\r",
  "\0",
  " ",
  ":",
  "\r\n\r\n",
  "0\r\n\r\n",
  "-1",
  "ffffffff",
  "99999999999999999999",
  "\xff",
  "content-length: 1\r\n",
  "transfer-encoding: chunked\r\n",
  "connection: close\r\n",
  "expect: 100-continue\r\n",
];

/**
 * The same bytes with up to three mutations: bits, numbers, parts that are repeated, left out, moved, cut off
 * or new.
 */
export function mutateBytes(random: Random, bytes: Buffer): Buffer {
  let mutated = bytes;
  for (let left = 1 + random.below(MOST_MUTATIONS); left > 0; left--) mutated = mutate(random, mutated);
  return mutated;
}

function mutate(random: Random, bytes: Buffer): Buffer {
  const at = random.below(bytes.length + 1);
  const end = Math.min(bytes.length, at + random.below(40));
  const before = bytes.subarray(0, at);
  const changed = Buffer.from(bytes);
  switch (random.below(8)) {
    case 0:
    case 1:
      if (at < bytes.length) changed[at]! ^= 1 << random.below(8);
      return changed;
    case 2:
      return Buffer.concat([before, bytes.subarray(at, end), bytes.subarray(at)]);
    case 3:
      return Buffer.concat([before, bytes.subarray(end)]);
    case 4:
      return Buffer.concat([before, Buffer.from(random.pick(TOKENS), "latin1"), bytes.subarray(at)]);
    case 5:
      return Buffer.concat([before, random.bytes(1 + random.below(8)), bytes.subarray(at)]);
    // Digits may be a length.
    case 6:
      return digitsChanged(random, changed);
    default:
      return random.once(3) ? before : Buffer.concat([bytes.subarray(at, end), before, bytes.subarray(end)]);
  }
}

function digitsChanged(random: Random, bytes: Buffer): Buffer {
  const isDigit = (byte: number) => byte >= 0x30 && byte <= 0x39;
  const places = [...bytes.keys()].filter((index) => isDigit(bytes[index]!));
  if (places.length > 0) bytes[random.pick(places)] = 0x30 + random.below(10);
  return bytes;
}
