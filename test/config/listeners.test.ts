import { describe, expect, it } from "vitest";
import { namesInCertificate, ownNames } from "../../src/config/own-names.ts";
import { UsageError } from "../../src/config/values.ts";
import { readServeConfig } from "../../src/hosts/node/config.ts";
import { designatedResolver } from "../../src/hosts/node/gateway/addresses.ts";
import { configFiles } from "./config-files.ts";

const { file } = configFiles();

describe("the settings of listeners", () => {
  it("come from the file, with or without a view, and from flags", () => {
    const config = file(`
access: { public: true }
dns:
  listen: ["127.0.0.1:5353", { address: ":53", view: cluster-a }]
  rateLimit: { answersPerSecond: 0 }
dot: { listen: ["[::1]:853"], idleSeconds: 5 }
`);
    const { dns, dot } = readServeConfig({ config, dns: ["localhost:5354"], dot: [":8853"] });
    expect(dns.listen).toEqual([
      { address: "127.0.0.1:5353" },
      { address: ":53", view: "cluster-a" },
      { address: "localhost:5354" },
    ]);
    expect(dot.listen).toEqual([{ address: "[::1]:853" }, { address: ":8853" }]);
    expect([dns.rateLimit.answersPerSecond, dot.idleSeconds]).toEqual([0, 5]);
  });

  it("have the names that a self-signed certificate needs", () => {
    const config = file(`
publicUrl: https://Public.example.org:8443
access: { public: true, hostNames: [DOH.example.org.] }
dns: { listen: ["192.0.2.1:53", "localhost:53", ":54", "0.0.0.0:55"] }
dot: { listen: ["[2001:db8::1]:853", "192.0.2.1:853"] }
ddr: { name: DNS.Example.org., addresses: [192.0.2.9] }
`);
    expect(namesInCertificate(readServeConfig({ config }))).toEqual([
      "public.example.org",
      "dns.example.org",
      "192.0.2.9",
      "192.0.2.1",
      "2001:db8::1",
      "doh.example.org",
      "*.doh.example.org",
    ]);
    expect(namesInCertificate(readServeConfig({ publicUrl: "https://[2001:db8::2]", public: true }))).toEqual(
      ["2001:db8::2"],
    );
  });
});

describe("the designated resolver", () => {
  const places = [
    { kind: "dns", address: ":53", port: 53, view: undefined },
    { kind: "dot", address: ":8854", port: 8854, view: "cluster-a" },
    { kind: "dot", address: ":8853", port: 8853, view: undefined },
  ] as const;
  const ddr = { name: "DNS.example.org.", addresses: ["192.0.2.1"] };

  it("is where the gateway listens", () => {
    expect(designatedResolver(ddr, places, 8443)).toEqual({
      name: "dns.example.org",
      addresses: [Uint8Array.of(192, 0, 2, 1)],
      endpoints: [
        { protocol: "https", port: 8443 },
        { protocol: "dot", port: 8853, view: undefined },
        { protocol: "dot", port: 8854, view: "cluster-a" },
      ],
    });
  });

  it("has the port and addresses of the config", () => {
    expect(designatedResolver({ ...ddr, httpsPort: 443, dotPort: 853 }, [], 8443)?.endpoints).toEqual([
      { protocol: "https", port: 443 },
      { protocol: "dot", port: 853, view: undefined },
    ]);
  });
});

describe("the gateway's own names", () => {
  const ownNamesOf = (text: string) => ownNames(readServeConfig({ config: file(text) }));

  it("have the name server at the public addresses of plain DNS on port 53", () => {
    const text = `
access: { public: true, rules: [{ name: some, addresses: [192.0.2.0/24] }] }
dns:
  listen:
    - "192.0.2.1:53"
    - "[2001:db8::1]:53"
    - "192.0.2.1:53"
    - "192.0.2.2:5353"
    - ":53"
    - "0.0.0.0:53"
    - "10.0.0.1:53"
    - "127.0.0.1:53"
    - "[fd00::1]:53"
    - { address: "192.0.2.3:53", view: cluster-a }
    - { address: "192.0.2.4:53", rule: some }
`;
    expect(ownNamesOf(text).nameServerAddresses).toEqual(["192.0.2.1", "2001:db8::1"]);
    const stated = `${text}nameServerAddresses: [10.0.0.53]\n`;
    expect(ownNamesOf(stated).nameServerAddresses).toEqual(["10.0.0.53"]);
    expect(ownNamesOf(`${text}nameServerAddresses: []\n`).nameServerAddresses).toEqual([]);
  });

  it("have the designated resolver", () => {
    const text = "zones: [cs.example]\nddr: { name: dns.cs.example, addresses: [192.0.2.1] }\n";
    expect(ownNamesOf(text).hosts).toEqual([{ name: "dns.cs.example", addresses: ["192.0.2.1"] }]);
    expect(ownNamesOf("zones: [cs.example]\n").hosts).toEqual([]);
  });

  it.each([
    [
      "dns.CS.example.",
      "[]",
      "ddr.name: dns.cs.example is in the zone cs.example, which this gateway answers for",
    ],
    ["cs.example", "[]", "ddr.name: cs.example is in the zone cs.example"],
    ["dns.federation", "[]", "ddr.name: dns.federation is in the zone federation"],
    ["dns.fed.example", "[]", "ddr.name: dns.fed.example is in the zone fed.example"],
    ["web.shop.svc.cs.example", "[192.0.2.1]", "ddr.name: web.shop.svc.cs.example is below svc.cs.example"],
    ["svc.cs.example", "[192.0.2.1]", "ddr.name: svc.cs.example is below svc.cs.example"],
  ])("cannot be %s with the addresses %s", (name, addresses, expected) => {
    const config = file(
      `zones: [cs.example]\nfederations: [{ name: fed, domain: fed.example }]\nddr: { name: ${name}, addresses: ${addresses} }\n`,
    );
    expect(() => readServeConfig({ config })).toThrow(expected);
  });

  it("are elsewhere without addresses", () => {
    const config = file("zones: [cs.example]\nddr: { name: xcs.example }\n");
    expect(readServeConfig({ config }).ddr.name).toBe("xcs.example");
  });
});

describe("a mistake is reported with its place", () => {
  it.each<readonly [string, string]>([
    [
      "dns:\n  listen:\n    - dns.example.org:53\n",
      "gateway.yaml:3: dns.listen[0].address: must be an IP address and a port",
    ],
    [
      "dns:\n  listen:\n    - { address: ':53', veiw: a }\n",
      "gateway.yaml:3: dns.listen[0].veiw: this key does not exist",
    ],
    ["tls: false\ndot:\n  listen: [':853']\n", "dot.listen (--dot): DNS over TLS needs a certificate"],
  ])("%j", (text, expected) => {
    const config = file(text);
    expect(() => readServeConfig({ config })).toThrow(UsageError);
    expect(() => readServeConfig({ config })).toThrow(expected);
  });

  it.each([
    [{ dns: ["dns.example.org:53"] }, '--dns "dns.example.org:53" must be an IP address and a port'],
    [{ dot: ["853"] }, '--dot "853" must be an IP address and a port'],
    [{ dot: [":853"], tls: false }, "dot.listen (--dot): DNS over TLS needs a certificate"],
  ])("%j", (flags, expected) => {
    expect(() => readServeConfig(flags)).toThrow(expected);
  });
});
