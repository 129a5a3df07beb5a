import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { CompiledKey, FormatError, KEY_HEADER_BYTES } from "../../src/names/compiled-key.ts";
import type { KeptUnit } from "../../src/names/key-world.ts";
import { KeyWorld } from "../../src/names/key-world.ts";
import { resolve } from "../../src/resolve/resolve.ts";
import { expectMet } from "../property-share.ts";
import { encodeQuery, leasesUntil } from "../resolve/ask.ts";
import { twoClusters } from "../resolve/world.ts";
import { entriesOf } from "./entries-of.ts";

const OPTIONS = { federations: [{ name: "fed", zone: "federation." }] };
const NAMES = [
  "web.shop.svc.clusterset.local",
  "_https._tcp.web.shop.svc.clusterset.local",
  "db.shop.svc.clusterset.local",
  "db-0.east.db.shop.svc.clusterset.local",
  "nothing.db.shop.svc.clusterset.local",
  "web.shop.fed.svc.federation",
];
const QUERIES = NAMES.flatMap((name) => ["A", "AAAA", "SRV", "CNAME"].map((type) => encodeQuery(name, type)));

function worldWith(cache: Map<string, KeptUnit>): KeyWorld {
  return new KeyWorld(entriesOf(twoClusters()), OPTIONS, {}, cache);
}

function answerAll(world: KeyWorld): Uint8Array[] {
  const context = {
    world,
    leases: leasesUntil(() => undefined),
    now: 0,
    rotation: 3,
    outside: "refuse",
  } as const;
  return [undefined, "east", "far"].flatMap((view) =>
    QUERIES.map((query) => resolve(query, { ...context, view })!.bytes),
  );
}

const cache = new Map<string, KeptUnit>();
const answers = answerAll(worldWith(cache));
const units = [...cache].flatMap(([name, unit]) =>
  unit.key === undefined ? [] : [{ name, unit, bytes: unit.key.bytes }],
);

describe("a key that comes from elsewhere", () => {
  it("answers as the one that was compiled", () => {
    const loaded = units.map(
      ({ name, unit, bytes }) => [name, { ...unit, key: CompiledKey.load(bytes.slice()) }] as const,
    );
    expect(answerAll(worldWith(new Map(loaded)))).toEqual(answers);
  });

  it("is rejected, or answers something, whatever its bytes are", () => {
    let [rejected, taken] = [0, 0];
    const change = fc.record({ at: fc.nat(), to: fc.oneof(fc.nat(255), fc.constantFrom(0, 1, 254, 255)) });
    fc.assert(
      fc.property(
        fc.nat(units.length - 1),
        fc.array(change, { minLength: 1, maxLength: 4 }),
        fc.nat(9),
        (which, changes, cut) => {
          const { name, unit, bytes } = units[which]!;
          const forged = bytes.slice(0, cut === 0 ? changes[0]!.at % bytes.length : undefined);
          // What every key has in front is checked first: nearly all changes go behind it.
          for (const { at, to } of changes)
            forged[
              cut === 1 ? at % forged.length : KEY_HEADER_BYTES + (at % (forged.length - KEY_HEADER_BYTES))
            ] = to;
          let key: CompiledKey;
          try {
            key = CompiledKey.load(forged);
          } catch (error) {
            expect(error).toBeInstanceOf(FormatError);
            rejected++;
            return;
          }
          taken++;
          for (const answer of answerAll(worldWith(new Map([[name, { ...unit, key }]]))))
            expect(answer.length).toBeLessThan(65536);
        },
      ),
      { numRuns: 3000 },
    );
    expectMet(rejected, 300);
    expectMet(taken, 100);
  });
});
