import fc from "fast-check";
import { expect, test } from "vitest";
import { knownMembers, memberNames } from "../../../src/snapshot/held/member-names.ts";
import { emptySnapshot, heldSnapshot } from "../../../src/snapshot/lines/held-state.ts";
import type { PatchLine } from "../../../src/snapshot/lines/patch-line.ts";
import type { ClusterSnapshot, Endpoint, ExportedService } from "../../../src/snapshot/schema.ts";
import { applyLines, linesOf } from "../changes.ts";
import { shopSnapshot } from "../worlds.ts";

const KEY = "shop/web";

/** What a change makes of the only service; undefined where it makes nothing of it. */
function changed(held: ClusterSnapshot, lines: Iterable<PatchLine>): ExportedService | undefined {
  const { entries } = applyLines(heldSnapshot(held), lines, "changes");
  return entries.find(({ collection }) => collection === "exports")?.entry as ExportedService | undefined;
}

function membersOf({ endpoints }: ExportedService): Readonly<Record<string, Endpoint>> {
  const [group] = Object.values(endpoints);
  return group!.members;
}

const expectNames = (members: object) =>
  expect(memberNames(members).toSorted()).toEqual(Object.keys(members).sort());

/** Each line adds some members and removes others; the numbers overlap. */
const arbitraryLines = fc.array(
  fc.record({ from: fc.nat(2600), added: fc.nat(900), removed: fc.nat(900), gone: fc.nat(2600) }),
  { minLength: 1, maxLength: 6 },
);

test("the names of a large table that lines built are those of its members, whatever was added and removed", () => {
  const first = changed(emptySnapshot("west"), linesOf(shopSnapshot("west", 2500)))!;
  const [group] = Object.keys(first.endpoints);
  expect(knownMembers(membersOf(first))).toBe(2500);
  expectNames(membersOf(first));
  fc.assert(
    fc.property(arbitraryLines, fc.nat(3), (ranges, name) => {
      let held: ClusterSnapshot = { ...emptySnapshot("west"), exports: { [KEY]: first } };
      const lineOf = ({ from, added, removed, gone }: (typeof ranges)[number]) => {
        const members: Record<string, Endpoint | null> = {};
        for (let at = gone; at < gone + removed; at++) members[`10.7.${at >> 8}.${at & 255}`] = null;
        for (let at = from; at < from + added; at++) {
          const address = `10.7.${at >> 8}.${at & 255}`;
          members[address] = { address, zone: `zone-${name}` };
        }
        return ["exports", KEY, { endpoints: { [group!]: { members } } }] as unknown as PatchLine;
      };
      const before = new Set(memberNames(membersOf(first)));
      for (const some of [ranges, ranges.slice(1), ranges]) {
        const next = changed(held, some.map(lineOf));
        if (next === undefined) continue;
        expectNames(membersOf(next));
        held = { ...held, exports: { [KEY]: next } };
      }
      expect(new Set(memberNames(membersOf(first)))).toEqual(before);
    }),
    { numRuns: 30 },
  );
});
