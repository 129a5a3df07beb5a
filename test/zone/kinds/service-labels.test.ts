import { describe, expect, it } from "vitest";
import {
  clusterIdLabels,
  isHostLabel,
  isObjectLabel,
  portLabels,
} from "../../../src/zone/kinds/endpoint-records.ts";

describe("labels (RFC 1123 section 2.1)", () => {
  it.each([
    ["a", true, true],
    ["0", true, true],
    ["a-b", true, true],
    ["A-b", true, false],
    ["x".repeat(63), true, true],
    ["x".repeat(64), false, false],
    ["", false, false],
    ["-a", false, false],
    ["a-", false, false],
    ["a.b", false, false],
    ["a_b", false, false],
    ["a b", false, false],
    ["a\n", false, false],
  ])("%j is one of a host: %s, of an object: %s", (text, isHost, isObject) => {
    expect([isHostLabel(text), isObjectLabel(text)]).toEqual([isHost, isObject]);
  });

  it.each([
    ["east", ["east"]],
    ["east.eu", ["east", "eu"]],
    ["East_1.eu", ["East_1", "eu"]],
    ["_", ["_"]],
    ["a.b.c", undefined],
    ["a..", undefined],
    [".a", undefined],
    ["", undefined],
    [`${"x".repeat(64)}`, undefined],
  ])("the labels of the cluster id %j are %j (KEP-1645)", (clusterId, labels) => {
    expect(clusterIdLabels(clusterId)).toEqual(labels);
  });
});

describe("the labels of a port (specification 2.3.2)", () => {
  it.each([
    ["http", "TCP", "_http", "_tcp"],
    ["HTTP", "tcp", "_http", "_tcp"],
    ["dns", "UDP", "_dns", "_udp"],
    ["m3ua", "SCTP", "_m3ua", "_sctp"],
    ["default", "", "_default", "_tcp"],
    ["p".repeat(62), "TCP", `_${"p".repeat(62)}`, "_tcp"],
  ])("%s %s: %s.%s", (name, protocol, portLabel, protocolLabel) => {
    for (const number of [1, 65_535])
      expect(portLabels({ name, protocol, port: number })).toEqual({
        kind: "named",
        portLabel,
        protocolLabel,
        number,
      });
  });

  it("are none without a name, and the number comes first", () => {
    expect(portLabels({ name: "", protocol: "QUIC", port: 80 })).toEqual({ kind: "unnamed" });
    expect(portLabels({ name: "", protocol: "TCP", port: 0 })).toMatchObject({ reason: "InvalidPortNumber" });
    expect(portLabels({ name: "p".repeat(63), protocol: "TCP", port: 80 })).toMatchObject({
      reason: "InvalidPortName",
    });
  });
});
