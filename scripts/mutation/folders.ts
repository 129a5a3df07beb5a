/**
 * The mutated folders of `src/`, each with the tests that must detect its mutants: its own tests without
 * those that take longer than a few seconds (`!`), so that a mutant takes a second. A mutant that only
 * another test would kill counts as survived.
 */
export const MUTATED_FOLDERS: Readonly<Record<string, readonly string[]>> = {
  limits: ["test/limits/**"],
  snapshot: [
    "test/snapshot/**",
    // Compares files of infra/, which Stryker's copy does not have.
    "!test/snapshot/documentation.test.ts",
  ],
  dns: ["test/dns/**"],
  database: ["test/database/**"],
  names: ["test/names/**"],
  transfer: [
    "test/transfer/**",
    "!test/transfer/bound.test.ts",
    "!test/transfer/http/{over-http,app}.test.ts",
  ],
  gateway: [
    "test/gateway/**",
    "!test/gateway/isolation/{scopes,isolation}.test.ts",
    "!test/gateway/largest-cluster.test.ts",
    "test/http/push/desired/desired.test.ts",
  ],
  merge: ["test/merge/**", "!test/merge/properties.test.ts", "test/gateway/precedence.test.ts"],
  extract: ["test/extract/**", "!test/extract/properties.test.ts"],
  access: ["test/access/**"],
  zone: [
    "test/zone/**",
    // What is compiled, as it is answered.
    "test/resolve/**",
    "!test/resolve/{sizes,names,wire,query}.test.ts",
  ],
  resolve: ["test/resolve/**", "!test/resolve/model.test.ts"],
};

/** The patterns of a folder's tests, as Vitest takes them. */
export function foldersTests(folder: string): { readonly include: string[]; readonly exclude: string[] } {
  const patterns = (MUTATED_FOLDERS[folder] ?? []).map((pattern) =>
    pattern.endsWith("**") ? `${pattern}/*.test.ts` : pattern,
  );
  return {
    include: patterns.filter((pattern) => !pattern.startsWith("!")),
    exclude: patterns.flatMap((pattern) => (pattern.startsWith("!") ? pattern.slice(1) : [])),
  };
}
