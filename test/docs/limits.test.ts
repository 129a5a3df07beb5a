import { describe, expect, it } from "vitest";
import { QueryCounters } from "../../src/answer/answer-query.ts";
import { ServeConfig } from "../../src/config/settings.ts";
import { metricsSource } from "../../src/http/metrics/metric.ts";
import { readMetrics } from "../../src/http/metrics/table.ts";
import { LIMITS } from "../../src/limits/counters.ts";
import { fakeForwarder } from "../forward/fake-forwarder.ts";
import { FakeGateway, NOW } from "../http/fake-gateway.ts";
import { keysOfCell, rowsIn } from "./pages.ts";

/** Numbers among the settings that bound nothing. */
const NO_LIMITS = new Set([
  "clients.hops",
  "clients.ipv4PrefixBits",
  "clients.ipv6PrefixBits",
  "ddr.dotPort",
  "ddr.httpsPort",
  "forward.cache.maximumNegativeTtlSeconds",
  "forward.cache.maximumTtlSeconds",
  "forward.cache.minimumTtlSeconds",
  "forward.cache.staleSeconds",
  "forward.hedgeMilliseconds",
  "lease.defaultSeconds",
  "negativeTtlSeconds",
  "sourceCluster.option",
  "threads",
  "ttlSeconds",
]);

/** Every setting that is a number, by its key. */
function numbersIn(value: unknown, key = ""): [string, number][] {
  if (typeof value === "number") return [[key, value]];
  if (typeof value !== "object" || value === null || Array.isArray(value)) return [];
  return Object.entries(value).flatMap(([name, inside]) =>
    numbersIn(inside, key === "" ? name : `${key}.${name}`),
  );
}

/** Rows of a page's tables whose first cell has keys. */
const rowsOf = (page: string) =>
  rowsIn(page).map(([first, defaults, beyond]) => ({
    keys: keysOfCell(first!),
    defaults: defaults!.replaceAll("`", ""),
    beyond: beyond!,
  }));

const rows = rowsOf("docs/reference/limits.md");
/** Limits of plain DNS, stub zones and forwarding stand beside the other keys of these groups. */
const inConfiguration = rowsOf("docs/reference/configuration.md");
const rowOf = (key: string) => [...rows, ...inConfiguration].find(({ keys }) => keys.includes(key));

const settings = numbersIn(ServeConfig.parse({}));
const limits = settings.filter(([key]) => !NO_LIMITS.has(key));

/** How the documentation writes a number. */
const written = (value: number): string[] => [
  String(value),
  `${value / 1024 / 1024} MiB`,
  `${value / 1024 / 1024} Mi`,
];

const { forwarder } = fakeForwarder({});
const parts = { gateway: new FakeGateway(), counters: new QueryCounters(), clock: () => NOW, forwarder };
const metrics = metricsSource(() => readMetrics(parts));

describe("docs/reference/limits.md and configuration.md", () => {
  it("is about settings that there are", () => {
    const known = new Set(settings.map(([key]) => key));
    const documented = rows.flatMap(({ keys }) => keys).filter((key) => !/^http[12]$/.test(key));
    const others = new Set(["clients.exempt", "clients.trustedProxies", "clients.header"]);
    expect(documented.filter((key) => !known.has(key) && !others.has(key))).toEqual([]);
    expect([...NO_LIMITS].filter((key) => !known.has(key) && !key.startsWith("ddr."))).toEqual([]);
    expect(limits.length).toBeGreaterThan(50);
  });

  it.each(limits)("has %s with its default %d, and the counter that it names exists", async (key, value) => {
    const row = rowOf(key);
    expect(row, key).toBeDefined();
    const { keys, defaults, beyond } = row!;
    const cells = defaults.split(", ");
    expect(written(value)).toContain(cells.length === 1 ? cells[0]! : cells[keys.indexOf(key)]!);
    const text = await metrics.render();
    const named = /`(clusterset_doh_\w+)/.exec(beyond)?.[1];
    // Bursts and the like count with the first key of their row.
    const counted = [key, keys[0]!].some((one) =>
      text.includes(`clusterset_doh_limited_total{limit="${one}"} 0\n`),
    );
    if (named !== undefined) expect(text).toContain(`# TYPE ${named} `);
    else if (!beyond.includes("not counted, since") && !key.startsWith("dns.rateLimit."))
      expect(counted).toBe(true);
  });

  it.each(LIMITS.map((limit) => [limit]))("has %s, which is counted", (limit) => {
    expect(rowOf(limit)).toBeDefined();
  });
});
