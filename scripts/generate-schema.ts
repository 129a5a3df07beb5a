// Writes docs/reference/schema/*.json, infra/helm/*/{values.schema.json,README.md} and the OpenAPI document
// from the code: `node scripts/generate-schema.ts`. With --check it writes nothing and fails where a
// committed file differs.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import * as z from "zod";
import { VERSION } from "../src/assembly/stages.ts";
import { openApiDocument } from "../src/http/openapi/document.ts";
import {
  AcknowledgementResponse,
  ClusterResponse,
  ErrorResponse,
  SnapshotLine,
} from "../src/http/openapi/schemas.ts";
import { LeaseRequest } from "../src/http/push/push-messages.ts";
import * as snapshot from "../src/snapshot/schema.ts";
import { TransferStateResponse } from "../src/transfer/transfer-state.ts";
import { chartReadmes } from "./chart-readme.ts";
import { configSchemas } from "./config-schemas.ts";

const root = join(import.meta.dirname, "..");
const SCHEMAS = "docs/reference/schema";
/** Where it is, Cloudflare serves it as `/api/v1/openapi.json` (`assets` in wrangler.toml). */
const OPEN_API = "infra/workers/assets/api/v1/openapi.json";

/** The files by their path in the checkout, as text. */
export function generateFiles(): ReadonlyMap<string, string> {
  const schemas = [...generateSchemas()].map(([name, text]) => [`${SCHEMAS}/${name}`, text] as const);
  const configs = [...configSchemas()].map(([path, schema]) => [path, json(schema)] as const);
  return new Map([
    ...schemas,
    ...configs,
    ...chartReadmes(),
    [OPEN_API, `${JSON.stringify(openApiDocument(VERSION))}\n`],
  ]);
}

/** The JSON Schema files by name, as text. */
function generateSchemas(): ReadonlyMap<string, string> {
  const named = z.registry<{ id: string }>();
  const { ServicePort, EndpointPort, Endpoint, EndpointGroup, EndpointGroups } = snapshot;
  const { ExportedService, ImportedService, LocalService, ClusterZone, Finding, ClusterSnapshot } = snapshot;
  const endpoints = { ServicePort, EndpointPort, Endpoint, EndpointGroup, EndpointGroups };
  const services = { ExportedService, ImportedService, LocalService };
  for (const [id, part] of Object.entries({ ...endpoints, ...services, ClusterZone, Finding }))
    named.add(part, { id });

  // Clients must take responses with fields that they do not know.
  const response = { io: "input" } as const;
  return new Map([
    [
      "cluster-snapshot.json",
      // As it is sent: what has a default may be left out.
      write("Cluster snapshot", z.toJSONSchema(ClusterSnapshot, { metadata: named, io: "input" })),
    ],
    [
      "snapshot-line.json",
      write("Line of a push", z.toJSONSchema(SnapshotLine, { metadata: named, io: "input" })),
    ],
    ["lease-request.json", write("Lease renewal", z.toJSONSchema(LeaseRequest))],
    ["acknowledgement.json", write("Acknowledgement", z.toJSONSchema(AcknowledgementResponse, response))],
    ["cluster-status.json", write("Cluster status", z.toJSONSchema(ClusterResponse, response))],
    ["transfer-state.json", write("Transfer state", z.toJSONSchema(TransferStateResponse, response))],
    ["error.json", write("Error", z.toJSONSchema(ErrorResponse, response))],
  ]);
}

function write(title: string, { $schema, ...schema }: z.core.JSONSchema.BaseSchema): string {
  return json({ $schema, title, ...schema });
}

function json(schema: object): string {
  return `${JSON.stringify(schema, null, 2)}\n`;
}

/** The committed files that are not what the code says. */
export function findOutdated(): string[] {
  return [...generateFiles()].flatMap(([path, text]) => (readCommitted(path) === text ? [] : [path]));
}

function readCommitted(path: string): string | undefined {
  try {
    return readFileSync(join(root, path), "utf8");
  } catch {
    return undefined;
  }
}

if (import.meta.main) {
  if (process.argv.includes("--check")) {
    const outdated = findOutdated();
    if (outdated.length > 0) {
      console.error(`not up to date: ${outdated.join(", ")}; run node scripts/generate-schema.ts`);
      process.exitCode = 1;
    }
  } else {
    for (const [path, text] of generateFiles()) {
      mkdirSync(dirname(join(root, path)), { recursive: true });
      writeFileSync(join(root, path), text);
    }
  }
}
