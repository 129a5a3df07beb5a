import { describe, expect, test } from "vitest";
import { Kind } from "../../src/database/places.ts";
import { rowSum } from "../../src/database/reader.ts";
import { type ClaimRow, type PartRow, type RowChange, rowAlone } from "../../src/database/row-change.ts";
import type { ClusterRow } from "../../src/database/schema.ts";
import { NO_TOTALS } from "../../src/database/schema.ts";
import { rowSumOf } from "../../src/replica/replicated-database.ts";
import type { LogEntry, SharedLog } from "../../src/replica/shared-log.ts";
import { DEADLINE } from "../deadline.ts";

/** One gateway's connection to a log, which can be cut off. */
export interface Connected {
  readonly log: SharedLog;
  disconnect(): void;
  reconnect(): void;
}

/** An empty log. */
export interface LogUnderTest {
  connect(): Promise<Connected>;
  /** Leaves the newest entry in the log, and nothing before it. */
  trim(): Promise<void>;
  close(): Promise<void>;
}

const LOG = "log";
let ids = 0;

function entryRow(
  name: string,
  text: string,
  part = 0,
  ranks: Pick<PartRow, "reported" | "counts"> = NO_RANK,
) {
  const row = { key: name, kind: Kind.export, name, part, text, ...ranks };
  return { ...row, sum: rowSum({ ...row, cluster: "west" }) };
}
const NO_RANK = { reported: null, counts: null };

/** A cluster at a generation. */
export function clusterAt(generation: number, id = "west", state: ClusterRow["state"] = "live"): ClusterRow {
  const meta = { generation, pushedAt: 1, renewedAt: 1, expiresAt: 2 };
  return { id, state, meta, totals: NO_TOTALS, sum: generation, seenAt: 1, latest: 1 };
}

/** A change to a cluster. */
export function changeTo(cluster: ClusterRow, rows: Partial<RowChange> = {}): RowChange {
  return {
    ...rowAlone("changes", cluster),
    keys: ["shop/web"],
    ...rows,
  };
}

/** Adds a change that builds on a row. */
export function append(log: SharedLog, change: RowChange, base?: ClusterRow, lease = 60_000, name = LOG) {
  return log.append({ id: `id-${ids++}`, log: name, base: rowSumOf(base), change, lease });
}

/** Everything beside the log, as a gateway loads it. */
export async function rowsOf(log: SharedLog, cluster = "west") {
  const entries = new Map<string, PartRow>();
  const claims = new Map<string, ClaimRow>();
  for await (const rows of log.rows(cluster)) {
    for (const row of rows.entries) entries.set(`${row.name} ${row.part}`, row);
    for (const row of rows.claims) claims.set(row.bucket, row);
  }
  const sorted = <Row>(table: Map<string, Row>) =>
    [...table].sort(([one], [other]) => (one < other ? -1 : 1));
  return { entries: sorted(entries).map(([, row]) => row), claims: sorted(claims).map(([, row]) => row) };
}

async function allEntries(log: SharedLog): Promise<LogEntry[]> {
  const entries: LogEntry[] = [];
  const { position } = await log.head(0);
  while ((entries.at(-1)?.position ?? 0) < position)
    entries.push(...(await log.entries(entries.at(-1)?.position ?? 0)));
  return entries;
}

