import { randomBytes } from "node:crypto";
import { join } from "node:path";
import type { Metafile } from "esbuild";
import { beforeAll, describe, expect, it } from "vitest";
import {
  bundleWorker,
  describeBundle,
  MOST_COMPRESSED,
  type WorkerBundle,
} from "../../scripts/bundle-check.ts";
import { findIntruders } from "../../scripts/bundle-report.ts";

describe("a Worker with planted mistakes", () => {
  let bundle: WorkerBundle;
  beforeAll(() => {
    bundle = bundleWorker(join(import.meta.dirname, "planted-worker/wrangler.toml"));
  });

  it("fails with the chain of imports to each", () => {
    const { errors } = describeBundle(bundle);
    expect(errors).toContain(
      [
        "node:fs must not reach the Worker:",
        "  worker.ts",
        "    imports greeting.ts",
        "      imports node:fs",
      ].join("\n"),
    );
    expect(errors.some((error) => /node_modules\/undici\/.* must not reach the Worker/.test(error))).toBe(
      true,
    );
    expect(errors.filter((error) => error.startsWith("buffer "))).toEqual([]);
  });

  it("shows sizes all the same", () => {
    expect(describeBundle(bundle).lines[0]).toMatch(/^the Worker: [\d.]+ KB, [\d.]+ KB compressed$/);
  });
});

it("a Worker that is too large fails", () => {
  const script = randomBytes(MOST_COMPRESSED + 1);
  expect(describeBundle({ script, metafile: bundleOf({}) }).errors).toEqual([
    expect.stringMatching(`bytes compressed; at most ${MOST_COMPRESSED} are allowed$`),
  ]);
});

describe("the project's Worker", () => {
  it("passes", () => {
    const { lines, errors } = describeBundle(bundleWorker(join(import.meta.dirname, "../../wrangler.toml")));
    expect(errors).toEqual([]);
    expect(lines).toContainEqual(expect.stringMatching(/KB {2}src\/zone$/));
  });
});

/** A bundle of these modules: what each imports, and its bytes. */
function bundleOf(modules: Record<string, readonly [imports: readonly string[], bytes: number]>): Metafile {
  const inputs: Metafile["inputs"] = {};
  const [entryPoint] = Object.keys(modules);
  for (const [path, [imports, bytes]] of Object.entries(modules))
    inputs[path] = {
      bytes,
      imports: imports.map((imported) => ({
        path: imported,
        kind: "import-statement",
        external: !(imported in modules),
      })),
    };
  const sizes = Object.entries(modules).map(([path, [, bytes]]) => [path, { bytesInOutput: bytes }]);
  return {
    inputs,
    outputs: {
      "out.js": {
        bytes: 0,
        ...(entryPoint !== undefined && { entryPoint }),
        imports: [],
        exports: [],
        inputs: Object.fromEntries(sizes),
      },
    },
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
    const modules: Parameters<typeof bundleOf>[0] = {
      "src/hosts/workers/worker.ts": [["src/http/app.ts"], 1],
      "src/http/app.ts": [["src/http/app.ts", "src/hosts/workers/worker.ts", what], 1],
    };
    if (what.includes("/") && !what.startsWith("fs")) modules[what] = [["node:fs"], 1];
    expect(findIntruders(bundleOf(modules))).toEqual([
      { what, chain: ["src/hosts/workers/worker.ts", "src/http/app.ts", what] },
    ]);
  });

  it("is nothing of what the Worker needs", () => {
    const modules = {
      "src/hosts/workers/worker.ts": [["src/config/edge-config.ts", "cloudflare:workers"], 1],
      "src/config/edge-config.ts": [["node_modules/dns-packet/index.js"], 1],
      "node_modules/dns-packet/index.js": [["buffer"], 1],
    } as const;
    expect(findIntruders(bundleOf(modules))).toEqual([]);
  });
});
