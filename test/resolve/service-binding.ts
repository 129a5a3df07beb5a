import { formatAddress } from "../../src/dns/address.ts";
import { formatName } from "../../src/dns/name.ts";

const KEYS = ["mandatory", "alpn", "no-default-alpn", "port", "ipv4hint", "ech", "ipv6hint", "dohpath"];

/** The RDATA of an SVCB record as in a zone file (RFC 9460 section 2.1); its parameters must be in order. */
export function formatServiceBinding(rdata: Uint8Array): string {
  const view = new DataView(rdata.buffer, rdata.byteOffset, rdata.length);
  const targetEnd = rdata.indexOf(0, 2) + 1;
  const words = [String(view.getUint16(0)), formatName(rdata, 2)];
  let last = -1;
  for (let at = targetEnd; at < rdata.length; ) {
    const key = view.getUint16(at);
    const value = rdata.subarray(at + 4, at + 4 + view.getUint16(at + 2));
    if (key <= last) throw new Error(`key ${key} stands behind key ${last}`);
    last = key;
    words.push(`${KEYS[key]}=${formatValue(key, value)}`);
    at += 4 + value.length;
    if (at > rdata.length) throw new Error("a parameter is longer than the record");
  }
  return words.join(" ");
}

function formatValue(key: number, value: Uint8Array): string {
  if (key === 1) return splitAlpn(value).join(",");
  if (key === 3) return String((value[0]! << 8) | value[1]!);
  if (key === 7) return Buffer.from(value).toString("utf8");
  const size = key === 4 ? 4 : 16;
  const addresses: string[] = [];
  for (let at = 0; at < value.length; at += size)
    addresses.push(formatAddress(value.subarray(at, at + size)));
  return addresses.join(",");
}

function splitAlpn(value: Uint8Array): string[] {
  const names: string[] = [];
  for (let at = 0; at < value.length; at += value[at]! + 1)
    names.push(Buffer.from(value.subarray(at + 1, at + 1 + value[at]!)).toString("ascii"));
  return names;
}
