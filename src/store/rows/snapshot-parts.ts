import type { FoundRow, RecordRow } from "./record-table.ts";

/** Octets of a row's body. A row of a Durable Object's SQLite may have 2 MB (Cloudflare, "Durable Objects limits"). */
export const MOST_BODY_BYTES = 1024 * 1024;

/**
 * The rows of a full snapshot: its JSON in gzip, cut into bodies. For 10 MB of JSON (10,000 services) gzip takes 60 ms and makes
 * 0.7 MB of it, so that a push writes one row where it would write ten.
 */
export async function splitSnapshot(json: string, series: number): Promise<RecordRow[]> {
  const compressed = new Blob([json]).stream().pipeThrough(new CompressionStream("gzip"));
  const bytes = new Uint8Array(await new Response(compressed).arrayBuffer());
  const of = Math.ceil(bytes.length / MOST_BODY_BYTES);
  return Array.from({ length: of }, (_, number) => ({
    kind: "snapshot",
    number,
    of,
    series,
    body: bytes.subarray(number * MOST_BODY_BYTES, (number + 1) * MOST_BODY_BYTES),
  }));
}

/**
 * The JSON of a full snapshot.
 * @throws {Error} where a row is missing or damaged, or of another snapshot
 */
export async function joinSnapshot(rows: readonly FoundRow[]): Promise<string> {
  const first = rows[0];
  if (first === undefined) throw new Error("it has no rows");
  const fits = ({ number, of, series, intact }: FoundRow, index: number) =>
    intact && number === index && of === rows.length && series === first.series;
  if (!rows.every(fits)) throw new Error("a row is missing or damaged");
  const compressed = new Blob(rows.map(({ body }) => body)).stream();
  return new Response(compressed.pipeThrough(new DecompressionStream("gzip"))).text();
}
