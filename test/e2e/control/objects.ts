import type { ManagedObject } from "../../../src/worker/control/objects.ts";
import { derivedServiceName, SOURCE_CLUSTER } from "../../../src/worker/control/objects.ts";
import { type Condition, conditionsOf } from "../../../src/worker/control/reconcile.ts";
import { eventually, untilEqual } from "../harness/answers.ts";
import type { ApiClient } from "../servers/kubernetes/api-client.ts";
import {
  multiclusterServiceLabel,
  service,
  serviceExport,
  serviceImport,
} from "../servers/kubernetes/objects.ts";

/**
 * What is looked at of the control plane's objects in one cluster; undefined where there is no such object.
 */
export function lookAt({ admin }: { admin: Pick<ApiClient, "get" | "api"> }, namespace: string) {
  const get = (object: Parameters<typeof admin.get>[0]) =>
    admin.get(object).then(
      (found) => found as unknown as ManagedObject,
      () => undefined,
    );
  const listed = async (name: string) => {
    const selector = encodeURIComponent(`${multiclusterServiceLabel}=${name}`);
    const path = `/apis/discovery.k8s.io/v1/namespaces/${namespace}/endpointslices?labelSelector=${selector}`;
    return (await admin.api<{ items: ManagedObject[] }>("GET", path)).items;
  };
  return {
    import: (name: string) => get(serviceImport(namespace, name, {})),
    derived: (name: string) => get(service(namespace, derivedServiceName(name), {})),
    slices: listed,
    /** `<source cluster> <address>`, sorted; of endpoints that are ready. */
    async endpoints(name: string): Promise<string[]> {
      const slices = await listed(name);
      return slices
        .flatMap(({ metadata, endpoints }) =>
          (endpoints as { addresses: string[]; conditions: { ready: boolean } }[])
            .filter(({ conditions }) => conditions.ready)
            .map(({ addresses }) => `${metadata.labels![SOURCE_CLUSTER]} ${addresses[0]}`),
        )
        .sort();
    },
    /** Conditions of the ServiceExport as `<type> <status> <reason>`, sorted. */
    async conditions(name: string): Promise<string[]> {
      const held = await get(serviceExport(namespace, name));
      return held === undefined
        ? []
        : conditionsOf(held)
            .map(({ type, status, reason }) => `${type} ${status} ${reason}`)
            .sort();
    },
    async condition(name: string, type: string): Promise<Condition | undefined> {
      const held = await get(serviceExport(namespace, name));
      return held && conditionsOf(held).find((one) => one.type === type);
    },
    spec: async (name: string) =>
      (await get(serviceImport(namespace, name, {})))?.spec as Record<string, unknown> | undefined,
  };
}

export type Objects = ReturnType<typeof lookAt>;

/** The ready endpoints before long. */
export function eventualEndpoints(objects: Objects, name: string) {
  return eventually(() => objects.endpoints(name));
}

/** For hooks: waits for these ready endpoints. */
export function untilEndpoints(objects: Objects, name: string, expected: string[]): Promise<void> {
  return untilEqual(`endpoints of ${name}`, () => objects.endpoints(name), expected);
}
