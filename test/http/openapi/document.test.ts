import { Validator } from "@seriousme/openapi-schema-validator";
import { describe, expect, it } from "vitest";
import { Paths } from "../../../src/config/forward.ts";
import { OTHER_STATUS, STATUS } from "../../../src/http/messages/codes.ts";
import { createPages } from "../../../src/http/pages/routes.ts";
import { CLUSTER_PATHS } from "../../../src/http/route-table.ts";
import { DEFAULT_LEASE } from "../../config/default-limits.ts";
import { textOf } from "../../docs/pages.ts";
import { exporting } from "../../merge/fixtures.ts";
import { snapshotBody } from "../../snapshot/lines/push-lines.ts";
import { apiRoutes, openApp } from "../open-app.ts";
import { document, operations, validatorOf } from "./read-document.ts";

describe("the OpenAPI document", () => {
  it("is valid OpenAPI 3.1", async () => {
    const validator = new Validator();
    expect(await validator.validate(structuredClone(document))).toMatchObject({ valid: true });
    expect(validator.version).toBe("3.1");
  });

  it("has an id for each operation, and schemas whose references lead somewhere", () => {
    const ids = [...operations.values()].map(({ operationId }) => operationId);
    expect(new Set(ids).size).toBe(ids.length);
    for (const name of Object.keys(document.components.schemas))
      expect(() => validatorOf({ $ref: `#/components/schemas/${name}` })).not.toThrow();
  });

  it("names each parameter of its paths", () => {
    for (const [operation, { parameters = [] }] of operations) {
      const named = parameters.filter((one) => one.in === "path").map(({ name }) => `{${name}}`);
      expect(operation.match(/\{\w+\}/g) ?? [], operation).toEqual(named);
    }
  });

  it("has the lines of a push", () => {
    const isLine = validatorOf({ $ref: "#/components/schemas/SnapshotLine" });
    const lines = Buffer.from(snapshotBody(exporting("west")))
      .toString()
      .trim()
      .split("\n");
    expect(lines.length).toBeGreaterThan(3);
    for (const line of lines) expect(isLine(JSON.parse(line)), line).toBe(true);
    expect(isLine(["exports", 1, {}])).toBe(false);
  });
});

const openApi = async () => ({ openApiDocument: () => ({}) });
const app = openApp({ ...apiRoutes(), openApi });

it("the routes of the app that have a method are in the document, and it has no others", () => {
  const described = (path: string) => path.replaceAll(/:(\w+)/g, "{$1}").replace(/(?<=.)\/$/, "");
  const pages = new Set(createPages().routes.map(({ method, path }) => `${method} ${path}`));
  const own = app.routes
    .filter(({ method }) => method !== "ALL")
    .filter((route) => !pages.has(`${route.method} ${route.path}`))
    .map(({ method, path }) => `${method} ${described(path)}`);
  const queries = ["/dns-query", "/resolve", "/explain", ...CLUSTER_PATHS].map(described);
  const documented = [...operations.keys()].filter((one) => !queries.includes(one.split(" ")[1]!));
  expect(own.toSorted()).toEqual(documented.toSorted());
  for (const path of queries) expect(document.paths).toHaveProperty([path, "get"]);
});

it("a further DNS resource takes no path of the application over", () => {
  const isPath = (path: string) => Paths.safeParse([{ path, outsideZones: "refuse" }]).success;
  const own = app.routes.map(({ path }) => path.split("/")[1]!).filter((name) => /^[a-z]+$/.test(name));
  const reserved = new Set([...own, "explain", "login", "logout", "tokens"]);
  for (const name of ["clusters", "resolve"]) reserved.delete(name);
  expect([...reserved].filter((name) => isPath(`/${name}`) || isPath(`/${name}/more`))).toEqual([]);
  expect(isPath("/everything")).toBe(true);
});

describe("the codes of errors", () => {
  const codes = [...Object.entries(STATUS), ...Object.entries(OTHER_STATUS)];

  it("are in the document by status", () => {
    const { responses } = document.components;
    for (const [code, status] of codes) {
      const { schema } = responses[status]!.content!["application/json"]!;
      expect(validatorOf(schema!)({ code, message: "" }), code).toBe(true);
      expect(validatorOf(schema!)({ code: "NONE", message: "" })).toBe(false);
    }
  });

  it("are in the pages with their status", () => {
    const pages = ["reference/push-api", "reference/control-api", "reference/transfer"];
    const guides = ["how-to/federation", "how-to/troubleshoot"];
    const lines = [...pages, ...guides].flatMap((page) => textOf(`docs/${page}.md`).split("\n"));
    for (const [code, status] of codes) {
      const isListed = (line: string) => line.includes(`\`${code}\``) && line.includes(`${status}`);
      expect([code, lines.some(isListed)]).toEqual([code, true]);
    }
  });
});

it("docs/reference/push-api.md has the default leases", () => {
  const { defaultSeconds, minimumSeconds, maximumSeconds } = DEFAULT_LEASE;
  expect(textOf("docs/reference/push-api.md")).toContain(
    `default ${defaultSeconds}; ${minimumSeconds} to ${maximumSeconds} unless`,
  );
});
