import type { ZoneImage } from "./image.ts";
import { listRecords } from "./listing.ts";

/**
 * Writes what one asker sees of a zone as a zone file (RFC 1035 section 5), names absolute, one record a line.
 * @throws {RangeError} when the image has no such zone or view.
 */
export function* writeZoneFile(
  image: ZoneImage,
  options: { readonly zone?: string | undefined; readonly view?: string | undefined } = {},
): Generator<string> {
  for (const { name, ttl, type, rdata } of listRecords(image, options))
    yield `${name}\t${ttl}\tIN\t${type}\t${rdata}`;
}
