import { randomFillSync } from "node:crypto";
import { HEADER_BYTES, MAX_NAME_BYTES } from "../../../dns/codes.ts";
import { FOLD } from "../../../dns/name.ts";
import { readName, readRecord } from "../../../dns/wire-reader.ts";

const CASE_BIT = 0x20;
/** Random bytes, unused from `randomUsed` on: many at once cost as much as one. */
const random = new Uint8Array(4096);
let randomUsed = random.length;

/**
 * Randomizes the case of the letters in the question's name, in place. Servers ignore case but echo the name unchanged, so each
 * letter is one more bit that a forger of answers must guess (draft-vixie-dnsext-dns0x20).
 */
export function randomizeCase(query: Uint8Array): void {
  if (randomUsed + MAX_NAME_BYTES > random.length) {
    randomFillSync(random);
    randomUsed = 0;
  }
  forEachLetter(query, (at) => {
    if ((random[randomUsed++]! & 1) === 1) query[at] = query[at]! ^ CASE_BIT;
  });
}

/** Whether the question's name has the same case in both messages; their questions are otherwise equal. */
export function hasSameCase(query: Uint8Array, answer: Uint8Array): boolean {
  const end = HEADER_BYTES + nameLength(query);
  for (let at = HEADER_BYTES; at < end; at++) if (query[at] !== answer[at]) return false;
  return true;
}

/** Restores the query's case in the question's name and in records with that name, in place. The questions are otherwise equal. */
export function restoreCase(query: Uint8Array, answer: Uint8Array): void {
  const name = query.subarray(HEADER_BYTES, HEADER_BYTES + nameLength(query));
  answer.set(name, HEADER_BYTES);
  let position = HEADER_BYTES + name.length + 4;
  for (
    let record = readRecord(answer, position);
    record !== undefined;
    record = readRecord(answer, position)
  ) {
    if (isName(answer, record.start, name)) answer.set(name, record.start);
    position = record.end;
  }
}

function nameLength(message: Uint8Array): number {
  return readName(message, HEADER_BYTES) - HEADER_BYTES;
}

function forEachLetter(message: Uint8Array, visit: (at: number) => void): void {
  for (let label = HEADER_BYTES; message[label] !== 0; label += message[label]! + 1)
    for (let at = label + 1; at <= label + message[label]!; at++) {
      const letter = message[at]! | CASE_BIT;
      if (letter >= 0x61 && letter <= 0x7a) visit(at);
    }
}

function isName(message: Uint8Array, start: number, name: Uint8Array): boolean {
  for (const [index, byte] of name.entries())
    if (FOLD[message[start + index] ?? 0] !== FOLD[byte]) return false;
  return true;
}
