import { describe, expect, it } from "vitest";
import * as z from "zod";
import { ServeConfig } from "../../src/config/settings.ts";
import { configFiles } from "../config/config-files.ts";
import { blocksIn, keysOfCell, rowsIn, textOf } from "./pages.ts";

const PAGE = "docs/reference/configuration.md";
const page = textOf(PAGE);

const files = configFiles();

/** A JSON Schema, as far as it has keys and defaults. */
interface Schema {
  readonly default?: unknown;
  readonly not?: Schema;
  readonly properties?: Record<string, Schema>;
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
}

/** Every key below a schema, with its default; `[]` stands behind a list. */
function keysIn(schema: Schema, prefix = ""): Map<string, unknown> {
  const keys = new Map<string, unknown>();
  const add = (inside: Map<string, unknown>) => {
    for (const [key, value] of inside) keys.set(key, value ?? keys.get(key));
  };
  for (const [name, value] of Object.entries(schema.properties ?? {})) {
    // It exists on other hosts only.
    if (value.not !== undefined) continue;
    const key = prefix === "" ? name : `${prefix}.${name}`;
    // A key set (RFC 7517) has members of its own standard.
    add(name === "jwks" ? new Map() : keysIn(value, key));
    keys.set(key, value.default);
  }
  for (const part of [...(schema.anyOf ?? []), ...(schema.oneOf ?? []), ...(schema.allOf ?? [])])
    add(keysIn(part, prefix));
  if (schema.items !== undefined) add(keysIn(schema.items, `${prefix}[]`));
  return keys;
}

const schema = z.toJSONSchema(ServeConfig, { io: "output", unrepresentable: "any", reused: "inline" });
const configured = keysIn(schema as Schema);

/** Keys of the page with the cell of their default. */
const documented = rowsIn(PAGE).flatMap(([first, value]) =>
  [...first!.matchAll(/`([^`]+)`/g)].map(([, key]) => [key!, value!] as const),
);

describe("docs/reference/configuration.md", () => {
  it("has every key of the config file and no other, each once; those of limits are on their own page", () => {
    const ofLimits = rowsIn("docs/reference/limits.md")
      .flatMap(([first]) => keysOfCell(first!))
      .filter((key) => /^(?:clients|limits)\./.test(key));
    const keys = [...documented.map(([key]) => key), ...ofLimits];
    expect(keys.sort()).toEqual([...configured.keys()].sort());
    expect(configured.size).toBeGreaterThan(200);
  });

  it.each(documented)("has the default of %s, or that there is none", (key, value) => {
    const set = configured.get(key);
    if (value === "near networks") for (const item of set as string[]) expect(page).toContain(`\`${item}\``);
    else if (Array.isArray(set)) {
      const quoted = set.map((item) => (item.startsWith(":") ? `"${item}"` : item)).join(", ");
      expect(value).toBe(`\`[${quoted}]\``);
    } else if (set === undefined)
      expect(["none", "see below", "`{ source: off }`", "`off`"]).toContain(value);
    else if (typeof set !== "object") expect(value).toBe(`\`${set}\``);
  });

  it.each<readonly [page: string, part: object]>([
    [PAGE, { push: { credentials: [{}, {}] } }],
    ["docs/how-to/mesh-vpn.md", { dns: { listen: [{ rule: "mesh" }] } }],
    ["docs/how-to/location.md", { location: { source: "headers", trustedProxies: ["127.0.0.1", "::1"] } }],
  ])("has a config file that the gateway takes, and so has a guide: %s", (of, part) => {
    expect(files.read(blocksIn(of, "yaml")[0]!)).toMatchObject(part);
  });
});
