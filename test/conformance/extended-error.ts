import { decode } from "dns-packet";

const EXTENDED_ERROR_OPTION = 15;

/** The code of the first Extended DNS Error (RFC 8914 section 2) of a message; undefined where there is none. */
export function readExtendedError(message: Uint8Array): number | undefined {
  for (const record of decode(Buffer.from(message)).additionals ?? []) {
    if (record.type !== "OPT") continue;
    for (const { code, data } of record.options)
      if (Number(code) === EXTENDED_ERROR_OPTION && data) return data.readUInt16BE(0);
  }
  return undefined;
}
