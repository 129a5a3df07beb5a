import { decode } from "dns-packet";

const EXTENDED_ERROR = 15;

/** The codes of an answer's Extended DNS Errors (RFC 8914), in their order. */
export function extendedErrors(bytes: Uint8Array): number[] {
  const codes: number[] = [];
  for (const record of decode(Buffer.from(bytes)).additionals ?? [])
    if (record.type === "OPT")
      for (const option of record.options)
        if (Number(option.code) === EXTENDED_ERROR && option.data) codes.push(option.data.readUInt16BE(0));
  return codes;
}

/** An answer without the Extended DNS Errors at its end; those must have no text. */
export function withoutExtendedErrors(bytes: Uint8Array): Uint8Array {
  const optionBytes = extendedErrors(bytes).length * 6;
  if (optionBytes === 0) return bytes;
  const shortened = bytes.slice(0, bytes.length - optionBytes);
  const lengthAt = shortened.length - 2;
  const view = new DataView(bytes.buffer, bytes.byteOffset);
  const left = view.getUint16(lengthAt) - optionBytes;
  shortened[lengthAt] = left >> 8;
  shortened[lengthAt + 1] = left;
  return shortened;
}