/** What every shared log does. @param open gives an empty log */
export function describeSharedLog(name: string, open: () => Promise<LogUnderTest>): void {
  const shows = (title: string, body: (under: LogUnderTest, ...logs: SharedLog[]) => Promise<void>) =>
    test(title, async () => {
      const under = await open();
      const logs = [(await under.connect()).log, (await under.connect()).log];
      await body(under, ...logs);
      for (const log of logs) log.close();
      await under.close();
    });

  describe(`${name}: the contract of a shared log`, () => {
    shows("is empty at first", async (_, log) => {
      const nothing = { log: "", position: 0, id: "", next: undefined, founding: undefined };
      expect(await log!.head(0)).toMatchObject(nothing);
      expect(await log!.clusters()).toEqual([]);
      expect(await rowsOf(log!)).toEqual({ entries: [], claims: [] });
    });

    shows(
      "every gateway reads all changes in one order, each with the id of the one before",
      async (_, one, other) => {
        const first = clusterAt(1);
        const row = entryRow("shop/web", '{"a":"\\n"}', 0, { reported: -5, counts: 7 });
        const whole = changeTo(first, {
          kind: "whole",
          isCleared: true,
          isWide: true,
          keys: [],
          founding: '{"at":1,"over":false}',
          entries: [row, entryRow("shop/web", "{}", 1)],
          claims: [{ bucket: "0a000", text: '{"0a000001":[1,"shop/web"]}' }],
        });
        expect(await append(one!, whole)).toBe(1);
        const second = clusterAt(2);
        const gone = { kind: Kind.export, name: "shop/web", part: 1 };
        const patch = changeTo(second, {
          entries: [entryRow("shop/db", "")],
          gone: [gone],
          claims: [{ bucket: "0a000", text: "" }],
        });
        expect(await append(other!, patch, first)).toBe(2);
        expect(await append(one!, changeTo(clusterAt(1, "east")))).toBe(3);
        for (const log of [one!, other!]) {
          const entries = await allEntries(log);
          expect(entries.map(({ position }) => position)).toEqual([1, 2, 3]);
          expect(entries.map(({ before }) => before)).toEqual(["", entries[0]!.id, entries[1]!.id]);
          expect(entries.map(({ cluster }) => cluster)).toEqual(["west", "west", "east"]);
          expect(entries[0]!.change).toEqual({ ...whole, claims: [...whole.claims], gone: [] });
          // A claim that goes is one with an empty text.
          expect(entries[1]!.change).toEqual({ ...patch, claims: [...patch.claims] });
          expect(await log.head(1)).toMatchObject({
            log: LOG,
            position: 3,
            id: entries[2]!.id,
            founding: '{"at":1,"over":false}',
            next: { position: 2, before: entries[0]!.id },
          });
          expect(await rowsOf(log)).toEqual({ entries: [entryRow("shop/db", ""), row], claims: [] });
          const clusters = (await log.clusters()).sort((a, b) => (a.id < b.id ? -1 : 1));
          expect(clusters.map(({ text }) => JSON.parse(text))).toEqual([clusterAt(1, "east"), second]);
          expect(clusters[1]!.sum).toBe(rowSumOf(second));
          const { position, clusters: read } = await log.whole(["west", "east"]);
          const [east, west] = clusters.map(({ id, sum, text }) => ({ id, sum, text }));
          expect([position, read]).toMatchObject([3, [west, east]]);
          expect([...read[0]!.rows.entries].sort((a, b) => (a.name < b.name ? -1 : 1))).toEqual([
            entryRow("shop/db", ""),
            row,
          ]);
        }
      },
    );

    shows("a large change is read whole, and its rows are there", async (_, one, other) => {
      const entries = Array.from({ length: 3000 }, (_, at) =>
        entryRow(`shop/s${at}`, JSON.stringify({ text: "ü".repeat(at % 500) })),
      );
      await append(one!, changeTo(clusterAt(1), { entries }));
      const gone = entries.slice(1).map(({ kind, name, part }) => ({ kind, name, part }));
      await append(other!, changeTo(clusterAt(2), { gone }), clusterAt(1));
      const [first, second] = await allEntries(other!);
      expect(first!.change!.entries).toEqual(entries);
      expect(second!.change!.gone).toEqual(gone);
      expect((await rowsOf(one!)).entries).toEqual([entries[0]]);
      const cleared = { isCleared: true, entries: entries.slice(1) };
      await append(one!, changeTo(clusterAt(3), cleared), clusterAt(2));
      const sorted = entries.slice(1).sort((a, b) => (`${a.name} 0` < `${b.name} 0` ? -1 : 1));
      expect((await rowsOf(other!)).entries).toEqual(sorted);
    });

    shows("a change that does not build on the row that is there is not added", async (_, one, other) => {
      await append(one!, changeTo(clusterAt(1)));
      await append(one!, changeTo(clusterAt(2)), clusterAt(1));
      for (const base of [undefined, clusterAt(1), clusterAt(3)])
        expect(await append(other!, changeTo(clusterAt(4)), base)).toBe("changed");
      expect(await append(other!, changeTo(clusterAt(1, "east")), clusterAt(1))).toBe("changed");
      expect(await one!.head(0)).toMatchObject({ position: 2 });
    });

    shows("one of several gateways that change a cluster at once adds its change", async (_, one, other) => {
      await append(one!, changeTo(clusterAt(1)));
      const race = [one!, other!, one!, other!].map((log, at) =>
        append(log, changeTo(clusterAt(2 + at)), clusterAt(1)),
      );
      expect((await Promise.all(race)).sort()).toEqual([2, "changed", "changed", "changed"]);
    });

    shows("a lease expires when it has passed on the log's clock, whatever its times say", async (_, one) => {
      const expired = changeTo(clusterAt(1, "west", "expired"), { kind: "expiry" });
      await append(one!, changeTo(clusterAt(1)), undefined, 3_600_000);
      expect(await append(one!, expired, clusterAt(1))).toBe("changed");
      await append(one!, changeTo(clusterAt(2)), clusterAt(1), 0);
      expect(await append(one!, expired, clusterAt(2))).toBe(3);
    });

    shows("takes changes for its name alone, also after it got another one", async (_, one, other) => {
      await append(one!, changeTo(clusterAt(1)));
      expect(await append(other!, changeTo(clusterAt(1, "east")), undefined, 0, "else")).toBe("other");
      await other!.rename("else", "new");
      expect(await one!.head(0)).toMatchObject({ log: LOG });
      await other!.rename(LOG, "new");
      expect(await one!.head(0)).toMatchObject({ log: "new", position: 1 });
      expect(await append(one!, changeTo(clusterAt(1, "east")))).toBe("other");
      expect(await append(one!, changeTo(clusterAt(1, "east")), undefined, 0, "new")).toBe(2);
    });

    shows("a first day that is over stays so", async (_, one) => {
      const days = ['{"at":1,"over":false}', '{"at":1,"over":true}', '{"at":2,"over":false}'];
      for (const [at, founding] of days.entries())
        await append(one!, changeTo(clusterAt(1, `cluster-${at}`), { founding }));
      expect(await one!.head(0)).toMatchObject({ founding: '{"at":1,"over":true}' });
    });

    shows("says which entry is the first one that it still has", async (under, one) => {
      for (let at = 1; at <= 3; at++)
        await append(one!, changeTo(clusterAt(at)), at === 1 ? undefined : clusterAt(at - 1));
      const [, second] = await allEntries(one!);
      await under.trim();
      expect(await one!.head(1)).toMatchObject({ position: 3, next: { position: 3, before: second!.id } });
      expect(await one!.head(3)).toMatchObject({ position: 3, next: undefined });
    });

    test("a gateway that is cut off is refused, and reads what it missed when it is back", async () => {
      const under = await open();
      const [one, other] = [await under.connect(), await under.connect()];
      other.disconnect();
      await expect(append(other.log, changeTo(clusterAt(1)))).rejects.toMatchObject({ code: "STORE_FAILED" });
      await expect(other.log.entries(0)).rejects.toMatchObject({ code: "STORE_FAILED" });
      await append(one.log, changeTo(clusterAt(1)));
      other.reconnect();
      const read = () => other.log.head(0).catch(() => undefined);
      await expect.poll(read, { timeout: DEADLINE }).toMatchObject({ position: 1 });
      const entries = () => other.log.entries(0).catch(() => []);
      await expect.poll(entries, { timeout: DEADLINE }).toMatchObject([{ position: 1 }]);
      one.log.close();
      other.log.close();
      await under.close();
    });
  });
}
