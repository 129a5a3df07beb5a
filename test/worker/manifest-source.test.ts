import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { ManifestSource } from "../../src/worker/manifest-source.ts";
import { until } from "../until.ts";
import { KeptLogs } from "./logs.ts";

const service = (name: string) =>
  `apiVersion: v1\nkind: Service\nmetadata: { name: ${name}, namespace: shop }\nspec: { clusterIP: 10.0.0.1 }\n`;

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "clusterset-doh-manifests-"));
});
afterEach(() => rm(folder, { recursive: true }));

test("one mistake is one line while it lasts, and its repair is one", async () => {
  const logs = new KeptLogs();
  const names: string[] = [];
  const stop = new AbortController();
  const source = new ManifestSource(
    { directory: folder, watch: true, logger: logs },
    {
      upsert: (object) => names.push(String(object.metadata?.name)),
      delete: () => {},
      changed: () => {},
      failed: () => {},
    },
  );
  await writeFile(join(folder, "web.yaml"), service("web"));
  const running = source.run(stop.signal);
  await until(() => expect(names).toContain("web"));
  // The parser loses its place, and finds more than one error.
  await writeFile(
    join(folder, "web.yaml"),
    service("web").replace("spec: {", "spec: {{\n  - a: [").repeat(3),
  );
  await until(() => expect(logs.lines.join()).toContain("warn"));
  // Further reads find the same mistake.
  await writeFile(join(folder, "db.yaml"), service("db"));
  await until(() => expect(names).toContain("db"));
  await writeFile(join(folder, "web.yaml"), service("repaired"));
  await until(() => expect(names).toContain("repaired"));
  stop.abort();
  await running;
  expect(logs.lines.filter((line) => line.startsWith("warn"))).toEqual([
    expect.stringMatching(
      /^warn: web\.yaml:\d+:\d+: .* \(the first of \d+ errors in this file\); the last content of the file that could be read counts until it is repaired$/,
    ),
  ]);
  expect(logs.lines.filter((line) => line.includes("problems are gone"))).toEqual([
    "info: web.yaml: its problems are gone, and its content counts",
  ]);
});
