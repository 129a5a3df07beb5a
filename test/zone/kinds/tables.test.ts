import { describe, it } from "vitest";
import type { ZoneOptions } from "../../../src/zone/options.ts";
import { clusterLocalTable } from "../../conformance/cases/cluster-local.ts";
import { clustersetTable } from "../../conformance/cases/clusterset.ts";
import { federationTable } from "../../conformance/cases/federation.ts";
import { checkCompiled } from "../../conformance/compiled-table.ts";
import type { DnsTable } from "../../conformance/dns-case.ts";
import { compileWorld } from "../../resolve/ask.ts";

function optionsOf({ zones, federations, serial }: DnsTable): Partial<ZoneOptions> {
  return { serial, ...(zones && { zones }), ...(federations && { federations }) };
}

describe.each([clustersetTable, clusterLocalTable, federationTable])("every row of $title holds", (table) => {
  const expectRows = (world: ReturnType<typeof compileWorld>) => {
    for (const entry of table.cases) checkCompiled(table, world, entry);
  };
  const options = optionsOf(table);

  it("in its view", () => {
    expectRows(compileWorld(table.snapshots, options, { view: table.view }));
  });

  it("beside localities of clients outside", () => {
    const localities = [{ region: "eu" }, { region: "eu", zone: "eu-2" }];
    expectRows(compileWorld(table.snapshots, { ...options, localities }, { view: table.view }));
  });
});
