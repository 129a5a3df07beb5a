import { expect, test } from "vitest";
import type { KubernetesObject } from "../../src/extract/objects.ts";
import { findingsOf, webWithSlice } from "./findings-of.ts";
import { ofImport, serviceImport, slice } from "./objects.ts";

const ADDRESS = "10.0.0.1";
const IMPORT = "multicluster.kubernetes.io/service-name";
const SOURCE = "multicluster.kubernetes.io/source-cluster";

test.each<[string, KubernetesObject[]]>([
  [
    "EndpointSlice/shop/one/NoServiceName: has no label kubernetes.io/service-name; the slice is left out",
    [slice("shop/one", {}, [])],
  ],
  [
    "EndpointSlice/shop/one/NoServiceName: has no label multicluster.kubernetes.io/service-name; the slice is left out",
    [slice("shop/one", { [SOURCE]: "west" }, [])],
  ],
  [
    "EndpointSlice/shop/one/NoSourceCluster: has no label multicluster.kubernetes.io/source-cluster; the slice is left out",
    [serviceImport("shop/web"), slice("shop/one", { [IMPORT]: "web" }, [])],
  ],
  [
    "EndpointSlice/shop/one/InvalidSourceCluster: the value of label multicluster.kubernetes.io/source-cluster is not a label value; the slice is left out",
    [serviceImport("shop/web"), slice("shop/one", ofImport("web", "a b"), [])],
  ],
  [
    'EndpointSlice/shop/one/UnsupportedAddressType: addressType is "FQDN", neither IPv4 nor IPv6; the slice is left out',
    webWithSlice([], { addressType: "FQDN" }),
  ],
  [
    "EndpointSlice/shop/one/InvalidEndpoint: endpoints[0] has no addresses; it is left out; endpoints[1] has no addresses; it is left out",
    webWithSlice([{}, { addresses: [] }]),
  ],
  [
    'EndpointSlice/shop/one/InvalidEndpoint: endpoints[0].addresses holds "a b"; it is left out',
    webWithSlice([{ addresses: ["a b"] }]),
  ],
  [
    "EndpointSlice/shop/one/InvalidEndpoint: endpoints[0].conditions.serving is 1, neither true nor false; the endpoint is left out",
    webWithSlice([{ addresses: [ADDRESS], conditions: { serving: 1 } }]),
  ],
  [
    'EndpointSlice/shop/one/InvalidEndpoint: endpoints[0].hostname holds "a b", which is not a host name; the endpoint is kept without it',
    webWithSlice([{ addresses: [ADDRESS], hostname: "a b" }]),
  ],
  [
    'EndpointSlice/shop/one/InvalidField: endpoints[0].zone holds "zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz..., which is not a text of up to 317 characters; it is left out',
    webWithSlice([{ addresses: [ADDRESS], zone: "z".repeat(318) }]),
  ],
  [
    'EndpointSlice/shop/one/InvalidPort: ports[0] holds {"port":"80"}; a port needs a number of 32 bits, and may have a name of up to 63 characters and a protocol; it is left out',
    webWithSlice([], { ports: [{ port: "80" }] }),
  ],
  [
    "EndpointSlice/shop/one/TooMany: ports has 1001 elements; the first 1000 are kept, the others left out",
    webWithSlice([], { ports: Array.from({ length: 1001 }, (_, port) => ({ port })) }),
  ],
])("reports %s", (expected, objects) => {
  expect(findingsOf(objects)).toEqual([expected]);
});
