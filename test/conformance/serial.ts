import type { Decoded } from "../resolve/ask.ts";

const SOA = /^(\S+ \d+ SOA \S+ \S+ )(\d+)( .*)$/;

/** An answer with the serial of a table instead of a host's, which is the time since `since` (RFC 1982). */
export function withSerial(seen: Decoded, serial: number, since: number): Decoded {
  const isOfHost = (text: string) =>
    Number(text) >= Math.floor(since / 1000) && Number(text) <= Math.ceil(Date.now() / 1000);
  const renumber = (records: readonly string[]) =>
    records.map((record) =>
      record.replace(SOA, (whole, before: string, found: string, after: string) =>
        isOfHost(found) ? `${before}${serial}${after}` : whole,
      ),
    );
  return { ...seen, answer: renumber(seen.answer), authority: renumber(seen.authority) };
}
