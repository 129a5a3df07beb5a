import { RecordType } from "../../dns/codes.ts";
import { optionEnd, type RecordPlace, readName, readWord } from "../../dns/wire-reader.ts";

/** Keys of SVCB parameters (RFC 9460 section 14.3.2), and the length of an address. */
const HINTS: ReadonlyMap<number, number> = new Map([
  [4, 4],
  [6, 16],
]);
const PARAMETER_HEADER_BYTES = 4;

/** The addresses in the data of an A, AAAA, SVCB or HTTPS record; none in others. Undefined if the data is malformed. */
export function findAddresses(
  bytes: Uint8Array,
  { type, dataStart, end }: RecordPlace,
): Uint8Array[] | undefined {
  switch (type) {
    case RecordType.A:
      return end - dataStart === 4 ? [bytes.subarray(dataStart, end)] : undefined;
    case RecordType.AAAA:
      return end - dataStart === 16 ? [bytes.subarray(dataStart, end)] : undefined;
    case RecordType.SVCB:
    case RecordType.HTTPS:
      return findHints(bytes, dataStart, end);
    default:
      return [];
  }
}

/** The addresses of `ipv4hint` and `ipv6hint` (RFC 9460 section 7.3). */
function findHints(bytes: Uint8Array, dataStart: number, end: number): Uint8Array[] | undefined {
  const hints: Uint8Array[] = [];
  let at = end - dataStart < 3 ? -1 : readName(bytes, dataStart + 2);
  if (at < 0 || at > end) return undefined;
  while (at < end) {
    // A parameter has the form of an EDNS option: key, length, value.
    const next = optionEnd(bytes, at, end);
    if (next < 0) return undefined;
    const length = HINTS.get(readWord(bytes, at));
    if (length !== undefined) {
      const value = bytes.subarray(at + PARAMETER_HEADER_BYTES, next);
      if (value.length === 0 || value.length % length !== 0) return undefined;
      for (let from = 0; from < value.length; from += length) hints.push(value.subarray(from, from + length));
    }
    at = next;
  }
  return hints;
}
