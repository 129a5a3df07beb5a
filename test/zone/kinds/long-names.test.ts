import { describe, expect, it } from "vitest";
import { surveyOf } from "../../../src/gateway/survey.ts";
import type { ClusterSnapshot } from "../../../src/snapshot/schema.ts";
import { alias, local } from "../../conformance/cases/cluster-local.ts";
import { endpoints, exported, exporting, imported, port, snapshot } from "../../merge/fixtures.ts";
import { worldOf } from "../../names/world-of.ts";
import { ask as askWorld, compileWorld } from "../../resolve/ask.ts";
import { recordsOf } from "./records-of.ts";

/** In text, without the dot at the end: 255 bytes on the wire (RFC 1035 section 2.3.4). */
const LONGEST = 253;
const https = [port("https", 443)];
const members = endpoints({ address: "10.1.0.1", hostname: "db-0" }, { address: "10.1.0.2" });

/** A zone with which a name has so many characters. */
function zoneFor(name: string, length: number): string {
  const text = "z".repeat(length - name.length - 1);
  return text.replaceAll(/z{40}(?=z{2})/g, (labels) => `${labels.slice(1)}.`);
}

const clusterset: readonly ClusterSnapshot[] = [
  snapshot("east", {
    exports: {
      "shop/web": exported({ ports: https, endpoints: endpoints({ address: "10.1.0.9" }) }),
      "shop/db": exported({ headless: true, endpoints: members }),
    },
  }),
];
const own = (zone: string) =>
  snapshot("east", {
    clusterZone: { name: zone, pods: "verified" },
    services: {
      "shop/web": local({ clusterIPs: ["10.96.0.1"], ports: https }),
      "shop/db": local({ headless: true, endpoints: members }),
      "shop/alias": alias("x.example", { ownedName: "left.right" }),
    },
    pods: { "shop/10.2.0.1": {} },
  });
const federated = (topology: ClusterSnapshot["topology"]) =>
  snapshot("east", { ...(topology && { topology }), exports: clusterset[0]!.exports });

describe("a name of 253 characters is served, and one of 254 is a finding (RFC 1035 section 2.3.4)", () => {
  const check = (name: string, longName: string, compile: (zone: string) => [string[], string[]]) => {
    const [records, findings] = compile(zoneFor(name, LONGEST));
    expect(records.map((line) => line.split(" ")[0])).toContain(name);
    expect(findings.filter((message) => message.includes(`"${longName}"`))).toEqual([]);
    const [recordsAfter, findingsAfter] = compile(zoneFor(name, LONGEST + 1));
    expect(recordsAfter.map((line) => line.split(" ")[0])).not.toContain(name);
    expect(findingsAfter).toContain(
      `NameTooLong a name that starts with "${longName}" would be longer than 253 bytes (RFC 1035 section 2.3.4): it is not served`,
    );
  };
  const findingsOf = (...args: Parameters<typeof worldOf>) =>
    surveyOf(worldOf(...args)).findings.map(({ reason, message }) => `${reason} ${message}`);

  it.each(["db-0.east.db.shop.svc", "10-1-0-2.east.db.shop.svc", "_https._tcp.web.shop.svc"])(
    "%s",
    (name) => {
      check(name, name.slice(0, name.indexOf(".")), (zone) => [
        recordsOf(clusterset, zone, undefined, { zones: [zone] }),
        findingsOf(clusterset, { zones: [zone] }),
      ]);
    },
  );

  it.each([
    "db-0.db.shop.svc",
    "10-1-0-2.db.shop.svc",
    "_https._tcp.web.shop.svc",
    "left.right.shop.svc",
    "10-2-0-1.shop.pod",
  ])("in a cluster's own zone: %s", (name) => {
    check(name, name.slice(0, name.indexOf(".")), (zone) => [
      recordsOf([own(zone)], zone, "east"),
      findingsOf([own(zone)]),
    ]);
  });

  it.each([
    ["db.shop.fed.svc", undefined],
    ["east.db.shop.fed.svc", undefined],
    ["db-0.east.db.shop.fed.svc", undefined],
    ["db.shop.fed.svc.eu", { region: "eu", zones: [] }],
    ["db.shop.fed.svc.b.eu", { region: "eu", zones: ["b"] }],
  ])("in a federation's zone: %s", (name, topology) => {
    check(name, name.slice(0, name.indexOf(".")), (zone) => {
      const options = { federations: [{ name: "fed", zone }] };
      return [
        recordsOf([federated(topology)], zone, undefined, options),
        findingsOf([federated(topology)], options),
      ];
    });
  });
});

describe("a PTR record exists where its target fits the canonical zone", () => {
  const world = [
    { ...exporting("east", { ports: https }), imports: { "shop/web": imported({ ips: ["10.200.0.1"] }) } },
  ];
  const name = "web.shop.svc";

  it.each([
    [LONGEST, [`1.0.200.10.in-addr.arpa. PTR ${name}`]],
    [LONGEST + 1, []],
  ])("with %d characters: %j", (length, expected) => {
    const canonical = zoneFor(name, length);
    const zones = [canonical, "short.test"];
    const records = recordsOf(world, "short.test", undefined, { zones });
    expect(records).toContain(`${name} A 10.200.0.1`);
    const shown = records
      .filter((line) => line.includes(" PTR "))
      .map((line) => line.replace(`.${canonical}.`, ""));
    expect(shown).toEqual(expected);
  });
});

describe("an SRV target of 254 characters in one of two zones (RFC 1035 section 2.3.4)", () => {
  const [host, longHost] = ["l".repeat(40), "l".repeat(41)];
  const service = "web.shop.svc";
  const zone = zoneFor(`${host}.east.${service}`, LONGEST);
  const ask = (...hosts: string[]) => {
    const pods = hosts.map((hostname, index) => ({ address: `10.1.0.${index + 1}`, hostname }));
    const world = [exporting("east", { headless: true, endpoints: endpoints(...pods) })];
    return askWorld(
      compileWorld(world, { zones: ["short.test", zone] }),
      `_http._tcp.${service}.${zone}`,
      "SRV",
    );
  };

  it("is left out, and one of 253 characters is not", () => {
    const { answer, rcode } = ask(host!, longHost!);
    expect({ rcode, targets: answer.map((record) => record.split(" ").at(-1)) }).toEqual({
      rcode: "NOERROR",
      targets: [`${host}.east.${service}.${zone}`],
    });
  });

  it("that is the only one leaves NODATA with the SOA (RFC 2308 section 2.2)", () => {
    const none = { rcode: "NOERROR", answer: [], truncated: false };
    expect(ask(longHost!)).toMatchObject({ ...none, authority: [expect.stringContaining(" SOA ")] });
  });
});
