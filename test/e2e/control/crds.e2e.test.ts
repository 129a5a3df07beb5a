import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { DesiredLine } from "../../../src/snapshot/desired-line.ts";
import { desiredImport, desiredSlice, linesOf } from "../../worker/control/desired-lines.ts";
import { eventually } from "../harness/answers.ts";
import { objectsIn, workerFolder } from "../harness/infra.ts";
import type { SyncProcess } from "../harness/processes.ts";
import { type ApiServer, startApiServer } from "../servers/kubernetes/api-server.ts";
import { setServed } from "../servers/kubernetes/crds.ts";
import { namespace, serviceExport } from "../servers/kubernetes/objects.ts";
import { freePort } from "../servers/ports.ts";
import { waitFor } from "../servers/wait.ts";
import { expectOnlyOwnAndNeededWrites, writesAfter } from "./audited.ts";
import { lookAt, type Objects } from "./objects.ts";
import { type ScriptedGateway, startScriptedGateway, startWorkerOf } from "./scripted-gateway.ts";

let server: ApiServer;
let gateway: ScriptedGateway;
let worker: SyncProcess;
let objects: Objects;
let metrics: string;

interface Schema {
  properties?: Record<string, Schema>;
  items?: Schema;
  required?: string[];
}

/** Takes a field out of every version of a CRD, such as `status.conditions[].observedGeneration`. */
async function drop(resource: string, field: string): Promise<void> {
  const path = `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${resource}.multicluster.x-k8s.io`;
  const crd = await server.admin.api<{ spec: { versions: { schema: { openAPIV3Schema: Schema } }[] } }>(
    "GET",
    path,
  );
  for (const { schema } of crd.spec.versions) {
    const names = field.split(".");
    const last = names.pop()!;
    const parent = names.reduce((inner, name) => {
      const next = inner.properties![name.replace("[]", "")]!;
      return name.endsWith("[]") ? next.items! : next;
    }, schema.openAPIV3Schema);
    if (parent.properties?.[last] === undefined) throw new Error(`${resource} has no ${field}`);
    delete parent.properties[last];
    if (parent.required !== undefined) parent.required = parent.required.filter((name) => name !== last);
  }
  await server.admin.api("PUT", path, crd);
}

/** Writes of the worker so far, by verb and kind; Events are not counted. */
async function writes(): Promise<Record<string, number>> {
  const text = await (await fetch(metrics)).text();
  const counted = text.matchAll(
    /^clusterset_doh_control_writes_total\{verb="(\w+)",kind="([\w/]+)"\} (\d+)/gm,
  );
  return Object.fromEntries(
    [...counted].flatMap(([, verb, kind, count]) =>
      kind === "Event" || kind === "Lease" ? [] : [[`${verb} ${kind}`, Number(count)]],
    ),
  );
}

const DROPPED = [
  ["serviceimports", "spec.trafficDistribution"],
  ["serviceimports", "status.conditions"],
  ["serviceexports", "status.conditions[].observedGeneration"],
] as const;
const lines = (address: string): DesiredLine[] => [
  ...linesOf(desiredImport({ trafficDistribution: "PreferClose" }), { "v4-0": desiredSlice(address) }),
  {
    export: "shop/db",
    conditions: [{ type: "Valid", status: "True", reason: "Valid", message: "is exported" }],
  },
];

beforeAll(async () => {
  [server, gateway] = await Promise.all([startApiServer({ name: "b" }), startScriptedGateway()]);
  const optional = join(workerFolder, "components/control/cluster-properties.yaml");
  await server.admin.apply(
    ...objectsIn(readFileSync(optional, "utf8")),
    namespace("shop"),
    serviceExport("shop", "db"),
  );
  for (const [resource, field] of DROPPED) await drop(resource, field);
  for (const resource of ["serviceimports", "serviceexports"])
    await setServed(server.admin, `${resource}.multicluster.x-k8s.io`, "v1beta1", false);
  objects = lookAt(server, "shop");
  const port = await freePort();
  metrics = `http://127.0.0.1:${port}/metrics`;
  const args = ["--clusterset", "mine", `--listen=127.0.0.1:${port}`];
  worker = await startWorkerOf(gateway, server, { args });
});

afterAll(async () => {
  await worker?.stop();
  await Promise.all([gateway?.stop(), server?.stop()]);
});

const slicesHave = (address: string) =>
  waitFor(address, async () => (await objects.endpoints("db")).includes(`a ${address}`));

test("CRDs that only have v1alpha1 and lack fields cost no needless write, and the log names each field once", async () => {
  await waitFor("the version", async () => worker.log().includes("older CRDs may lack fields"));
  gateway.desire(lines("10.1.0.1"));
  await slicesHave("10.1.0.1");
  for (const [, field] of DROPPED)
    await waitFor(field, async () => worker.log().includes(`does not keep ${field} of a`));
  // One more change, after which everything was looked at again.
  const [before, since] = [await writes(), Date.now()];
  gateway.desire(lines("10.1.0.2"));
  await slicesHave("10.1.0.2");
  gateway.desire(lines("10.1.0.3"));
  await slicesHave("10.1.0.3");
  const slices = "apply EndpointSlice";
  await eventually(async () => (await writes())[slices]! - before[slices]!).toBeGreaterThanOrEqual(2);
  expect({ ...(await writes()), [slices]: 0 }).toEqual({ ...before, [slices]: 0 });
  expectOnlyOwnAndNeededWrites({ writes: () => writesAfter(server, since) });
  for (const [, field] of DROPPED)
    expect(worker.log().split(`does not keep ${field} of a`), field).toHaveLength(2);
});
