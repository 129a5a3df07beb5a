import { encodeField } from "../hpack/encoder.ts";
import { checkField } from "./field-check.ts";

export type ResponseFields = Readonly<Record<string, string>>;

/** Blocks by the object of the fields: answers share equal fields. By status, since one object may be of several. */
const shared = new WeakMap<ResponseFields, Map<number, Buffer>>();

/**
 * The field block of a response, without `date`. It is made once for fields that cannot change.
 * @throws {TypeError} for a field that HTTP/2 does not allow
 */
export function responseBlock(status: number, fields: ResponseFields): Buffer {
  const known = shared.get(fields)?.get(status);
  if (known !== undefined) return known;
  const encoded = [encodeField(":status", String(status))];
  for (const name of Object.keys(fields)) {
    const lower = name.toLowerCase();
    encoded.push(encodeField(lower, checked(lower, fields[name]!)));
  }
  const block = Buffer.concat(encoded);
  if (Object.isFrozen(fields)) {
    const blocks = shared.get(fields) ?? new Map<number, Buffer>();
    shared.set(fields, blocks.set(status, block));
  }
  return block;
}

/** A block with the `date` that it was last sent with. */
interface DatedBlock {
  date: Buffer;
  whole: Buffer;
}

const dated = new WeakMap<Buffer, DatedBlock>();

/**
 * The field block of a response with a field `date`. Blocks of fields that cannot change are put together once for each date.
 * @throws {TypeError} for a field that HTTP/2 does not allow
 */
export function datedBlock(status: number, fields: ResponseFields, date: Buffer): Buffer {
  const block = responseBlock(status, fields);
  const known = dated.get(block);
  if (known?.date === date) return known.whole;
  const whole = Buffer.concat([block, date]);
  if (known !== undefined) {
    known.date = date;
    known.whole = whole;
  } else if (Object.isFrozen(fields)) dated.set(block, { date, whole });
  return whole;
}

let dateSecond = 0;
let date: Buffer = Buffer.alloc(0);

/** The field `date` (RFC 9110 section 6.6.1), made once a second. */
export function dateField(now: number): Buffer {
  const second = Math.floor(now / 1000);
  if (second === dateSecond) return date;
  dateSecond = second;
  date = encodeField("date", new Date(now).toUTCString());
  return date;
}

/** @throws {TypeError} for a field that HTTP/2 does not allow, or whose value has a character above U+00FF */
function checked(name: string, value: string): string {
  const wrong = /[^\0-\xff]/.test(value)
    ? "a field value has a character above U+00FF"
    : checkField(name, value);
  if (wrong !== undefined) throw new TypeError(`${name}: ${wrong}`);
  return value;
}
