import { expect, it } from "vitest";
import { gatewayAddresses } from "../../../src/hosts/node/gateway/addresses.ts";
import type { ListeningPlace } from "../../../src/hosts/node/listeners/listeners.ts";

const config = { outsideZones: "refuse" as const, ddr: { addresses: ["192.0.2.1"] } };
const place = (kind: "dns" | "dot", address: string, view?: string): ListeningPlace => ({
  kind,
  address,
  port: Number(address.split(":").at(-1)),
  view,
});

it.each<
  [
    string,
    ListeningPlace[],
    ReturnType<typeof gatewayAddresses>["dns"],
    ReturnType<typeof gatewayAddresses>["dot"],
  ]
>([
  ["nothing", [], undefined, undefined],
  ["one address", [place("dns", "127.0.0.1:5353")], { address: "127.0.0.1", port: 5353 }, undefined],
  ["localhost", [place("dns", "localhost:5353")], { address: "127.0.0.1", port: 5353 }, undefined],
  [
    "every address",
    [place("dns", "0.0.0.0:53"), place("dot", "[::]:853")],
    { address: undefined, port: 53 },
    { address: undefined, port: 853 },
  ],
  [
    "those of a cluster's view, which others have no use for",
    [place("dot", "127.0.0.1:853", "cluster-a"), place("dot", "127.0.0.1:8853")],
    undefined,
    { address: "127.0.0.1", port: 8853 },
  ],
])("shows listeners on the pages: %s", (_, places, dns, dot) => {
  expect(gatewayAddresses(config as never, places, "PEM")).toEqual({
    outside: "refuse",
    certificate: "PEM",
    addresses: ["192.0.2.1"],
    dns,
    dot,
  });
});
