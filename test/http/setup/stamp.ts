/** A parsed DNS stamp of a DoH server. */
export interface Stamp {
  readonly protocol: number;
  readonly properties: bigint;
  readonly address: string;
  readonly hashes: readonly Buffer[];
  readonly host: string;
  readonly path: string;
}

/** Parses a stamp by draft-denis-dns-stamps; extra bytes are an error. */
export function readStamp(stamp: string): Stamp {
  const encoded = /^sdns:\/\/([\w-]+)$/.exec(stamp)![1]!;
  const bytes = Buffer.from(encoded, "base64url");
  let at = 9;
  const take = (length: number) => {
    if (at + length > bytes.length) throw new Error("cut off");
    at += length;
    return bytes.subarray(at - length, at);
  };
  const prefixed = () => take(take(1)[0]!);
  const address = prefixed().toString();
  const hashes: Buffer[] = [];
  for (let more = true; more; ) {
    const length = take(1)[0]!;
    more = length >= 0x80;
    const hash = take(length & 0x7f);
    if (hash.length > 0) hashes.push(hash);
  }
  const read = {
    protocol: bytes[0]!,
    properties: bytes.readBigUInt64LE(1),
    address,
    hashes,
    host: prefixed().toString(),
    path: prefixed().toString(),
  };
  if (at !== bytes.length) throw new Error(`${bytes.length - at} bytes left over`);
  return read;
}
