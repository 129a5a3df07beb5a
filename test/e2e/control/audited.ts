import { expect } from "vitest";
import { isManaged } from "../../../src/worker/control/objects.ts";
import type { ApiServer } from "../servers/kubernetes/api-server.ts";
import type { AuditedWrite } from "../servers/kubernetes/audit-log.ts";

const WITHOUT_MARK = ["leases", "events", "serviceexports/status"];

/**
 * What was asked for later than `since`, in milliseconds. An object is seen before its write is logged, so
 * the number of writes so far would say less.
 */
export function writesAfter(server: Pick<ApiServer, "writes">, since: number): AuditedWrite[] {
  return server.writes().filter(({ at }) => at > since);
}

/** The same, but for the Lease and Events, as `patch endpointslices shop/db-1`. */
export function writesTo(server: Pick<ApiServer, "writes">, since: number): string[] {
  return writesAfter(server, since)
    .filter(({ resource }) => resource !== "leases" && resource !== "events")
    .map(describe);
}

/**
 * By the audit log of an API server: no object without the mark of the control plane was written, none but
 * the status of exports, its Lease and Events; the admission policy had to reject nothing; and no object was
 * written as it was already.
 */
export function expectOnlyOwnAndNeededWrites(server: Pick<ApiServer, "writes">): void {
  const writes = server.writes();
  expect(trespassesIn(writes)).toEqual([]);
  expect(needlessIn(writes)).toEqual([]);
}

/** Writes that touched what is not the control plane's, or tried to. */
function trespassesIn(writes: readonly AuditedWrite[]): string[] {
  const own = new Set<unknown>();
  const kind = ({ verb, resource, namespace }: AuditedWrite) => `${verb} ${resource} ${namespace}`;
  const allowed = new Set(writes.filter(({ code }) => code < 300).map(kind));
  const isOwn = (write: AuditedWrite) => {
    const { verb, resource, name, code, response } = write;
    if (resource === "leases") return name === "clusterset-doh-control";
    if (WITHOUT_MARK.includes(resource)) return true;
    // The worker stopped and gave up the write, or the API server was too busy for it.
    if (code === 429 || code >= 500) return true;
    // An API server that has just started answers before it has read its roles and policies.
    const message = String(response?.message);
    const isStarting = / cannot |not yet ready to handle request/.test(message) && allowed.has(kind(write));
    if (code === 403 && isStarting) return true;
    const { metadata, details, reason } = (response ?? {}) as unknown as {
      metadata?: { uid?: string };
      details?: { uid?: string; causes?: { reason: string }[] };
      reason?: string;
    };
    if (code >= 400)
      return (
        ["NotFound", "Conflict"].includes(reason ?? "") ||
        details?.causes?.some((cause) => cause.reason === "NamespaceTerminating") === true
      );
    if (verb === "delete" && own.has(details?.uid)) return true;
    own.add(metadata?.uid);
    return response !== undefined && isManaged(response as never);
  };
  return writes
    .filter((write) => !isOwn(write))
    .map((write) => `${describe(write)}: ${write.code} ${String(write.response?.message)}`);
}

/** Writes after which an object had the version that it had before. */
function needlessIn(writes: readonly AuditedWrite[]): string[] {
  const seen = new Set<string>();
  return writes.flatMap((write) => {
    const { uid, resourceVersion } = write.response?.metadata ?? ({} as Record<string, unknown>);
    if (write.verb !== "patch" || write.code >= 300) return [];
    const version = `${String(uid)} ${String(resourceVersion)}`;
    if (seen.has(version)) return describe(write);
    seen.add(version);
    return [];
  });
}

function describe({ verb, resource, namespace, name }: AuditedWrite): string {
  return `${verb} ${resource} ${namespace}/${name}`;
}
