import { readFileSync } from "node:fs";
import { join } from "node:path";
import { isMap, isScalar, isSeq, type Node, parseDocument, type YAMLMap } from "yaml";
import * as z from "zod";
import { isElsewhere } from "../src/config/hosts.ts";
import { EdgeConfig, ServeConfig } from "../src/config/settings.ts";
import { CLUSTER_ID } from "../src/snapshot/schema.ts";

interface Schema {
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly [key: string]: unknown;
}

/**
 * The JSON Schemas of the config file and of CONFIG, and of the values of the charts: files by their path,
 * schemas by their title.
 */
export function configSchemas(): ReadonlyMap<string, Schema> {
  const gateway = described(written(ServeConfig));
  return new Map([
    ["docs/reference/schema/gateway-config.json", titled("Config file of clusterset-doh serve", gateway)],
    [
      "docs/reference/schema/worker-config.json",
      titled("CONFIG of the Worker", described(written(EdgeConfig))),
    ],
    [
      "infra/helm/gateway/values.schema.json",
      titled("Values", chartValues("gateway", gatewayValues(gateway))),
    ],
    ["infra/helm/sync-worker/values.schema.json", titled("Values", chartValues("sync-worker", workerValues))],
  ]);
}

// Helm checks formats up to this draft only; its expressions are those of RE2.
const $schema = "http://json-schema.org/draft-07/schema#";

function titled(title: string, schema: Schema): Schema {
  return { $schema, title, ...schema };
}

