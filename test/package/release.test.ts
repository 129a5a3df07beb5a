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
      expect(pattern.exec(readFileSync(join(root, file), "utf8"))?.[1]).toBe(manifest.version);
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
  const bill = billOfMaterials(root) as {
    readonly metadata: { readonly component: { readonly name: string; readonly version: string } };
    readonly components: readonly { readonly name: string; readonly version: string }[];
  };
  const listed = bill.components.map(({ name, version }) => `${name}@${version}`);

  it("names the package, and each one that is installed with it", () => {
    expect(bill.metadata.component).toMatchObject({ name: "clusterset-doh", version: manifest.version });
    const { packages } = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8")) as {
      readonly packages: Readonly<
        Record<string, { readonly version: string; readonly dev?: true; readonly name?: string }>
      >;
    };
    const installed = Object.entries(packages).flatMap(([path, { version, dev, name }]) =>
      path === "" || dev ? [] : [`${name ?? path.replace(/^.*node_modules\//, "")}@${version}`],
    );
    expect(listed).toEqual(expect.arrayContaining(installed.filter((one) => isDirect(one))));
    expect(listed.filter((one) => !installed.includes(one))).toEqual([]);
  });

  it("names no tool of development, and no host but the project's", () => {
    expect(listed.filter((one) => /^(?:vitest|typescript|wrangler)@/.test(one))).toEqual([]);
    const hosts = new Set(JSON.stringify(bill).match(/https?:\/\/[^/"]+/g));
    expect([...hosts].sort()).toEqual(["http://cyclonedx.org", "https://github.com"]);
  });
});

/** Whether package.json names it; others may be optional, and not there. */
function isDirect(packageVersion: string): boolean {
  return Object.entries(manifest.dependencies).some(
    ([name, version]) => packageVersion === `${name}@${version}`,
  );
}

describe("workflows", () => {
  const folder = join(root, ".github/workflows");

  it.each(readdirSync(folder))(
    "%s has no right by default, actions by commit with their version, and no expression in a script",
    (file) => {
      const text = readFileSync(join(folder, file), "utf8");
      const { permissions, jobs } = parse(text) as {
        readonly permissions: object;
        readonly jobs: Readonly<
          Record<
            string,
            { readonly permissions: object; readonly steps: readonly { readonly run?: string }[] }
          >
        >;
      };
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
    const { on, jobs } = parse(readFileSync(join(folder, "ci.yml"), "utf8")) as {
      readonly on: object;
      readonly jobs: { readonly ci: { readonly steps: readonly { readonly run?: string }[] } };
    };
    expect(on).toHaveProperty("pull_request");
    expect(jobs.ci.steps.at(-1)!.run).toMatch(/ \.ci\/run$/);
  });

  it("Dependabot looks at folders that exist, of every ecosystem here", () => {
    const { updates } = parse(readFileSync(join(root, ".github/dependabot.yml"), "utf8")) as {
      readonly updates: readonly {
        "package-ecosystem": string;
        directory?: string;
        directories?: string[];
      }[];
    };
    expect(updates.map((one) => one["package-ecosystem"])).toEqual([
      "npm",
      "github-actions",
      "gomod",
      "cargo",
      "pip",
    ]);
    for (const { directory, directories = [directory!] } of updates)
      for (const one of directories) expect(existsSync(join(root, one.replace(/\*$/, "")))).toBe(true);
  });
});

describe("the workflow of a release", () => {
  const text = readFileSync(join(root, ".github/workflows/release.yml"), "utf8");
  const workflow = parse(text) as {
    readonly permissions: object;
    readonly jobs: Readonly<
      Record<
        string,
        {
          readonly needs?: string;
          readonly permissions: Readonly<Record<string, string>>;
          readonly steps: readonly {
            readonly uses?: string;
            readonly run?: string;
            readonly with?: object;
          }[];
        }
      >
    >;
  };
  const steps = Object.values(workflow.jobs).flatMap((job) => job.steps);
  const { scripts, devDependencies } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
    readonly scripts: Readonly<Record<string, string>>;
    readonly devDependencies: Readonly<Record<string, string>>;
  };

  it("uses actions by commit, the Node that tests run on, and no expression in a script", () => {
    for (const { uses } of steps)
      if (uses !== undefined) expect(uses).toMatch(/^actions\/[a-z-]+@[0-9a-f]{40}$/);
    for (const { run } of steps) expect(run ?? "").not.toContain("${{");
    const versions = steps.flatMap((step) => Object.entries(step.with ?? {}));
    const nodes = versions.filter(([name]) => name === "node-version").map(([, version]) => version);
    expect(new Set(nodes)).toEqual(new Set([devDependencies.node]));
  });

  it("runs commands that exist", () => {
    const named = steps.flatMap(({ run }) =>
      [...(run ?? "").matchAll(/^npm run (\S+)/gm)].map(([, name]) => name!),
    );
    expect(named).toContain("release");
    for (const name of named) expect(scripts).toHaveProperty([name]);
  });

  it("gives rights to the job that publishes alone, after the checks", () => {
    expect(workflow.permissions).toEqual({});
    expect(workflow.jobs.check!.permissions).toEqual({ contents: "read" });
    expect(workflow.jobs.release).toMatchObject({
      needs: "check",
      environment: "release",
      permissions: { contents: "write", packages: "write", "id-token": "write" },
    });
  });

  it("publishes the package with provenance, and the image with provenance and a bill of materials", () => {
    const all = steps.map(({ run }) => run ?? "").join("\n");
    expect(all).toMatch(/npm publish dist\/release\/\S+\.tgz --provenance/);
    expect(all).toMatch(
      /docker buildx build --file infra\/container\/Dockerfile.*--provenance=mode=max --sbom=true/s,
    );
    expect(all).toMatch(/gh release create .*SHA256SUMS/s);
  });
});
