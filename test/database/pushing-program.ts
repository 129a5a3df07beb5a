import { Writer } from "../../src/database/writer.ts";
import { openDatabase } from "../../src/hosts/node/database.ts";
import { headlessExport, shopSnapshot } from "../snapshot/worlds.ts";
import { metaAt, NOON, patchLines, prepare, snapshotOf, stage, wholeLines } from "./pushing.ts";

/**
 * Pushes to a database for ever, whole and in part, and writes the number of each push that was applied.
 * `<path> <number>`: ends with that one, and writes the state.
 */
const [path, last = "1000000"] = process.argv.slice(2) as [string, string?];
const database = openDatabase(path);
const writer = new Writer(database, () => {});
for (let number = 0; number <= Number(last); number++) {
  const names = Array.from({ length: 300 }, (_, index) => `shop/web-${index}`);
  const lines =
    number % 7 === 0
      ? wholeLines({
          ...shopSnapshot("west", 1500 + number),
          services: {},
          exports: Object.fromEntries(names.map((name) => [name, headlessExport(1 + (number % 3))])),
        })
      : patchLines("west", {
          exports: Object.fromEntries(
            names.map((name) => [name, { exportedLabels: { number: String(number) } }]),
          ),
        });
  const staged = stage(writer.reader, "west", number % 7 === 0 ? "whole" : "changes", lines);
  writer.apply(prepare(writer, staged, metaAt(NOON, number), { now: NOON, live: true }));
  console.log(number);
}
console.log(JSON.stringify(snapshotOf(writer.reader, "west")));
