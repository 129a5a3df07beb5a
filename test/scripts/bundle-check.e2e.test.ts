import { randomBytes } from "node:crypto";
import { join } from "node:path";
import type { Metafile } from "esbuild";
import { describe, expect, it } from "vitest";
import { bundleWorker, describeBundle, MOST_COMPRESSED } from "../../scripts/bundle-check.ts";
import { findIntruders } from "../../scripts/bundle-report.ts";

it("a Worker with planted mistakes fails with the chain of imports to each, and shows sizes all the same", () => {
  const bundle = bundleWorker(join(import.meta.dirname, "planted-worker/wrangler.toml"));
  const { errors, lines } = describeBundle(bundle);
  expect(errors).toContain(
    "node:fs must not reach the Worker:\n  worker.ts\n    imports greeting.ts\n      imports node:fs",
  );
  const ofUndici = /node_modules\/undici\/.* must not reach the Worker/;
  expect(errors).toContainEqual(expect.stringMatching(ofUndici));
  expect(errors.filter((error) => error.startsWith("buffer "))).toEqual([]);
  expect(lines[0]).toMatch(/^the Worker: [\d.]+ KB, [\d.]+ KB compressed$/);
});

it("a Worker that is too large fails", () => {
  const script = randomBytes(MOST_COMPRESSED + 1);
  expect(describeBundle({ script, metafile: bundleOf({}) }).errors).toEqual([
    expect.stringMatching(`bytes compressed; at most ${MOST_COMPRESSED} are allowed$`),
  ]);
});

it("the project's Worker passes", () => {
  const { lines, errors } = describeBundle(bundleWorker(join(import.meta.dirname, "../../wrangler.toml")));
  expect(errors).toEqual([]);
  expect(lines).toContainEqual(expect.stringMatching(/KB {2}src\/zone$/));
});

/** A bundle of these modules, each with what it imports. */
function bundleOf(modules: Readonly<Record<string, readonly string[]>>): Metafile {
  const entries = Object.entries(modules);
  const inputs = entries.map(([path, imports]) => {
    const all = imports.map((to) => ({ path: to, kind: "import-statement", external: !(to in modules) }));
    return [path, { bytes: 1, imports: all }];
  });
  const [entryPoint] = Object.keys(modules);
  const sizes = Object.fromEntries(entries.map(([path]) => [path, { bytesInOutput: 1 }]));
  const output = { bytes: 0, imports: [], exports: [], inputs: sizes };
  return {
    inputs: Object.fromEntries(inputs),
    outputs: { "out.js": { ...output, ...(entryPoint !== undefined && { entryPoint }) } },
  };
}

describe("what must not reach a bundle", () => {
  it.each([
    ["a module of Node", "node:crypto"],
    ["a module of Node without its prefix", "fs/promises"],
    ["the Kubernetes client", "node_modules/@kubernetes/client-node/dist/index.js"],
    ["a package for Node", "node_modules/pino/pino.js"],
    ["a package for Node, outside the folder", "../../somewhere/node_modules/prom-client/index.js"],
    ["the sync worker", "src/worker/sync.ts"],
    ["the host for Node", "src/hosts/node/gateway-host.ts"],
    ["the buffer module, from elsewhere than dns-packet", "buffer"],
  ])("%s: %s", (_, what) => {
    const modules = {
      "src/hosts/workers/worker.ts": ["src/http/app.ts"],
      "src/http/app.ts": ["src/http/app.ts", "src/hosts/workers/worker.ts", what],
      ...(what.includes("/") && !what.startsWith("fs") && { [what]: ["node:fs"] }),
    };
    expect(findIntruders(bundleOf(modules))).toEqual([
      { what, chain: ["src/hosts/workers/worker.ts", "src/http/app.ts", what] },
    ]);
  });

  it("is nothing of what the Worker needs", () => {
    const modules = {
      "src/hosts/workers/worker.ts": ["src/config/edge-config.ts", "cloudflare:workers"],
      "src/config/edge-config.ts": ["node_modules/dns-packet/index.js"],
      "node_modules/dns-packet/index.js": ["buffer"],
    };
    expect(findIntruders(bundleOf(modules))).toEqual([]);
  });
});
