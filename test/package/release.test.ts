import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { billOfMaterials } from "../../scripts/release/bill-of-materials.ts";
import {
  findObstacles,
  notesOf,
  type ReleaseFacts,
  VERSION_PLACES,
} from "../../scripts/release/readiness.ts";
import { manifest, root } from "./packed-package.ts";

const read = (file: string) => readFileSync(join(root, file), "utf8");

const FACTS: ReleaseFacts = {
  root,
  version: manifest.version,
  repositoryUrl: manifest.repository.url,
  changes: "",
};

describe("a version", () => {
  it.each(VERSION_PLACES.map((place) => [place.file, place.pattern] as const))(
    "is that of package.json in %s",
    (file, pattern) => {
      expect(pattern.exec(read(file))?.[1]).toBe(manifest.version);
    },
  );

  it("without a dated section in the changelog has no notes", () => {
    const changelog =
      "# Changelog\n\n## [Unreleased]\n\nLater.\n\n## [1.2.0] - 2026-12-01\n\n- New.\n\n## [1.1.0]\n\n- Old.\n";
    expect(notesOf(changelog, "1.2.0")).toBe("- New.\n\n");
    for (const version of ["1.1.0", "1.2", "Unreleased", "1.3.0"])
      expect(notesOf(changelog, version)).toBeUndefined();
  });
});

describe("a release", () => {
  const UNDATED = expect.stringContaining("CHANGELOG.md has no section");
  const obstaclesOf = (changed: Partial<ReleaseFacts>) =>
    findObstacles({ ...FACTS, ...changed }).filter((one) => !/^CHANGELOG/.test(one));

  it.each<[string, Partial<ReleaseFacts>, RegExp]>([
    ["a tag of another version", { tag: "v9.9.9" }, /^the tag is v9\.9\.9/],
    ["another repository", { repository: "somebody/else" }, /is not that of somebody\/else$/],
    ["changes that are not committed", { changes: " M package.json" }, /not committed:\n M package\.json$/],
  ])("is not made of %s", (_, changed, obstacle) => {
    expect(obstaclesOf(changed)).toEqual([expect.stringMatching(obstacle)]);
  });

  it("is not made of a version that nothing else has", () => {
    expect(findObstacles({ ...FACTS, version: "9.9.9" })).toEqual([
      ...VERSION_PLACES.map(({ file }) => expect.stringContaining(`${file} has version ${manifest.version}`)),
      UNDATED,
    ]);
  });

  it("is made of the tag, in the repository of package.json", () => {
    const [, repository] = /github\.com\/(.+)\.git$/.exec(manifest.repository.url)!;
    expect(obstaclesOf({ tag: `v${manifest.version}`, repository: repository! })).toEqual([]);
  });
});

