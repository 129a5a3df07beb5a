/**
 * The end-to-end folders, each with the folders of the checkout that it covers: those whose defects it is
 * likely to find, not all that it runs. Paths without a slash are stages, in src/.
 */
const covered: Readonly<Record<string, readonly string[]>> = {
  abuse: ["answer", "http", "limits", "resolve", "snapshot", "dns", "hosts", "http2"],
  access: ["access", "config", "http", "examples/security", "docs/how-to"],
  answers: ["zone", "names", "forward", "merge", "resolve", "docs/tutorials", "docs/reference"],
  clients: ["http", "answer", "forward", "hosts", "dns", "http2"],
  commands: ["hosts", "explain", "config", "examples", "bin"],
  container: ["infra/container", "package.json", "embedding"],
  control: ["worker", "desired", "gateway"],
  coredns: ["zone", "extract", "merge", "resolve"],
  durability: ["database", "gateway", "transfer", "hosts", "limits"],
  edge: ["transfer", "database", "assembly", "wrangler.toml"],
  hosts: ["assembly", "hosts", "config", "embedding"],
  kubernetes: [
    "worker",
    "outgoing",
    "extract",
    "snapshot",
    "infra/helm",
    "infra/kubernetes",
    "docs/how-to/uninstall.md",
  ],
  overload: ["limits", "answer", "infra/helm"],
  pushes: ["gateway", "worker", "access"],
  replica: ["replica", "database", "gateway"],
  threads: ["hosts", "limits"],
};

/** The folders of test/e2e with tests. */
export const END_TO_END = Object.keys(covered);

/** What a folder covers, as the start of paths. */
export function coverageOf(folder: string): readonly string[] {
  return covered[folder]!.map((one) => (/[/.]|^(bin|examples)$/.test(one) ? one : `src/${one}/`));
}

/** The folders of test/e2e to run after a change of these files, as paths. */
export function coveringFolders(changed: readonly string[]): string[] {
  const shared = changed.some((path) => /^test\/e2e\/(harness|servers)\/|^package-lock\.json$/.test(path));
  return END_TO_END.filter(
    (folder) =>
      shared ||
      changed.some((path) => path.startsWith(`test/e2e/${folder}/`)) ||
      coverageOf(folder).some((start) => changed.some((path) => path.startsWith(start))),
  ).map((folder) => `test/e2e/${folder}`);
}
