import { expect, it } from "vitest";
import { reportedIn } from "../../../src/gateway/remembered/reported-addresses.ts";
import type { Contribution } from "../../../src/merge/service/declaration.ts";
import { endpoints, exported, imported } from "../../merge/fixtures.ts";

const [A, B, C] = ["0a000001", "0a000002", "0a000003"];
const members = endpoints(
  { address: "10.0.0.1" },
  { address: "10.0.0.2", ready: false },
  { address: "10.0.0.3", ready: true },
);
const addressesOf = (parts: Partial<Contribution>) => {
  const contribution = { clusterId: "west", exported: undefined, imported: undefined, ...parts };
  const has = reportedIn((clusterId, service) =>
    clusterId === "west" && service === "shop/web" ? contribution : undefined,
  );
  expect(has("east shop/web", A!)).toBe(false);
  return [A, B, C].filter((address) => has("west shop/web", address!));
};

it.each<[string, Partial<Contribution>, unknown[]]>([
  [
    "the ready endpoints of a headless export",
    { exported: exported({ headless: true, endpoints: members }) },
    [A, C],
  ],
  [
    "all endpoints of one that publishes those that are not ready",
    { exported: exported({ headless: true, endpoints: members, publishNotReadyAddresses: true }) },
    [A, B, C],
  ],
  ["no endpoint of an export with a clusterset IP", { exported: exported({ endpoints: members }) }, []],
  [
    "the ready endpoints of a headless import",
    { imported: imported({ type: "Headless", endpoints: { east: members } }) },
    [A, C],
  ],
  [
    "the addresses of an import with a clusterset IP, and no endpoint of it",
    { imported: imported({ ips: ["10.0.0.2"], endpoints: { east: members } }) },
    [B],
  ],
  [
    "the addresses of an import beside an export with a clusterset IP",
    { exported: exported({ endpoints: members }), imported: imported({ ips: ["10.0.0.2"] }) },
    [B],
  ],
  [
    "nothing of an import beside a headless export",
    {
      exported: exported({ headless: true, endpoints: endpoints({ address: "10.0.0.3" }) }),
      imported: imported({ type: "Headless", ips: ["10.0.0.2"], endpoints: { east: members } }),
    },
    [C],
  ],
  [
    "no endpoint of a headless import beside an export",
    { exported: exported(), imported: imported({ type: "Headless", endpoints: { east: members } }) },
    [],
  ],
  [
    "no address that cannot be used",
    { imported: imported({ ips: ["0.0.0.0", "no address", "10.0.0.1"] }) },
    [A],
  ],
  ["nothing without a part in the service", {}, []],
])("a cluster reports %s", (_, contribution, expected) => {
  expect(addressesOf(contribution)).toEqual(expected);
});

it("looks at a service once, whatever its addresses", () => {
  let looks = 0;
  const has = reportedIn(() => {
    looks++;
    return {
      clusterId: "west",
      exported: exported({ headless: true, endpoints: members }),
      imported: undefined,
    };
  });
  expect([A, B, C].map((address) => has("west shop/web", address!))).toEqual([true, false, true]);
  expect(looks).toBe(1);
});
