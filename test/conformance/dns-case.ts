import { expect } from "vitest";
import type { ClusterSnapshot } from "../../src/snapshot/schema.ts";
import type { FederationOptions } from "../../src/zone/zone-plan.ts";
import type { Decoded } from "../resolve/ask.ts";

/** One row: a question, its client, and the whole answer. */
export interface DnsCase {
  readonly section: string;
  readonly ask: readonly [name: string, type: string];
  /** The source cluster; that of the table by default, null for outside. */
  readonly view?: string | null;
  /** Default: NOERROR. REFUSED: the name is outside every zone. */
  readonly rcode?: "NXDOMAIN" | "REFUSED";
  /** Records of the answer section, each as `<name> <ttl> <type> <data>`. */
  readonly answer?: readonly string[];
  /** The authority section. Default: the table's SOA record where there is no answer. */
  readonly authority?: readonly string[];
  /** The additional section without OPT. Default: nothing. */
  readonly additional?: readonly string[];
}

/** A world, and what is answered from it. */
export interface DnsTable {
  readonly title: string;
  readonly snapshots: readonly ClusterSnapshot[];
  readonly zones?: readonly string[];
  readonly federations?: readonly FederationOptions[];
  /** The serial in the table's SOA records. */
  readonly serial: number;
  readonly soa: string;
  /** The source cluster of rows that name none. */
  readonly view?: string;
  /** Whether the order of the answer section counts. */
  readonly inOrder?: true;
  readonly cases: readonly DnsCase[];
}

/** A row with records of the name and type that it asks for. */
export const answers = (
  section: string,
  name: string,
  type: string,
  data: readonly string[],
  more: Partial<DnsCase> = {},
): DnsCase => ({
  section,
  ask: [name, type],
  answer: data.map((one) => `${name} 5 ${type} ${one}`),
  ...more,
});

/** A row about a name with a CNAME record. */
export const leads = (
  section: string,
  name: string,
  type: string,
  target: string,
  more: Partial<DnsCase> = {},
): DnsCase => ({ section, ask: [name, type], answer: [`${name} 5 CNAME ${target}`], ...more });

/** A row about a name that does not exist. */
export const absent = (
  section: string,
  name: string,
  type: string,
  more: Partial<DnsCase> = {},
): DnsCase => ({
  section,
  ask: [name, type],
  rcode: "NXDOMAIN",
  ...more,
});

/** The rows of a table with what they are called, for `it.each`. */
export function titledRows({ cases }: DnsTable): (readonly [string, DnsCase])[] {
  return cases.map((entry) => {
    const { section, ask, view } = entry;
    return [`${section}: ${ask.join(" ")}${view === undefined ? "" : ` (${view ?? "outside"})`}`, entry];
  });
}

/** The client of a row. */
export function viewOf(table: DnsTable, { view }: DnsCase): string | undefined {
  return view === undefined ? table.view : (view ?? undefined);
}

/** Holds an answer against its row. */
export function expectAnswer(table: DnsTable, entry: DnsCase, seen: Decoded): void {
  const { rcode = "NOERROR", answer = [], additional = [] } = entry;
  const isOurs = rcode !== "REFUSED";
  expect({
    ...seen,
    answer: table.inOrder ? seen.answer : seen.answer.toSorted(),
    additional: seen.additional.toSorted(),
  }).toEqual({
    rcode,
    authoritative: isOurs,
    truncated: false,
    answer: table.inOrder ? answer : answer.toSorted(),
    authority: entry.authority ?? (answer.length > 0 || !isOurs ? [] : [table.soa]),
    additional: additional.toSorted(),
  });
}
