import { HpackError } from "./hpack-error.ts";

/** Bits of the code of each byte, and of EOS at last (RFC 7541, appendix B): the code is canonical, so that the lengths define it. */
// biome-ignore format: as in the appendix, 32 bytes a line
const CODE_LENGTHS = [
  13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 28,
  6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6, 5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 7, 8, 15, 6, 12, 10,
  13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6,
  15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5, 6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13, 28,
  20, 22, 20, 20, 22, 22, 22, 23, 22, 23, 23, 23, 23, 23, 24, 23, 24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24,
  22, 21, 20, 22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23, 21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23,
  26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25, 19, 21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27, 27,
  20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23, 26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26,
  30,
];
const EOS = 256;

/** Nodes of the code's tree that are not leaves; the root is 0. */
const NODES = 256;
const EMITS = 1 << 16;
const FAILS = 1 << 17;

/** For each node and the next four bits: the next node (bits 0 to 7), the byte that ends there (bits 8 to 15), `EMITS`, `FAILS`. No code has less than 5 bits. */
const STEPS = new Int32Array(NODES * 16);
/** The nodes at which a string may end: up to 7 bits, all ones (section 5.2). */
const MAY_END = new Uint8Array(NODES);

buildTables();

/**
 * Decodes the string in `bytes` from `start` to `end`.
 * @param scratch takes the decoded bytes: at least 8/5 as many
 * @returns how many there are
 * @throws {HpackError} for EOS in the string, and for padding that is longer than 7 bits or has a zero
 */
export function decodeHuffman(bytes: Uint8Array, start: number, end: number, scratch: Uint8Array): number {
  let node = 0;
  let length = 0;
  for (let at = start; at < end; at++) {
    const byte = bytes[at]!;
    let step = STEPS[(node << 4) | (byte >> 4)]!;
    if ((step & EMITS) !== 0) scratch[length++] = (step >> 8) & 0xff;
    if ((step & FAILS) !== 0) throw new HpackError("a string has the Huffman code of EOS");
    step = STEPS[((step & 0xff) << 4) | (byte & 15)]!;
    if ((step & EMITS) !== 0) scratch[length++] = (step >> 8) & 0xff;
    if ((step & FAILS) !== 0) throw new HpackError("a string has the Huffman code of EOS");
    node = step & 0xff;
  }
  if (MAY_END[node] === 0) throw new HpackError("a string's padding is no part of the Huffman code of EOS");
  return length;
}

function buildTables(): void {
  const children = buildTree();
  for (let node = 0; node < NODES; node++)
    for (let bits = 0; bits < 16; bits++) {
      let at = node;
      let step = 0;
      for (let bit = 3; bit >= 0; bit--) {
        const next = children[2 * at + ((bits >> bit) & 1)]!;
        if (next >= 0) at = next;
        else {
          const symbol = -1 - next;
          step |= symbol === EOS ? FAILS : EMITS | (symbol << 8);
          at = 0;
        }
      }
      STEPS[(node << 4) | bits] = step | at;
    }
  let node = 0;
  for (let bits = 0; bits <= 7; bits++) {
    MAY_END[node] = 1;
    node = children[2 * node + 1]!;
  }
}

/** Two children for each node: another node, or -1 - symbol for a leaf. */
function buildTree(): Int32Array {
  const children = new Int32Array(2 * NODES);
  const symbols = CODE_LENGTHS.map((_, symbol) => symbol);
  symbols.sort((one, other) => CODE_LENGTHS[one]! - CODE_LENGTHS[other]! || one - other);
  let nodes = 1;
  let code = 0;
  let length = 0;
  for (const symbol of symbols) {
    code <<= CODE_LENGTHS[symbol]! - length;
    length = CODE_LENGTHS[symbol]!;
    let node = 0;
    for (let bit = length - 1; bit > 0; bit--) {
      const slot = 2 * node + ((code >> bit) & 1);
      if (children[slot] === 0) children[slot] = nodes++;
      node = children[slot]!;
    }
    children[2 * node + (code & 1)] = -1 - symbol;
    code++;
  }
  return children;
}
