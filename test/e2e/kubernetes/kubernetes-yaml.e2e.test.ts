import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { SCALARS } from "../../worker/yaml-scalars.ts";
import { run } from "../servers/run.ts";
import { temporaryFolder } from "../servers/tools/folders.ts";
import { ensureTool } from "../servers/tools/tools.ts";

test("kubectl makes of each scalar of YAML what the table of the worker says", async () => {
  const file = join(temporaryFolder("yaml"), "object.yaml");
  const lines = SCALARS.map(([text], index) => `  s${index}: ${text}`);
  writeFileSync(
    file,
    ["apiVersion: e.com/v1", "kind: E", "metadata: {name: e}", "values:", ...lines, ""].join("\n"),
  );
  const kubectl = await ensureTool("kubectl");
  const output = await run(kubectl, ["patch", "--local", "-f", file, "--type=merge", "-p={}", "-o=json"]);
  const { values } = JSON.parse(output) as { values: Record<string, unknown> };
  expect(SCALARS.map(([text], index) => [text, values[`s${index}`] ?? null])).toEqual(
    SCALARS.map((one) => [...one]),
  );
});
