import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { KubeObject } from "./objects.ts";

/** A request that would write, as an API server logged it when it had answered. */
export type AuditedWrite = ReturnType<typeof writeOf>;

interface AuditEvent {
  readonly verb: "create" | "update" | "patch" | "delete" | "deletecollection";
  readonly user: { readonly extra?: Readonly<Record<string, readonly string[]>> };
  readonly objectRef?: {
    readonly resource: string;
    readonly subresource?: string;
    readonly namespace?: string;
    readonly name?: string;
  };
  readonly responseStatus: { readonly code: number };
  readonly requestReceivedTimestamp: string;
  readonly responseObject?: KubeObject;
}

const fileIn = (folder: string) => join(folder, "audit.log");

/** The account whose writes are logged: that of the control plane, in infra/kubernetes. */
export const AUDITED = "system:serviceaccount:clusterset-doh:sync-worker-control";

/** Flags of a kube-apiserver that logs every write of that account with its response. */
export function auditFlags(folder: string): string[] {
  const policy = join(folder, "audit-policy.json");
  writeFileSync(
    policy,
    JSON.stringify({
      apiVersion: "audit.k8s.io/v1",
      kind: "Policy",
      omitStages: ["RequestReceived", "ResponseStarted"],
      rules: [
        {
          level: "RequestResponse",
          users: [AUDITED],
          verbs: ["create", "update", "patch", "delete", "deletecollection"],
        },
        { level: "None" },
      ],
    }),
  );
  return [
    `--audit-policy-file=${policy}`,
    `--audit-log-path=${fileIn(folder)}`,
    "--audit-log-mode=blocking-strict",
  ];
}

/** The writes that an API server has logged, in the order of their answers. */
export function readAuditLog(folder: string): AuditedWrite[] {
  const text = existsSync(fileIn(folder)) ? readFileSync(fileIn(folder), "utf8") : "";
  // The last line may be half written.
  const lines = text.slice(0, text.lastIndexOf("\n") + 1).split("\n");
  return lines.filter(Boolean).map((line) => writeOf(JSON.parse(line) as AuditEvent));
}

function writeOf(event: AuditEvent) {
  const { resource = "", subresource, namespace = "", name } = event.objectRef ?? {};
  return {
    verb: event.verb,
    /** `services`, `serviceimports/status`. */
    resource: subresource === undefined ? resource : `${resource}/${subresource}`,
    namespace,
    name: name ?? event.responseObject?.metadata?.name ?? "",
    code: event.responseStatus.code,
    /** Milliseconds since the epoch, of the request. */
    at: Date.parse(event.requestReceivedTimestamp),
    /** Differs between any two tokens. */
    credential: event.user.extra?.["authentication.kubernetes.io/credential-id"]?.[0] ?? "",
    response: event.responseObject,
  };
}
