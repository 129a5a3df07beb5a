import { readFileSync } from "node:fs";
import { join } from "node:path";

/** A place that names the version. */
interface VersionPlace {
  readonly file: string;
  /** Its first group is the version. */
  readonly pattern: RegExp;
}

/** Every place that names the version; tests compare them, too. */
export const VERSION_PLACES: readonly VersionPlace[] = [
  { file: "src/assembly/stages.ts", pattern: /VERSION = "([^"]+)"/ },
  { file: "infra/container/Dockerfile", pattern: /image\.version="([^"]+)"/ },
  { file: "infra/container/compose.yaml", pattern: /image: clusterset-doh:(\S+)$/m },
  ...["gateway", "sync-worker"].flatMap((chart) =>
    [/^version: (\S+)$/m, /^appVersion: (\S+)$/m, /image: \S+:(\S+)$/m].map((pattern) => ({
      file: `infra/helm/${chart}/Chart.yaml`,
      pattern,
    })),
  ),
  { file: "infra/kubernetes/gateway/statefulset.yaml", pattern: /image: clusterset-doh:(\S+)$/m },
  { file: "infra/kubernetes/sync-worker/deployment.yaml", pattern: /image: clusterset-doh:(\S+)$/m },
  { file: "infra/workers/assets/api/v1/openapi.json", pattern: /"version":"([^"]+)"/ },
];

/** What a release is made of. */
export interface ReleaseFacts {
  /** The folder of the checkout. */
  readonly root: string;
  /** Of package.json. */
  readonly version: string;
  /** `repository.url` of package.json. */
  readonly repositoryUrl: string;
  /** The tag that is released, if there is one: `GITHUB_REF_NAME`. */
  readonly tag?: string | undefined;
  /** The repository that builds, as `owner/name`, if one does: `GITHUB_REPOSITORY`. */
  readonly repository?: string | undefined;
  /** Files that differ from the commit, as `git status --porcelain` prints them. */
  readonly changes: string;
}

/** Why a checkout cannot be released: sentences, none if it can. */
export function findObstacles({
  root,
  version,
  repositoryUrl,
  tag,
  repository,
  changes,
}: ReleaseFacts): string[] {
  const obstacles = VERSION_PLACES.flatMap(({ file, pattern }) => {
    const named = pattern.exec(readFileSync(join(root, file), "utf8"))?.[1];
    return named === version ? [] : [`${file} has version ${named}, and package.json ${version}`];
  });
  const changelog = readFileSync(join(root, "CHANGELOG.md"), "utf8");
  if (notesOf(changelog, version) === undefined)
    obstacles.push(`CHANGELOG.md has no section "## [${version}] - YYYY-MM-DD"`);
  if (tag !== undefined && tag !== `v${version}`)
    obstacles.push(`the tag is ${tag}, and package.json has ${version}`);
  // npm accepts a provenance only from the repository that package.json names.
  if (repository !== undefined && repositoryUrl !== `git+https://github.com/${repository}.git`)
    obstacles.push(`repository.url in package.json is not that of ${repository}`);
  if (changes !== "") obstacles.push(`the checkout has changes that are not committed:\n${changes}`);
  return obstacles;
}

/** The section of a version in a changelog, without its heading; undefined if there is none with a date. */
export function notesOf(changelog: string, version: string): string | undefined {
  const sections = changelog.split(/^## /m).slice(1);
  const isOf = (section: string) =>
    section.startsWith(`[${version}] - `) && / - \d{4}-\d{2}-\d{2}\n/.test(section);
  return sections.find(isOf)?.replace(/^.*\n+/, "");
}
