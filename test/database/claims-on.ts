import { claimBucket, hexOf } from "../../src/database/places.ts";
import { type Claim, type Reader, readClaims } from "../../src/database/reader.ts";

/** The services for which clusters report an address, of all clusters, whatever their state. */
export function claimsOn(reader: Reader, address: Uint8Array): Claim[] {
  const hex = hexOf(address);
  return reader
    .claimsIn(claimBucket(hex))
    .flatMap(({ cluster, text }) => readClaims(cluster, JSON.parse(text), hex));
}
