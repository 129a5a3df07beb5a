import { describe, expect, it } from "vitest";
import { Generation } from "../../../src/zone/generation/generation.ts";
import type { ZoneOptions } from "../../../src/zone/options.ts";
import { clusterLocalTable } from "../../conformance/cases/cluster-local.ts";
import { clustersetTable } from "../../conformance/cases/clusterset.ts";
import { federationTable } from "../../conformance/cases/federation.ts";
import { checkCompiled } from "../../conformance/compiled-table.ts";
import type { DnsTable } from "../../conformance/dns-case.ts";
import { compileWorld } from "../../resolve/ask.ts";
import { compileEach, SMALL, source } from "../compile-worlds.ts";

/** Worlds that become the table's: none, then one cluster more each time. */
function growing({ snapshots }: DnsTable) {
  return [...snapshots.keys(), snapshots.length].map((count) => source(snapshots.slice(0, count)));
}

function optionsOf({ zones, federations, serial }: DnsTable): Partial<ZoneOptions> {
  return { serial, ...(zones && { zones }), ...(federations && { federations }) };
}

describe.each([clustersetTable, clusterLocalTable, federationTable])("every row of $title holds", (table) => {
  const expectRows = (world: ReturnType<typeof compileWorld>) => {
    for (const entry of table.cases) checkCompiled(table, world, entry);
  };
  const options = optionsOf(table);

  it("in a generation that is compiled at once", () => {
    expectRows(compileWorld(table.snapshots, options, { view: table.view }));
  });

  it("in one that came about cluster by cluster, in small segments; none is left of clusters that leave", () => {
    const sources = growing(table);
    const compiled = compileEach([...sources, ...sources.toReversed()], "changes", SMALL, options);
    const { trunk, names, reverse } = compiled[sources.length - 1]!.generation;
    const generation = new Generation(table.serial, trunk, names, reverse);
    expectRows(compileWorld([], options, { view: table.view, generation }));
    expect(compiled.at(-1)!.generation.rootHash).toBe(compiled[0]!.generation.rootHash);
  });

  it("beside localities of clients outside", () => {
    const localities = [{ region: "eu" }, { region: "eu", zone: "eu-2" }];
    expectRows(compileWorld(table.snapshots, { ...options, localities }, { view: table.view }));
  });
});