describe("the bill of materials", () => {
  type Locked = { readonly version: string; readonly dev?: true; readonly name?: string };
  type Named = { readonly name: string; readonly version: string };
  const bill = billOfMaterials(root) as { metadata: { component: Named }; components: Named[] };
  const listed = bill.components.map(({ name, version }) => `${name}@${version}`);

  it("names the package, and each one that is installed with it", () => {
    expect(bill.metadata.component).toMatchObject({ name: "clusterset-doh", version: manifest.version });
    const { packages } = JSON.parse(read("package-lock.json")) as { packages: Record<string, Locked> };
    const installed = Object.entries(packages).flatMap(([path, { version, dev, name }]) =>
      path === "" || dev ? [] : [`${name ?? path.replace(/^.*node_modules\//, "")}@${version}`],
    );
    // Others may be optional, and not there.
    const direct = Object.entries(manifest.dependencies).map(([name, version]) => `${name}@${version}`);
    expect(listed).toEqual(expect.arrayContaining(direct));
    expect(listed.filter((one) => !installed.includes(one))).toEqual([]);
  });

  it("names no tool of development, and no host but the project's", () => {
    expect(listed.filter((one) => /^(?:vitest|typescript|wrangler)@/.test(one))).toEqual([]);
    const hosts = new Set(JSON.stringify(bill).match(/https?:\/\/[^/"]+/g));
    expect([...hosts].sort()).toEqual(["http://cyclonedx.org", "https://github.com"]);
  });
});

interface Workflow {
  readonly on: object;
  readonly permissions: object;
  readonly jobs: Readonly<Record<string, Job>>;
}
interface Job {
  readonly permissions: object;
  readonly steps: readonly { readonly uses?: string; readonly run?: string; readonly with?: object }[];
}

describe("workflows", () => {
  it.each(readdirSync(join(root, ".github/workflows")))(
    "%s has no right by default, actions by commit with their version, and no expression in a script",
    (file) => {
      const text = read(`.github/workflows/${file}`);
      const { permissions, jobs } = parse(text) as Workflow;
      expect(permissions).toEqual({});
      for (const job of Object.values(jobs)) {
        expect(job.permissions).toBeDefined();
        for (const { run = "" } of job.steps) expect(run).not.toContain("${{");
      }
      for (const [line] of text.matchAll(/uses:.*/g))
        expect(line).toMatch(/^uses: [\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/);
    },
  );

  it("ci.yml runs all of CI on pull requests", () => {
    const { on, jobs } = parse(read(".github/workflows/ci.yml")) as Workflow;
    expect(on).toHaveProperty("pull_request");
    expect(jobs.ci!.steps.at(-1)!.run).toMatch(/ \.ci\/run$/);
  });

  it("Dependabot looks at folders that exist, of every ecosystem here", () => {
    const { updates } = parse(read(".github/dependabot.yml")) as {
      readonly updates: readonly {
        "package-ecosystem": string;
        directory?: string;
        directories?: string[];
      }[];
    };
    const ecosystems = updates.map((one) => one["package-ecosystem"]);
    expect(ecosystems).toEqual(["npm", "github-actions", "gomod", "pip"]);
    for (const { directory, directories = [directory!] } of updates)
      for (const one of directories) expect(existsSync(join(root, one.replace(/\*$/, "")))).toBe(true);
  });
});

describe("the workflow of a release", () => {
  const text = read(".github/workflows/release.yml");
  const { jobs } = parse(text) as Workflow;
  const steps = Object.values(jobs).flatMap((job) => job.steps);
  const commands = steps.map(({ run }) => run ?? "").join("\n");
  const { scripts, devDependencies } = JSON.parse(read("package.json")) as Record<string, { node?: string }>;

  it("uses actions of GitHub alone, the Node that tests run on, and commands that exist", () => {
    for (const { uses } of steps) expect(uses ?? "actions/none@").toMatch(/^actions\/[a-z-]+@/);
    const versions = steps.flatMap((step) => Object.entries(step.with ?? {}));
    const nodes = versions.filter(([name]) => name === "node-version").map(([, version]) => version);
    expect(new Set(nodes)).toEqual(new Set([devDependencies!.node]));
    const named = [...commands.matchAll(/^npm run (\S+)/gm)].map(([, name]) => name!);
    expect(named).toContain("release");
    for (const name of named) expect(scripts).toHaveProperty([name]);
  });

  it("publishes package and image with provenance, after the checks, in the one job that has the rights", () => {
    expect(jobs.check!.permissions).toEqual({ contents: "read" });
    expect(jobs.release).toMatchObject({
      needs: "check",
      environment: "release",
      permissions: { contents: "write", packages: "write", "id-token": "write" },
    });
    const build =
      /docker buildx build --file infra\/container\/Dockerfile.*--provenance=mode=max --sbom=true/s;
    for (const command of [
      /npm publish dist\/release\/\S+\.tgz --provenance/,
      build,
      /gh release .*SHA256SUMS/s,
    ])
      expect(commands).toMatch(command);
  });
});
