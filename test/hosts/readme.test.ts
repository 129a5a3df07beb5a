import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { QueryCounters } from "../../src/answer/query-counters.ts";
import { ServeConfig } from "../../src/config/serve-config.ts";
import { readServeConfig } from "../../src/hosts/node/config.ts";
import { AccessCounters } from "../../src/http/metrics/access-counters.ts";
import { createPrometheusMetrics } from "../../src/http/metrics/prometheus.ts";
import { fakeForwarder } from "../forward/fake-forwarder.ts";
import { FakeGateway, NOW } from "../http/fake-gateway.ts";

const readme = readFileSync(new URL("../../README.md", import.meta.url), "utf8");

/** The first cells of a table whose heading starts with a word, code spans only. */
function firstCells(heading: string): string[] {
  const table = readme.slice(readme.indexOf(`| ${heading} |`)).split("\n\n")[0]!;
  return table
    .split("\n")
    .slice(2)
    .flatMap((row) => [...row.split(" | ")[0]!.matchAll(/`([^`]+)`/g)].map((match) => match[1]!));
}

it("README's config file is taken", () => {
  const folder = mkdtempSync(join(tmpdir(), "clusterset-doh-readme-"));
  const config = join(folder, "config.yaml");
  writeFileSync(config, /```yaml\n(.*?)```/s.exec(readme)![1]!);
  expect(readServeConfig({ config }).push.credentials).toHaveLength(2);
  rmSync(folder, { recursive: true });
});

it("README's table has every key of the config file and no other", () => {
  const keys = (schema: object, prefix: string): string[] =>
    Object.entries(schema).map(([key]) => `${prefix}${key}`);
  const { lease, push, transfer, cors, pages, stub, forward, sourceCluster, dns, dot, ddr, access, ...rest } =
    ServeConfig.parse({});
  const expected = [
    // The address of a request, and those of listeners, are taken where none is given.
    ...keys({ ...rest, publicUrl: undefined, nameServerAddresses: undefined }, ""),
    ...keys(stub, "stub."),
    ...keys(forward, "forward."),
    // A gateway runs in no cluster that it would know of.
    ...keys({ ...sourceCluster, self: undefined }, "sourceCluster."),
    ...keys(dns, "dns."),
    ...keys(dot, "dot."),
    // What is not told, or where the gateway listens.
    ...keys({ ...ddr, name: undefined, httpsPort: undefined, dotPort: undefined }, "ddr."),
    // Nothing is stated.
    ...keys({ ...access, public: undefined }, "access."),
    ...keys(lease, "lease."),
    ...keys(push, "push."),
    ...keys(transfer, "transfer."),
    ...keys(cors, "cors."),
    ...keys(pages, "pages."),
  ];
  let group = "";
  const listed = firstCells("key").map((key) => {
    if (key.startsWith(".")) return `${group}${key}`;
    group = key.split(".")[0]!;
    return key;
  });
  expect(listed.sort()).toEqual(expected.sort());
});

it("README's table has every metric and no other", async () => {
  const { forwarder } = fakeForwarder({});
  const metrics = createPrometheusMetrics(
    new FakeGateway(),
    new QueryCounters(),
    () => NOW,
    forwarder,
    new AccessCounters(),
  );
  const text = await metrics.render();
  const exported = [...text.matchAll(/^# TYPE (clusterset_doh_\w+)/gm)].map((match) => match[1]!);
  const listed = firstCells("metric").map((name) => (name.startsWith("_") ? `clusterset_doh${name}` : name));
  expect(listed.sort()).toEqual(exported.sort());
});
