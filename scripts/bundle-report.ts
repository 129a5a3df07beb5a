import { isBuiltin } from "node:module";
import type { Metafile } from "esbuild";

/** What must not reach a bundle, and by which imports it did: from the entry to it. */
export interface Intruder {
  readonly what: string;
  readonly chain: readonly string[];
}

/** A part of a bundle, in bytes before compression. */
export interface BundlePart {
  readonly name: string;
  readonly bytes: number;
}

/** Packages that need Node, or a Kubernetes API server. */
const NODE_PACKAGES = [
  "@hono/node-server",
  "@kubernetes/client-node",
  "commander",
  "pino",
  "prom-client",
  "selfsigned",
  "undici",
  "yaml",
];
/** Folders of ours that are for Node. */
const NODE_FOLDERS = ["src/hosts/(?!workers/)", "src/worker/", "src/extract/", "bin/", "test/"];
const NODE_ONLY = new RegExp(
  `^(?:${NODE_FOLDERS.join("|")}|(?:.*/)?node_modules/(?:${NODE_PACKAGES.join("|")})/)`,
);
/** dns-packet decodes into Buffers, which workerd has built in. */
const ALLOWED: readonly (readonly [importer: RegExp, builtin: string])[] = [
  [/^(?:.*\/)?node_modules\/dns-packet\//, "buffer"],
];

/**
 * Finds what a bundle imports and must not: modules of Node, and code that needs them. Tree shaking counts
 * for nothing: it may end.
 */
export function findIntruders({ inputs, outputs }: Metafile): Intruder[] {
  const importers = new Map<string, string>();
  const entries = Object.values(outputs).flatMap(({ entryPoint }) => entryPoint ?? []);
  const queue = [...entries];
  const intruders = new Map<string, Intruder>();
  const report = (what: string, from: string) => {
    if (!intruders.has(what)) intruders.set(what, { what, chain: [...chainTo(from, importers), what] });
  };
  for (const path of queue) {
    for (const { path: imported, external, original = imported } of inputs[path]?.imports ?? []) {
      if (isBuiltin(original)) {
        if (!isAllowed(path, original)) report(original, path);
        continue;
      }
      if (external || importers.has(imported) || entries.includes(imported)) continue;
      importers.set(imported, path);
      if (NODE_ONLY.test(imported)) report(imported, path);
      else queue.push(imported);
    }
  }
  return [...intruders.values()];
}

function isAllowed(importer: string, builtin: string): boolean {
  return ALLOWED.some(([pattern, allowed]) => builtin === allowed && pattern.test(importer));
}

function chainTo(path: string, importers: ReadonlyMap<string, string>): string[] {
  const importer = importers.get(path);
  return importer === undefined ? [path] : [...chainTo(importer, importers), path];
}

/** The modules of a bundle, largest first. */
export function modulesOf({ outputs }: Metafile): BundlePart[] {
  const parts = Object.values(outputs).flatMap(({ inputs }) =>
    Object.entries(inputs).map(([name, { bytesInOutput }]) => ({ name, bytes: bytesInOutput })),
  );
  return parts.sort((one, other) => other.bytes - one.bytes);
}

/** The same by package, and by stage of ours. */
export function packagesOf(metafile: Metafile): BundlePart[] {
  const bytes = new Map<string, number>();
  for (const part of modulesOf(metafile)) {
    const name = /node_modules\/((?:@[^/]+\/)?[^/]+)\/(?!.*node_modules\/)/.exec(part.name)?.[1];
    const stage = /^(src\/[^/]+)\//.exec(part.name)?.[1];
    const group = name ?? stage ?? "other";
    bytes.set(group, (bytes.get(group) ?? 0) + part.bytes);
  }
  return [...bytes]
    .map(([name, sum]) => ({ name, bytes: sum }))
    .sort((one, other) => other.bytes - one.bytes);
}
