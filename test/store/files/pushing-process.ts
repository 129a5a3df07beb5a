// Run as a process of its own: `node pushing-process.ts <state directory> push|hold`.
// With "push" it keeps changes as fast as it can and prints each generation once it is acknowledged.
import { writeSync } from "node:fs";
import { openFileStore } from "../../../src/store/files/file-store.ts";
import { listAll, metaOf, patchTo, snapshotOf, wholeOf } from "../changes.ts";

const [directory, task] = process.argv.slice(2);
const store = await openFileStore(directory!, { onWarning: (warning) => console.error(warning.message) });
const loaded = (await listAll(store))[0];
writeSync(1, "open\n");

if (task === "hold") setInterval(() => {}, 1000);
else {
  let generation = loaded?.meta.generation ?? 0;
  for (;;) {
    const next = generation + 1;
    const snapshot = snapshotOf("west", next);
    if (generation === 0 || next % 5 === 0) await store.keep("west", wholeOf(snapshot, metaOf(next)));
    else await store.keep("west", patchTo(snapshotOf("west", generation), snapshot, metaOf(next)));
    await store.keep("west", { kind: "lease", meta: metaOf(next) });
    generation = next;
    writeSync(1, `${generation}\n`);
  }
}
