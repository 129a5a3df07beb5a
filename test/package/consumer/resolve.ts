// A program that answers queries from snapshots: `clusterset-doh/resolve` and `clusterset-doh/snapshot`.
import { type CompiledClusterset, compileSnapshots, udpTransport } from "clusterset-doh/resolve";
import { ClusterSnapshot, parseSnapshot, SnapshotError } from "clusterset-doh/snapshot";
import { snapshot } from "./snapshot.ts";

const held: ClusterSnapshot = parseSnapshot(snapshot);
const compiled: CompiledClusterset = compileSnapshots([held], { zones: ["clusterset.local"], ttl: 7 });

/** A query for `web.shop.svc.clusterset.local A` (RFC 1035 section 4.1). */
const HEADER = [0, 0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0];
const A_IN = [0, 1, 0, 1];
const labels = ["web", "shop", "svc", "clusterset", "local"].flatMap((label) => [
  label.length,
  ...Array.from(label, (letter) => letter.charCodeAt(0)),
]);
const query = Uint8Array.from([...HEADER, ...labels, 0, ...A_IN]);
const outside = compiled.resolve(query);
const datagram = compiled.resolve(query, { transport: udpTransport(1232), view: "cluster-a" });

function findError(value: unknown): string {
  try {
    parseSnapshot(value);
    return "none";
  } catch (error) {
    return error instanceof SnapshotError ? `${error.code} ${error.issues[0]?.path}` : "another error";
  }
}

console.log(
  JSON.stringify({
    services: compiled.services,
    outcome: [outside?.outcome, outside?.freshness],
    address: outside && Array.from(outside.bytes.slice(-4)),
    inView: datagram?.outcome,
    noQuery: compiled.resolve(new Uint8Array(3)) ?? "no query",
    valid: ClusterSnapshot.safeParse(snapshot).success,
    invalid: findError({ ...snapshot, clusterId: "Not a label" }),
  }),
);
