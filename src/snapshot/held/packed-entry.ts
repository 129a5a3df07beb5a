import { drain } from "../drain.ts";
import { isJsonObject, type JsonObject } from "../json-value.ts";
import { knownMembers, memberNames } from "./member-names.ts";

/**
 * An entry in little memory: as JSON, or itself if that is long. As objects a headless service of 5 endpoints takes 2,700 bytes, as JSON 700. An entry
 * with many members is changed and compared in steps, which would have to wait for the parser.
 */
export type Packed<Entry extends object = object> = string | Entry;

/** Characters of an entry that is kept as JSON: it is parsed within a tenth of a millisecond. */
export const MOST_PACKED_CHARACTERS = 8 * 1024;
/** Members of a table that may be part of a text of so many characters. */
const MOST_MEMBERS = 1024;
/** Members of one step. */
const MEMBERS_AT_ONCE = 256;
/** Of a pod, and of a namespace. */
const EMPTY = "{}";

/** The lengths of long entries, which do not change: to write the JSON of 100,000 endpoints takes 80 ms. */
const lengths = new WeakMap<object, number>();

/** Packs an entry, which must not change any more. */
export function pack<Entry extends object>(entry: Entry): Packed<Entry> {
  return drain(packInSteps(entry));
}

/** Packs an entry in steps, most entries in one. */
export function* packInSteps<Entry extends object>(entry: Entry): Generator<void, Packed<Entry>> {
  for (const _ in entry) {
    if (hasLargeTable(entry as JsonObject & Entry)) {
      lengths.set(entry, yield* lengthInSteps(entry as JsonObject & Entry));
      return entry;
    }
    const text = JSON.stringify(entry);
    if (text.length <= MOST_PACKED_CHARACTERS) return text;
    lengths.set(entry, text.length);
    return entry;
  }
  return EMPTY;
}

/** An entry, which must not be changed. */
export function unpack<Entry extends object>(packed: Packed<Entry>): Entry {
  return typeof packed === "string" ? JSON.parse(packed) : packed;
}

/** The length of an entry as JSON. */
export function charactersOf(packed: Packed): number {
  return typeof packed === "string" ? packed.length : (lengths.get(packed) ?? JSON.stringify(packed).length);
}

/** Whether an object in it has so many members that the whole is long. */
function hasLargeTable(value: JsonObject): boolean {
  if ((knownMembers(value) ?? 0) > MOST_MEMBERS) return true;
  let count = 0;
  for (const name in value) {
    if (++count > MOST_MEMBERS) return true;
    const member = value[name];
    if (isJsonObject(member) && hasLargeTable(member)) return true;
  }
  return false;
}

/** The length of an object as JSON, counted in steps. */
function* lengthInSteps(value: JsonObject): Generator<void, number> {
  yield;
  let length = 1;
  let count = 0;
  for (const name of memberNames(value)) {
    const member = value[name];
    if (member === undefined) continue;
    // With a colon, and a comma or the closing brace.
    length += JSON.stringify(name).length + 2;
    const hasTables = isJsonObject(member) && !isFlat(member);
    length += hasTables ? yield* lengthInSteps(member) : JSON.stringify(member).length;
    if (++count % MEMBERS_AT_ONCE === 0) yield;
  }
  return Math.max(2, length);
}

/** Whether an object has no objects. */
function isFlat(value: JsonObject): boolean {
  for (const name of memberNames(value)) if (isJsonObject(value[name])) return false;
  return true;
}
