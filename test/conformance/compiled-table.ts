import type { ResolveContext } from "../../src/resolve/resolve.ts";
import { ask, compileWorld } from "../resolve/ask.ts";
import { type DnsCase, type DnsTable, expectAnswer, viewOf } from "./dns-case.ts";

/** A table's world, compiled. */
export function compileTable({
  snapshots,
  zones,
  federations,
  serial,
  view,
}: DnsTable): ReturnType<typeof compileWorld> {
  return compileWorld(
    snapshots,
    { serial, ...(zones !== undefined && { zones }), ...(federations !== undefined && { federations }) },
    { view },
  );
}

/** Asks one row of a table without any HTTP. */
export function checkCompiled(table: DnsTable, world: ResolveContext, entry: DnsCase): void {
  const [name, type] = entry.ask;
  expectAnswer(table, entry, ask({ ...world, view: viewOf(table, entry) }, name, type));
}
