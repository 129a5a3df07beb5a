import { isJsonObject, type JsonObject, ownMember } from "../snapshot/json-value.ts";
import type { EntryPatch } from "../snapshot/lines/patch-line.ts";
import type { EntryPlan } from "../snapshot/lines/split-patch.ts";
import { patchValue, splitPatch } from "../snapshot/lines/split-patch.ts";
import { entryValue } from "./reader.ts";

/** Characters from which on a part takes no more members. A line of 1,000 members has more. */
export const FULL_PART = 32 * 1024;
/**
 * An entry with a longer part is split anew: a row of a Durable Object has at most 2 MB, and a character up
 * to 3 bytes.
 */
const LONGEST_PART = 512 * 1024;
/** An entry whose parts are shorter on average is split anew. */
const SHORT_PART = 8 * 1024;
/**
 * With more parts, the names of all members are held while parts are parsed: each line of a large entry has
 * 1,000 new ones.
 */
const FEW_PARTS = 8;
/** With more changed members it is cheaper to parse all parts than to search them. */
const FEW_MEMBERS = 8;

type Table = Record<string, unknown>;

/** A part of an entry. */
interface Part {
  /** As of the last change that was written. */
  text: string;
  /** Characters, about. */
  length: number;
  /** Parsed, and changed in place. */
  value: Table | undefined;
  hasChanged: boolean;
}

/** An object of the entry as one part has it. */
interface Place {
  readonly part: Part;
  readonly object: Table;
}

/**
 * An entry as JSON in parts, to which merge patches (RFC 7396) are applied. A member of a table is in one
 * part alone; other values of an object are in the first part that has the object. So a patch parses and
 * writes only the parts that have what it changes, and the first one.
 */
export class EntryDraft {
  #parts: Part[];
  /**
   * What takes the new members of one patch, so that those of a further line stay together, as that line has
   * them.
   */
  #taking: Part | undefined;
  readonly #plan: EntryPlan;
  /** Names that members of tables have, and may be others' too; undefined while they are not known. */
  #names: Set<string> | undefined;

  /** @param texts valid; none for an entry that does not exist */
  constructor(plan: EntryPlan, texts: readonly string[]) {
    this.#plan = plan;
    this.#parts = texts.map((text) => partOf(text));
  }

  get exists(): boolean {
    return this.#parts.length > 0;
  }

  /** Takes an entry that did not exist as a text that is valid. */
  create(text: string): void {
    this.#parts = [partOf(text)];
  }

  /** Applies a patch; one with errors changes nothing. @param report called with each error */
  apply(patch: EntryPatch, path: readonly string[], report: (path: string, message: string) => void): void {
    if (patch === null) {
      this.#parts = [];
      return;
    }
    this.#taking = undefined;
    const places = this.#parts.length === 0 ? [] : this.#open(patch);
    const before = places.length === 0 ? undefined : this.#viewOf(this.#plan, patch, places);
    let isValid = true;
    const after = patchValue(this.#plan, before, patch, path, (at, message) => {
      isValid = false;
      report(at, message);
    });
    if (!isValid || after === before || !isJsonObject(after)) return;
    if (places.length === 0 || this.#plan.kind === "whole")
      this.#parts = [partOf(JSON.stringify(after), after as Table)];
    else this.#write(this.#plan, patch, after, places, []);
  }

