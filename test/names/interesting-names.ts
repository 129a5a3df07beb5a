import type { KeyWorld } from "../../src/names/key-world.ts";
import { listRecords } from "../../src/names/listing.ts";

/** Names that exist, names above and below them, and near misses. */
export function interestingNames(names: Iterable<string>): string[] {
  const asked = new Set<string>();
  for (const name of names) {
    const labels = name.replace(/\.$/, "").split(".");
    for (let cut = 0; cut < labels.length; cut++) asked.add(labels.slice(cut).join("."));
    asked.add(["nothing", ...labels].join("."));
    asked.add(labels.with(0, "nothing").join("."));
    asked.add(labels.join(".").toUpperCase());
  }
  return [...asked].filter((name) => name.length <= 253 && name !== "");
}

/** All names of a world, those around them, and near misses. */
export function* namesOf(world: KeyWorld): Generator<string> {
  const views = [undefined, ...world.entries.clusters().map(({ clusterId }) => clusterId)];
  for (const zone of world.frame.zones)
    for (const view of views) {
      if (world.frame.treeFor(zone, world.frame.viewOf(view)) < 0) continue;
      for (const { name } of listRecords(world, { zone: zone.name, view })) yield* interestingNames([name]);
    }
}
