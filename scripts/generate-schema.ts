// Writes docs/reference/schema/*.json from the zod schemas: `node scripts/generate-schema.ts`.
// With --check it writes nothing and fails where a committed file differs.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import * as z from "zod";
import {
  AcknowledgementResponse,
  ClusterResponse,
  ErrorResponse,
  LeaseRequest,
} from "../src/http/push/push-messages.ts";
import { SnapshotLine } from "../src/snapshot/lines/line-schema.ts";
import * as snapshot from "../src/snapshot/schema.ts";
import { TransferStateResponse } from "../src/transfer/state-message.ts";

const directory = join(import.meta.dirname, "..", "docs", "reference", "schema");

/** The JSON Schema files by name, as text. */
export function generateSchemas(): ReadonlyMap<string, string> {
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
  return `${JSON.stringify({ $schema, title, ...schema }, null, 2)}\n`;
}

/** The names of the committed files that are not what the schemas say. */
export function findOutdated(): string[] {
  return [...generateSchemas()].flatMap(([name, text]) => (readCommitted(name) === text ? [] : [name]));
}

function readCommitted(name: string): string | undefined {
  try {
    return readFileSync(join(directory, name), "utf8");
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
    mkdirSync(directory, { recursive: true });
    for (const [name, text] of generateSchemas()) writeFileSync(join(directory, name), text);
  }
}
