import { expect, test } from "vitest";
import { drain } from "../../../../src/snapshot/drain.ts";
import { ZoneCompiler } from "../../../../src/zone/compiler/zone-compiler.ts";
import { NO_HISTORY, type ReverseHistory } from "../../../../src/zone/reverse/reverse-history.ts";
import { addressKey, claimOf, LOST } from "../../../../src/zone/reverse/reverse-order.ts";
import type { ZoneChange, ZoneSource } from "../../../../src/zone/zone-source.ts";
import { endpoints, exported, snapshot } from "../../../merge/fixtures.ts";
import { source } from "../../compile-worlds.ts";
import { RecordedNotes } from "./recorded-notes.ts";

const ADDRESS = Uint8Array.of(10, 1, 0, 1);
const web = (address: string) => exported({ headless: true, endpoints: endpoints({ address }) });
const LOGS = Array.from({ length: 40 }, (_, index) => index);
/** So many that the leaves that stay in memory are theirs: they are used last. */
const north = snapshot("north", {
  exports: Object.fromEntries(LOGS.map((index) => [`shop/log-${index}`, web(`10.2.${index}.1`)])),
});
const west = snapshot("west", { exports: { "shop/web": web("10.1.0.1") } });
const east = snapshot("east", { exports: { "shop/db": web("10.1.0.1") } });
const alone = source([north, west]);
const contested = source([north, west, east]);
const USES_OTHERS: ZoneChange = {
  ...{ clusters: false, local: new Map() },
  services: LOGS.map((index) => `shop/log-${index}`),
};
const JOINS: ZoneChange = { clusters: true, services: ["shop/db"], local: new Map() };

/** A compiler that has a leaf in memory only while it is compiled, after it compiled a world. */
function compiled(from: ZoneSource) {
  const notes = new RecordedNotes();
  const compiler = new ZoneCompiler({}, { names: 6, reverse: 2, held: 0 }, notes.hold, notes);
  const compile = (world: ZoneSource, what: ZoneChange | "all", history: ReverseHistory) =>
    drain(compiler.compile(world, what, { serial: 1, history }));
  const { reverse: first } = compile(from, "all", NO_HISTORY);
  const { generation, reverse } = compile(from, USES_OTHERS, first);
  for (const index of LOGS) reverse.claimsOn(Uint8Array.of(10, 2, index, 1));
  return { notes, compile, generation, reverse };
}

const lose = (notes: RecordedNotes, kind: string) => {
  for (const name of notes.texts.keys()) if (name.startsWith(kind)) notes.texts.delete(name);
};
const orderIn = ({ orders }: ReverseHistory) => orders.get(addressKey(ADDRESS));

test("who had an address is read from the note of its leaf", () => {
  const { compile, reverse } = compiled(alone);
  expect(reverse.claimsOn(ADDRESS)).toEqual([claimOf("west", "shop", "web")]);
  expect(orderIn(compile(contested, JOINS, reverse).reverse)![0]).toBe(claimOf("west", "shop", "web"));
});

test("nobody has an address of which it cannot be read any more who had it, until one cluster reports it alone", () => {
  const { notes, compile, reverse } = compiled(alone);
  lose(notes, "r");
  expect(reverse.claimsOn(ADDRESS)).toEqual([LOST]);
  expect(() => compile(contested, JOINS, reverse)).toThrow("is missing");
  const { reverse: next, findings } = compile(contested, JOINS, reverse);
  expect(orderIn(next)![0]).toBe(LOST);
  expect(findings.map(({ clusterId, reason }) => `${clusterId} ${reason}`).sort()).toEqual([
    "east ReverseNameTaken",
    "west ReverseNameTaken",
  ]);
  const gone = compile(alone, JOINS, next);
  expect(gone.reverse.claimsOn(ADDRESS)).toEqual([claimOf("west", "shop", "web")]);
});

test("a compilation that cannot read what it needs fails, and the next one is of everything", () => {
  const { notes, compile, reverse } = compiled(alone);
  const changed = source([north, snapshot("west", { exports: { "shop/web": web("10.1.0.2") } })]);
  const change: ZoneChange = { clusters: false, services: ["shop/web"], local: new Map() };
  lose(notes, "n");
  expect(() => compile(changed, change, reverse)).toThrow("is missing");
  const again = compile(changed, change, reverse);
  expect(again.generation.rootHash).toBe(compiled(changed).generation.rootHash);
});

test("the history of a compilation is not read from the notes of the next one of everything", () => {
  const { compile, reverse } = compiled(alone);
  const other = source([north, snapshot("east", { exports: { "shop/db": web("10.1.0.1") } })]);
  const { reverse: next } = compile(other, "all", NO_HISTORY);
  expect(next.claimsOn(ADDRESS)).toEqual([claimOf("east", "shop", "db")]);
  expect(reverse.claimsOn(ADDRESS)).toEqual([LOST]);
});
