import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Ajv } from "ajv";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { configSchemas } from "../../scripts/config-schemas.ts";
import { readEdgeConfig } from "../../src/config/edge-config.ts";
import { ServeConfig } from "../../src/config/settings.ts";
import { blocksIn, textOf } from "../docs/pages.ts";

const ajv = new Ajv({ strict: false, validateFormats: false, unicodeRegExp: true });
const schemas = [...configSchemas()].map(([path, schema]) => [path, ajv.compile(schema)] as const);

/** What a schema says of a value; nothing if the value is valid. */
function errorsOf(path: string, value: unknown): string[] {
  const [, validate] = schemas.find(([name]) => name.endsWith(path))!;
  validate(value);
  return (validate.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message}`);
}

const examples = readdirSync(join(import.meta.dirname, "../../examples/security")).map(
  (name) => `examples/security/${name}`,
);

describe("gateway-config.json", () => {
  test.each([...examples, "infra/kubernetes/gateway/gateway.yaml"])("takes %s", (path) => {
    expect(errorsOf("gateway-config.json", parse(textOf(path)))).toEqual([]);
  });

  test("takes the example of the reference, and short forms", () => {
    const [example] = blocksIn("docs/reference/configuration.md", "yaml");
    expect(errorsOf("gateway-config.json", parse(example!))).toEqual([]);
    const short = { dns: { listen: [":53", { address: ":54" }] }, forward: { upstreams: ["192.0.2.53"] } };
    expect(errorsOf("gateway-config.json", short)).toEqual([]);
  });

  test.each([
    [{ zone: ["a.example"] }, " must NOT have additional properties"],
    [{ limits: { isolateBytes: 2_000_000 } }, "/limits must NOT have additional properties"],
    [{ ttlSeconds: "5" }, "/ttlSeconds must be integer"],
    [{ zones: ["no name"] }, "/zones/0 must match pattern"],
  ])("rejects %j, as the gateway does", (config, error) => {
    expect(errorsOf("gateway-config.json", config)[0]).toContain(error);
    expect(ServeConfig.safeParse(config).success).toBe(false);
  });
});

test("worker-config.json has the keys of CONFIG alone", () => {
  const config = { limits: { isolateBytes: 2 ** 20 }, access: { public: true } };
  expect(errorsOf("worker-config.json", config)).toEqual([]);
  for (const wrong of [{ listen: ":8443" }, { audit: { logFile: "a" } }, { limits: { connections: 1 } }]) {
    expect(errorsOf("worker-config.json", wrong)[0]).toContain("must NOT have additional properties");
    expect(() => readEdgeConfig(wrong)).toThrow("this key does not exist here");
  }
});

test("the values that pages have fit the schema of the gateway's chart", () => {
  const pages = ["capacity", "kubernetes", "implementations/cilium", "implementations/gke"];
  for (const page of pages) {
    const blocks = blocksIn(`docs/how-to/deploy/${page}.md`, "yaml").filter((text) =>
      text.startsWith("# values.yaml"),
    );
    expect(blocks, page).not.toEqual([]);
    for (const block of blocks)
      expect(errorsOf("gateway/values.schema.json", parse(block)), page).toEqual([]);
  }
});

test.each(["gateway", "sync-worker"])("the values of the chart %s fit their schema", (chart) => {
  const values = parse(
    readFileSync(join(import.meta.dirname, "../../infra/helm", chart, "values.yaml"), "utf8"),
  );
  expect(errorsOf(`${chart}/values.schema.json`, values)).toEqual([]);
  expect(errorsOf(`${chart}/values.schema.json`, { ...values, hots: "" })).toHaveLength(1);
});
