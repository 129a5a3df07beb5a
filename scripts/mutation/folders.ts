/**
 * The folders of `src/` whose code is mutated, each with the tests that have to notice: those next to it, so that a mutant takes a second.
 * A mutant that only a far-away test would kill counts as survived.
 */
export const MUTATED_FOLDERS: Readonly<Record<string, readonly string[]>> = {
  limits: ["test/limits/**"],
  snapshot: ["test/snapshot/{json-value,merge-patch,parse,patch,snapshot-error}.test.ts"],
  dns: ["test/dns/**"],
  transfer: ["test/transfer/**"],
  gateway: ["test/gateway/**"],
  merge: ["test/merge/**"],
  extract: ["test/extract/**"],
  access: ["test/access/**"],
  zone: ["test/zone/**", "test/resolve/*-tables.test.ts", "test/resolve/federation-places.test.ts"],
  resolve: ["test/resolve/**"],
};
