import { messageOf } from "../store-error.ts";
import { decodeRecord, encodeRecord, type SoundRecord } from "./record-text.ts";
import type { LoadedRecords, RecordDamage, RememberedStore } from "./remembered-store.ts";
import type { TextStore } from "./text-store.ts";

/**
 * Keeps each record in two places, with a checksum over its name, its revision and its value. Damage or loss of one copy loses nothing: the
 * newest sound copy counts, and replaces the other one.
 */
export function createMirroredStore(copies: readonly [TextStore, TextStore]): RememberedStore {
  const revisions = new Map<string, number>();

  async function keepText(name: string, text: string, places: readonly TextStore[]): Promise<void> {
    for (const place of places) await place.keep(name, text);
  }

  return {
    async load(pack = (_, value) => value) {
      const names = new Set((await Promise.all(copies.map((copy) => copy.names()))).flat());
      const values = new Map<string, unknown>();
      const damage: RecordDamage[] = [];
      for (const record of [...names].sort()) {
        const texts = await Promise.all(copies.map((copy) => copy.read(record)));
        const read = await Promise.all(texts.map((text) => decodeRecord(record, text)));
        const newest = read.reduce((one, other) => newer(one, other));
        if (newest !== undefined) values.set(record, pack(record, newest.value));
        revisions.set(record, newest?.revision ?? 0);
        for (const [index, copy] of copies.entries()) {
          // A copy that is older by a write was not replaced before the process died.
          if (read[index]?.revision === newest?.revision && newest !== undefined) continue;
          const isOlder = read[index] !== undefined;
          let message = texts[index] === undefined ? "the copy is missing" : "the checksum does not fit";
          const repair = newest?.text;
          if (repair !== undefined)
            await keepText(record, repair, [copy]).catch((error: unknown) => {
              message += `; it could not be replaced: ${messageOf(error)}`;
            });
          if (!isOlder) damage.push({ record, place: copy.place, lost: newest === undefined, message });
        }
      }
      return { values, damage } satisfies LoadedRecords;
    },
    async keep(name, value) {
      const revision = (revisions.get(name) ?? 0) + 1;
      // Used up even where writing fails: one copy may have it.
      revisions.set(name, revision);
      await keepText(name, await encodeRecord(name, revision, value), copies);
    },
  };
}

function newer(one: SoundRecord | undefined, other: SoundRecord | undefined): SoundRecord | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  return other.revision > one.revision ? other : one;
}
