import { describe, expect, test } from "vitest";
import { ExtractedState } from "../../src/extract/extracted-state.ts";
import { PodAddresses, readPodAddresses } from "../../src/extract/pods.ts";

function read(status: object | undefined, metadata?: object) {
  const findings: string[] = [];
  const addresses = readPodAddresses((reason, message) => findings.push(`${reason}: ${message}`), {
    apiVersion: "v1",
    kind: "Pod",
    metadata,
    status,
  } as never);
  return { addresses, findings };
}

describe("the addresses of a pod (v1)", () => {
  test.each<[string, object | undefined, string[]]>([
    ["no status", undefined, []],
    ["no address yet", { phase: "Pending" }, []],
    ["null", { podIP: null }, []],
    ["an empty text", { podIP: "" }, []],
    ["an empty list", { podIPs: [], podIP: "10.0.0.1" }, ["10.0.0.1"]],
    [
      "empty elements of the list",
      { podIPs: [{ ip: "" }, {}, { ip: null }, { ip: "10.0.0.1" }] },
      ["10.0.0.1"],
    ],
    ["an address twice", { podIPs: [{ ip: "10.0.0.1" }, { ip: "10.0.0.1" }] }, ["10.0.0.1"]],
    ["the longest text of an address", { podIP: "f".repeat(45) }, ["f".repeat(45)]],
    ["the shortest", { podIP: "::" }, ["::"]],
  ])("%s", (_, status, addresses) => {
    expect(read(status)).toEqual({ addresses, findings: [] });
  });

  test.each<unknown>(["x10.0.0.1", "10.0.0.1x", "f".repeat(46), ":", 7, ["10.0.0.1"]])(
    "leave out %j with a finding",
    (ip) => {
      expect(read({ podIPs: [{ ip }, { ip: "10.0.0.2" }] })).toEqual({
        addresses: ["10.0.0.2"],
        findings: [`InvalidPodAddress: status.podIPs holds ${JSON.stringify(ip)}; it is left out`],
      });
    },
  );

  test("end with its deletion; a pod without metadata has its addresses", () => {
    expect(read({ podIP: "10.0.0.1" }, { deletionTimestamp: "2026-01-02T03:04:05Z" }).addresses).toEqual([]);
    expect(read({ podIP: "10.0.0.1" }, {}).addresses).toEqual(["10.0.0.1"]);
    expect(read({ podIP: "10.0.0.1" }, undefined).addresses).toEqual(["10.0.0.1"]);
  });
});

describe("the addresses of a cluster's pods", () => {
  const start = () => {
    const state = new ExtractedState();
    state.identify("east");
    const record = () => state.toSnapshot().pods;
    return { addresses: new PodAddresses(state), record, keys: () => Object.keys(record()) };
  };

  test("a namespace that is added twice counts its pods once", () => {
    const { addresses, keys } = start();
    addresses.setNamespace("shop", true);
    addresses.set("shop", "a", ["10.0.0.1"]);
    addresses.setNamespace("shop", true);
    addresses.set("shop", "a", []);
    expect(keys()).toEqual([]);
  });

  test("pods of a namespace that comes later count from then on", () => {
    const { addresses, keys } = start();
    addresses.set("shop", "a", ["10.0.0.1"]);
    addresses.set("shop", "b", ["10.0.0.1"]);
    addresses.set("shop", "b", []);
    expect(keys()).toEqual([]);
    addresses.setNamespace("shop", true);
    expect(keys()).toEqual(["shop/10.0.0.1"]);
    addresses.setNamespace("shop", false);
    addresses.setNamespace("shop", false);
    expect(keys()).toEqual([]);
    addresses.setNamespace("shop", true);
    expect(keys()).toEqual(["shop/10.0.0.1"]);
  });

  test("the record stays the same object while pods come and go at an address that another pod has", () => {
    const { addresses, record, keys } = start();
    addresses.setNamespace("shop", true);
    addresses.set("shop", "a", ["192.0.2.1"]);
    const first = record();
    addresses.set("shop", "b", ["192.0.2.1"]);
    addresses.set("shop", "c", ["192.0.2.1"]);
    addresses.set("shop", "b", []);
    expect(record()).toBe(first);
    addresses.set("shop", "a", ["192.0.2.1"]);
    expect(record()).toBe(first);
    addresses.set("shop", "c", ["192.0.2.2"]);
    addresses.set("shop", "a", []);
    expect(keys()).toEqual(["shop/192.0.2.2"]);
  });
});
