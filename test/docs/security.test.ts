import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { readServeConfig } from "../../src/hosts/node/config/config.ts";
import { documentedSetUp, SET_UPS, type SetUpName } from "./set-ups.ts";

const folder = fileURLToPath(new URL("../../examples/security", import.meta.url));
const names = Object.keys(SET_UPS) as SetUpName[];

describe("the set-ups of docs/how-to/access-examples.md", () => {
  it("are the files in examples/security", () => {
    expect(readdirSync(folder).sort()).toEqual(names.map((name) => `${name}.yaml`).sort());
  });

  it.each(names)("%s is the very file, which is taken, and the commands use it", (name) => {
    const { config, serving, pushing, asking } = documentedSetUp(name);
    expect(config).toBe(readFileSync(`${folder}/${name}.yaml`, "utf8"));
    const { push } = readServeConfig({ config: `${folder}/${name}.yaml` });
    expect(serving).toBe(`clusterset-doh serve --config ${name}.yaml`);
    expect(pushing.map((line) => /--cluster-id (\S+)/.exec(line)?.[1])).toEqual(
      push.credentials.map(({ clusterId }) => clusterId),
    );
    expect(asking.length).toBeGreaterThan(5);
  });
});
