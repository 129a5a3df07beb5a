import { rowSum } from "../../database/reader.ts";
import type { ChangedRows, ClaimRow, PartRow } from "../../database/row-change.ts";

type Gone = Pick<PartRow, "kind" | "name" | "part">;

const ENTRY = /^e(\d) (\d+) (.*)$/s;
const CLAIM = /^c (.*)$/s;
const PART = /^(-?\d+|-) (-?\d+|-) ([^\n]*)\n(.*)$/s;

/**
 * Rows as fields of a hash, fields and values in turns: `e<kind> <part> <name>` with the rank, the key, a line feed and the text; `c <bucket>` with the text of a claim. An
 * empty value is that of a row that goes.
 */
export function rowTexts({ entries, gone, claims }: ChangedRows): string[] {
  const texts: string[] = [];
  for (const { kind, part, name, reported, counts, key, text } of entries)
    texts.push(`e${kind} ${part} ${name}`, `${reported ?? "-"} ${counts ?? "-"} ${key}\n${text}`);
  for (const { kind, part, name } of gone) texts.push(`e${kind} ${part} ${name}`, "");
  for (const { bucket, text } of claims) texts.push(`c ${bucket}`, text);
  return texts;
}

/** Reads such fields. Those that are no rows are left out: the sum of the cluster's rows shows that some are missing. */
export function readRows(cluster: string, fields: Iterable<readonly [field: string, value: string]>) {
  const rows = { entries: [] as PartRow[], gone: [] as Gone[], claims: [] as ClaimRow[] };
  for (const [field, value] of fields) {
    const [, kind, part, name] = ENTRY.exec(field) ?? [];
    const [, bucket] = CLAIM.exec(field) ?? [];
    if (bucket !== undefined) rows.claims.push({ bucket, text: value });
    else if (name !== undefined) {
      const place = { kind: Number(kind) as PartRow["kind"], name, part: Number(part) };
      const [, reported, counts, key, text] = PART.exec(value) ?? [];
      if (value === "") rows.gone.push(place);
      else if (text !== undefined) {
        const row = { ...place, key: key!, reported: rank(reported!), counts: rank(counts!), text };
        rows.entries.push({ ...row, sum: rowSum({ ...row, cluster }) });
      }
    }
  }
  return rows;
}

function rank(text: string): number | null {
  return text === "-" ? null : Number(text);
}