  /** The entry as it is now; no texts where it does not exist. */
  texts(): string[] {
    let characters = 0;
    let longest = 0;
    for (const part of this.#parts) {
      if (part.hasChanged) part.text = JSON.stringify(part.value);
      part.hasChanged = false;
      part.length = part.text.length;
      characters += part.text.length;
      longest = Math.max(longest, part.text.length);
    }
    const texts = this.#parts.map(({ text }) => text);
    const isShort = texts.length > 1 && characters < texts.length * SHORT_PART;
    if (this.#plan.kind === "whole" || (longest <= LONGEST_PART && !isShort)) return texts;
    const pieces = splitPatch(this.#plan, entryValue({ texts }) as JsonObject);
    return Array.from(pieces, (piece) => JSON.stringify(piece));
  }

  /** Drops what was parsed. */
  close(): void {
    this.#names = undefined;
    this.#parts = this.texts().map((text) => partOf(text));
  }

  /** Parses the parts that a patch may concern. */
  #open(patch: JsonObject): Place[] {
    const names: string[] = [];
    const isSimple = this.#parts.length > 1 && namesMembersAlone(this.#plan, patch, names, true);
    const few =
      isSimple && names.length <= FEW_MEMBERS ? names.map((name) => JSON.stringify(name)) : undefined;
    const opened = this.#parts.filter(
      (part, index) =>
        index === 0 ||
        part.value !== undefined ||
        few === undefined ||
        // Parts but the first one were written here, with no escapes but those that names need.
        few.some((name) => part.text.includes(name)),
    );
    const places = opened.map(placeOf);
    if (opened.length < this.#parts.length)
      return hasPaths(this.#plan, patch, places) ? places : this.#parts.map(placeOf);
    if (places.length > FEW_PARTS && this.#names === undefined) {
      this.#names = new Set();
      for (const { object } of places) collectNames(this.#plan, object, this.#names);
    }
    return places;
  }

  /** What a patch can change, as one value. */
  #viewOf(plan: EntryPlan, patch: JsonObject, places: readonly Place[]): Table {
    if (plan.kind === "whole") return places[0]!.object;
    const view: Table = {};
    for (const name of Object.keys(patch)) {
      const member = plan.kind === "table" ? plan.member : plan.fields.get(name);
      const inner = member && this.#within(plan, member, places, name);
      if (inner === undefined || inner.length === 0) continue;
      const change = patch[name];
      view[name] =
        member!.kind === "whole" || !isJsonObject(change)
          ? ownMember(inner[0]!.object, name)
          : this.#viewOf(
              member!,
              change,
              inner.map(({ part, object }) => ({ part, object: object[name] as Table })),
            );
    }
    return view;
  }

  /** Brings what a patch changed into the parts. */
  #write(
    plan: EntryPlan,
    patch: JsonObject,
    after: JsonObject,
    places: readonly Place[],
    path: readonly string[],
  ): void {
    if (plan.kind === "whole") return;
    for (const name of Object.keys(patch)) {
      const member = plan.kind === "table" ? plan.member : plan.fields.get(name);
      if (member === undefined) continue;
      const inner = this.#within(plan, member, places, name);
      const value = ownMember(after, name);
      if (value === undefined)
        for (const { part, object } of inner) {
          delete object[name];
          part.hasChanged = true;
        }
      else if (inner.length === 0) {
        const { part, object } = plan.kind === "table" ? this.#placeForMore(path) : places[0]!;
        object[name] = value;
        if (this.#names !== undefined) collectNames(plan, { [name]: value }, this.#names);
        part.hasChanged = true;
        part.length += name.length + JSON.stringify(value).length;
      } else if (member.kind === "whole") {
        const { part, object } = inner[0]!;
        object[name] = value;
        part.hasChanged = true;
      } else {
        const deeper = inner.map(({ part, object }) => ({ part, object: object[name] as Table }));
        this.#write(member, patch[name] as JsonObject, value as JsonObject, deeper, [...path, name]);
      }
    }
  }

  /** The places that have a member. */
  #within(plan: EntryPlan, member: EntryPlan, places: readonly Place[], name: string): readonly Place[] {
    const isNew = plan.kind === "table" && member.kind === "whole" && this.#names?.has(name) === false;
    return isNew ? [] : within(places, name);
  }

  /** The object at a path in a part that has room, which may be a new one. */
  #placeForMore(path: readonly string[]): Place {
    if (this.#taking === undefined) {
      const withRoom = this.#parts.filter(({ length }) => length < FULL_PART);
      this.#taking = withRoom.find(({ value }) => value !== undefined) ?? withRoom[0];
    }
    if (this.#taking === undefined) {
      this.#taking = { text: "", length: 0, value: {}, hasChanged: true };
      this.#parts.push(this.#taking);
    }
    const part = this.#taking;
    let { object } = placeOf(part);
    for (const name of path) {
      if (!Object.hasOwn(object, name)) object[name] = {};
      object = object[name] as Table;
    }
    return { part, object };
  }
}

function partOf(text: string, value?: Table): Part {
  return { text, length: text.length, value, hasChanged: false };
}

function placeOf(part: Part): Place {
  part.value ??= JSON.parse(part.text) as Table;
  return { part, object: part.value };
}

function within(places: readonly Place[], name: string): readonly Place[] {
  return places.filter(({ object }) => Object.hasOwn(object, name));
}

/** Adds the names of the members of all tables that have no tables in them. */
function collectNames(plan: EntryPlan, value: JsonObject, names: Set<string>): void {
  if (plan.kind === "whole") return;
  for (const name of Object.keys(value)) {
    const member = plan.kind === "table" ? plan.member : plan.fields.get(name);
    const inner = value[name];
    if (member !== undefined && member.kind !== "whole" && isJsonObject(inner))
      collectNames(member, inner, names);
    else if (plan.kind === "table") names.add(name);
  }
}

/** Whether a patch names members of tables and nothing else. @param names takes them */
function namesMembersAlone(plan: EntryPlan, patch: unknown, names: string[], isTop: boolean): boolean {
  if (plan.kind === "whole" || !isJsonObject(patch)) return false;
  return Object.keys(patch).every((name) => {
    const member = plan.kind === "table" ? plan.member : plan.fields.get(name);
    if (member?.kind === "whole" && (plan.kind === "table" || isTop)) return names.push(name) > 0;
    return member !== undefined && namesMembersAlone(member, patch[name], names, false);
  });
}

/** Whether every object that a patch goes through is in one of the places. */
function hasPaths(plan: EntryPlan, patch: JsonObject, places: readonly Place[]): boolean {
  if (places.length === 0) return false;
  if (plan.kind === "whole") return true;
  return Object.keys(patch).every((name) => {
    const member = plan.kind === "table" ? plan.member : plan.fields.get(name);
    const change = patch[name];
    if (member === undefined || member.kind === "whole" || !isJsonObject(change)) return true;
    const inner = within(places, name).map(({ part, object }) => ({ part, object: object[name] as Table }));
    return hasPaths(member, change, inner);
  });
}
