import { FOLD } from "../../../dns/name.ts";
import { hashLabel } from "../name-hash.ts";

/*
 * Runs: one or more labels of a name that follow each other, in the heap of a segment (layout.ts).
 */

const starts = new Uint8Array(128);
const folded = new Uint8Array(64);

/** The hash of the name that consists of a run and a parent's name, letters folded. */
export function hashRun(parentHash: number, bytes: Uint8Array, run: number): number {
  const end = run + 1 + bytes[run]!;
  let labels = 0;
  for (let at = run + 1; at < end; at += bytes[at]! + 1) starts[labels++] = at - run;
  let hash = parentHash;
  while (labels-- > 0) {
    const at = run + starts[labels]!;
    const length = bytes[at]!;
    for (let index = 0; index < length; index++) folded[index] = FOLD[bytes[at + 1 + index]!]!;
    hash = hashLabel(hash, folded, 0, length);
  }
  return hash;
}

/** Whether two runs have the same labels, whatever the case of letters. */
export function areSameRuns(bytes: Uint8Array, one: number, other: number): boolean {
  const length = bytes[one]!;
  if (length !== bytes[other]) return false;
  // A length byte is at most 63 and a letter is at least 65, so folding keeps the lengths.
  for (let index = 1; index <= length; index++)
    if (FOLD[bytes[one + index]!] !== FOLD[bytes[other + index]!]) return false;
  return true;
}

/** The labels of a run in text, the leftmost first; each byte becomes the character with its number. */
export function runLabels(bytes: Uint8Array, run: number): string[] {
  const end = run + 1 + bytes[run]!;
  const labels: string[] = [];
  for (let at = run + 1; at < end; at += bytes[at]! + 1)
    labels.push(String.fromCharCode(...bytes.subarray(at + 1, at + 1 + bytes[at]!)));
  return labels;
}
