import { SERVICE_NAME_LABEL } from "../../extract/identity.ts";
import type { DesiredSlice } from "../../snapshot/desired/desired-line.ts";
import type { NamedSlice } from "../desired/desired-state.ts";
import { endpointSliceName, MANAGER, SLICE_MANAGED_BY } from "./names.ts";
import { SERVICE_NAME, SOURCE_CLUSTER } from "./owner.ts";
import { type ManagedObject, mark } from "./wanted-object.ts";

/**
 * An EndpointSlice of one source cluster (KEP-1645, Using EndpointSlice objects). `derived` is the Service whose cluster IPs lead to it;
 * undefined for headless services. The user's own Service is never named: it would get the clusterset's endpoints.
 */
export function endpointSlice(
  { namespace, name }: { readonly namespace: string; readonly name: string },
  { cluster, slice, desired }: NamedSlice,
  derived: string | undefined,
  owner: object,
): ManagedObject {
  return mark({
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    metadata: {
      namespace,
      name: endpointSliceName(name, cluster, slice),
      labels: {
        [SERVICE_NAME]: name,
        [SOURCE_CLUSTER]: cluster,
        [SLICE_MANAGED_BY]: MANAGER,
        ...(derived !== undefined && { [SERVICE_NAME_LABEL]: derived }),
      },
      ownerReferences: [owner],
    },
    addressType: desired.addressType,
    ports: desired.ports.map(({ name: port, ...rest }) => ({ ...rest, name: port })),
    endpoints: desired.endpoints.map(endpointOf),
  });
}

function endpointOf({
  address,
  hostname,
  zone,
  ready,
  serving,
  terminating,
}: DesiredSlice["endpoints"][number]): object {
  return {
    addresses: [address],
    conditions: { ready: ready ?? true, serving: serving ?? true, terminating: terminating ?? false },
    ...(hostname !== undefined && { hostname }),
    ...(zone !== undefined && { zone }),
  };
}