/** A configuration as a user writes it: with short forms, and without the keys of other hosts. */
function written(schema: z.ZodType): Schema {
  const { $schema: _, ...json } = z.toJSONSchema(schema, {
    ...{ io: "input", target: "draft-7", unrepresentable: "any" },
    override: ({ zodSchema, jsonSchema }) => {
      if (zodSchema instanceof z.ZodObject)
        for (const [key, value] of Object.entries(zodSchema.shape))
          if (isElsewhere(value as z.ZodType)) delete jsonSchema.properties?.[key];
      if (zodSchema instanceof z.ZodPipe) {
        // An address to listen on, or an upstream: its short form is a text.
        const inFull = { ...jsonSchema };
        for (const key of Object.keys(jsonSchema)) delete jsonSchema[key];
        jsonSchema.anyOf = [{ type: "string" }, inFull];
      }
      const { patterns = [] } = zodSchema._zod.bag as { patterns?: Iterable<RegExp> };
      for (const { flags, source } of patterns)
        if (flags.includes("i") || /\(\?[^:]|\\u/.test(source))
          throw new Error(
            `a pattern of JSON Schema has no flag i, and one of RE2 no look-ahead and \\u: ${source}`,
          );
    },
  });
  return json as Schema;
}

/**
 * Adds the meaning of each key from docs/reference/configuration.md. Rows of many keys are for readers of the
 * whole page.
 */
function described(schema: Schema): Schema {
  const meanings = new Map<string, string>();
  for (const line of readText("docs/reference/configuration.md").split("\n")) {
    const [keys = "", , meaning = ""] = line.slice(2, -2).split(" | ");
    const named = [...keys.matchAll(/`([^`]+)`/g)];
    if (!line.startsWith("| `") || named.length > 4) continue;
    for (const [, key] of named) meanings.set(key!, meaning.replaceAll(/\[([^\]]+)\]\([^)]*\)|`/g, "$1"));
  }
  const describe = (part: Schema, path: string): Schema => ({
    ...(meanings.has(path) && { description: meanings.get(path) }),
    ...describeInside(part, path),
  });
  const describeInside = ({ properties, items, anyOf, oneOf, ...part }: Schema, path: string): Schema => ({
    ...part,
    ...(properties && {
      properties: mapped(properties, (value, key) => describe(value, path === "" ? key : `${path}.${key}`)),
    }),
    ...(items && { items: describe(items, `${path}[]`) }),
    ...(anyOf && { anyOf: anyOf.map((one) => describeInside(one, path)) }),
    ...(oneOf && { oneOf: oneOf.map((one) => describeInside(one, path)) }),
  });
  return describe(schema, "");
}

function mapped(properties: Readonly<Record<string, Schema>>, to: (value: Schema, key: string) => Schema) {
  return Object.fromEntries(Object.entries(properties).map(([key, value]) => [key, to(value, key)]));
}

function readText(path: string): string {
  return readFileSync(join(import.meta.dirname, "..", path), "utf8");
}

const TEXT: Schema = { type: "string" };
const TEXTS: Schema = { type: "object", additionalProperties: TEXT };
/** What Kubernetes checks. */
const ANY: Schema = { type: "object" };
const OBJECTS: Schema = { type: "array", items: ANY };
const PORT: Schema = { type: "integer", minimum: 1, maximum: 65_535 };
const CLUSTER: Schema = { type: "string", pattern: CLUSTER_ID.source };
const orEmpty = (schema: Schema): Schema => ({ anyOf: [{ const: "" }, schema] });

/** Values whose schema their default does not say. */
const eachChart: Readonly<Record<string, Schema>> = {
  "image.pullPolicy": { enum: ["Always", "IfNotPresent", "Never"] },
  "image.pullSecrets": OBJECTS,
  resources: ANY,
  nodeSelector: TEXTS,
  tolerations: OBJECTS,
  affinity: ANY,
  podLabels: TEXTS,
  podAnnotations: TEXTS,
  env: OBJECTS,
  volumes: OBJECTS,
  volumeMounts: OBJECTS,
  podSecurityContext: ANY,
  extraObjects: OBJECTS,
};

function gatewayValues(config: Schema): Readonly<Record<string, Schema>> {
  // The chart sets what is not in `others`, to what the pod mounts and exposes.
  const { listen: _, stateDirectory: __, store, tls, ...others } = config.properties!;
  const {
    clusterId: ___,
    tokenFile: ____,
    ...credential
  } = others.push!.properties!.credentials!.items!.properties!;
  const tlsFiles = tls!.anyOf!.find(({ type }) => type === "object")!;
  return {
    host: orEmpty({ type: "string", format: "hostname" }),
    clusters: {
      type: "object",
      patternProperties: {
        [CLUSTER_ID.source]: {
          type: ["object", "null"],
          properties: { token: TEXT, ...credential },
          additionalProperties: false,
        },
      },
      additionalProperties: false,
    },
    config: { ...config, properties: { ...others, tls: { anyOf: [{ const: true }, tlsFiles] } } },
    store: store!,
    replicas: { type: "integer", minimum: 1 },
    "service.type": { enum: ["ClusterIP", "NodePort", "LoadBalancer"] },
    "service.port": PORT,
    "service.dnsPort": PORT,
    "service.dotPort": PORT,
    "service.spec": ANY,
    "service.annotations": TEXTS,
    "ingress.annotations": TEXTS,
    "httpRoute.parentRefs": OBJECTS,
    "httpRoute.validation": ANY,
    "tlsRoute.parentRefs": OBJECTS,
    "serviceMonitor.labels": TEXTS,
    "serviceMonitor.authorization": ANY,
    "serviceMonitor.tlsConfig": ANY,
    "prometheusRule.labels": TEXTS,
    "networkPolicy.egress": OBJECTS,
    "networkPolicy.storePorts": { type: "array", items: PORT },
  };
}

const workerValues: Readonly<Record<string, Schema>> = {
  gateway: orEmpty({ type: "string", pattern: "^https?://" }),
  clusterId: orEmpty(CLUSTER),
  "clusterLocal.pods": { enum: ["disabled", "insecure", "verified"] },
  extraArgs: { type: "array", items: TEXT },
  "podMonitor.labels": TEXTS,
};

/** The schema of a chart's values: the structure, defaults and comments of its values.yaml. */
function chartValues(chart: string, given: Readonly<Record<string, Schema>>): Schema {
  const { contents } = parseDocument(readText(`infra/helm/${chart}/values.yaml`));
  const known = { ...eachChart, ...given };
  const schema = objectOf(contents as YAMLMap<Node, Node>, "", known);
  // A chart that has this one as a part sets it.
  return { ...schema, properties: { ...schema.properties, global: ANY } };
}

/** The comment above a key of a map. */
export function commentOn(map: YAMLMap<Node, Node>, index: number): string {
  // That of the first key belongs to the map itself.
  return map.items[index]!.key.commentBefore ?? (index === 0 ? map.commentBefore : undefined) ?? "";
}

function objectOf(map: YAMLMap<Node, Node>, path: string, known: Readonly<Record<string, Schema>>): Schema {
  const properties = map.items.map(({ key, value }, index) => {
    const name = String(isScalar(key) ? key.value : key);
    const comment = commentOn(map, index).replace(/\n? /g, " ").trim();
    return [
      name,
      { ...(comment !== "" && { description: comment }), ...schemaOf(value!, `${path}${name}`, known) },
    ] as const;
  });
  return { type: "object", properties: Object.fromEntries(properties), additionalProperties: false };
}

function schemaOf(value: Node, path: string, known: Readonly<Record<string, Schema>>): Schema {
  const schema = known[path];
  if (schema !== undefined) return schema;
  if (isMap(value) && value.items.length > 0)
    return objectOf(value as YAMLMap<Node, Node>, `${path}.`, known);
  if (isScalar(value) && ["string", "boolean"].includes(typeof value.value))
    return { type: typeof value.value };
  throw new Error(`${path} needs a schema${isSeq(value) ? " of its elements" : ""}`);
}
