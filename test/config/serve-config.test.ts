import { describe, expect, it } from "vitest";
import { federationOptions, stubZoneNames } from "../../src/config/federations.ts";
import { withAlwaysServed } from "../../src/config/own-names.ts";
import { formatListenAddress, parseListenAddress, UsageError } from "../../src/config/values.ts";
import { readServeConfig } from "../../src/hosts/node/config.ts";
import { configFiles } from "./config-files.ts";

const { at, file, complaint } = configFiles();

const PROXIED =
  "location:\n  source: headers\n  headers: {country: cf-ipcountry}\n  trustedProxies: [10.0.0.1]\n";

describe("settings", () => {
  it("of threads come from the flag before the file; by default one answers", () => {
    const config = file("threads: 4");
    expect(readServeConfig({}).threads).toBe(1);
    expect(readServeConfig({ config, threads: "auto" }).threads).toBe("auto");
    expect(readServeConfig({ config }).threads).toBe(4);
    expect(readServeConfig({ config, threads: "1" }).threads).toBe(1);
    expect(readServeConfig({ threads: "0" }).threads).toBe(0);
    for (const threads of ["257", "1.5", "two", "", "-1"])
      expect(() => readServeConfig({ threads })).toThrow(
        `--threads ${JSON.stringify(threads)} must be auto or a number from 0 to 256`,
      );
  });

  it("of federations come from the file and from flags", () => {
    const config = file(`
federations:
  - name: first
  - { name: second, zone: fed.example, domain: FED.example.com. }
  - { name: third, zone: false, domain: fed.example.com }
stub: { zones: [other.example], upstreams: [{ origin: "https://dns.example:8443", caFile: ca.crt, tokenFile: a.token }] }
tls: { clientCaFile: clients.crt }
`);
    const read = readServeConfig({ config, federation: ["fourth"] });
    expect(read.federations.map(({ name, zone }) => [name, zone])).toEqual([
      ["first", "federation"],
      ["second", "fed.example"],
      ["third", false],
      ["fourth", "federation"],
    ]);
    expect(federationOptions(read.federations)[2]).toEqual({ name: "third", domain: "fed.example.com" });
    expect(stubZoneNames(read.stub, read.federations)).toEqual([
      "other.example",
      "federation",
      "fed.example",
      "fed.example.com",
    ]);
    expect(read.stub.upstreams).toEqual([
      {
        origin: "https://dns.example:8443",
        caFile: at("ca.crt"),
        tokenFile: at("a.token"),
      },
    ]);
    expect(read.tls).toEqual({ clientCaFile: at("clients.crt") });
    expect(readServeConfig({ config, clientCaFile: "b", tlsCert: "c", tlsKey: "d" }).tls).toEqual({
      certificateFile: "c",
      keyFile: "d",
      clientCaFile: "b",
    });
  });

  it("come from YAML, with paths counted from the file", () => {
    const config = file(`
listen: ":443"
access: { public: true }
stateDirectory: state
zones: [clusterset.example.org, clusterset.local]
tls: { certificateFile: tls.crt, keyFile: /etc/tls.key }
push:
  credentials:
    - { clusterId: cluster-a, tokenFile: a.token }
    - clusterId: cluster-b
      tokenSha256: ${"0f".repeat(32)}
`);
    expect(readServeConfig({ config })).toMatchObject({
      listen: ":443",
      stateDirectory: at("state"),
      zones: ["clusterset.example.org", "clusterset.local"],
      tls: { certificateFile: at("tls.crt"), keyFile: "/etc/tls.key" },
      push: {
        credentials: [
          { clusterId: "cluster-a", tokenFile: at("a.token") },
          { clusterId: "cluster-b", tokenSha256: "0f".repeat(32) },
        ],
      },
    });
  });

  it("are overruled by flags; zones and tokens add up", () => {
    const config = file(
      "{listen: ':1', stateDirectory: x, zones: [a.example], push: {credentials: [{clusterId: a, tokenFile: /a}]}}",
    );
    expect(
      readServeConfig({
        config,
        listen: ":2",
        public: true,
        stateDir: "y",
        zone: ["B.example."],
        tls: false,
        clusterToken: ["b=/tmp/b=1"],
      }),
    ).toMatchObject({
      listen: ":2",
      stateDirectory: "y",
      zones: ["clusterset.local", "a.example", "b.example"],
      tls: false,
      push: {
        credentials: [
          { clusterId: "a", tokenFile: "/a" },
          { clusterId: "b", tokenFile: "/tmp/b=1" },
        ],
      },
    });
  });

  it("always serve clusterset.local, once", () => {
    expect(withAlwaysServed([])).toEqual(["clusterset.local"]);
    expect(withAlwaysServed(["a.example", "A.EXAMPLE."])).toEqual(["clusterset.local", "a.example"]);
    expect(withAlwaysServed(["a.example", "clusterset.LOCAL."])).toEqual(["a.example", "clusterset.local"]);
  });
});

describe("a mistake in the config file is reported with the next step", () => {
  it.each<readonly [string, string]>([
    [
      "access: { public: yes }",
      "gateway.yaml:1: access.public: must be true, false, or a scope: yes is text in YAML 1.2, write true",
    ],
    [
      "tls: off",
      "gateway.yaml:1: tls: must be true, false, or the files of a certificate: off is text in YAML 1.2, write false",
    ],
    ["pages: { enabled: No }", "received string: No is text in YAML 1.2, write false"],
    [
      "access: { public: { cluster: [a] } }",
      "access.public.cluster: this key does not exist: did you mean clusters?",
    ],
    [
      "limits: { isolateBytes: 2000000 }",
      "limits.isolateBytes: this key does not exist here, only in CONFIG of a Worker: this host has no isolates",
    ],
    ["pages: { on: true }", "pages.on: this key does not exist: the keys here are enabled"],
    [
      "push: { credentials: [{ tokenfile: a }] }",
      "push.credentials[0].tokenfile: this key does not exist: did you mean tokenFile?",
    ],
    ["pages: { enabled: 3 }", "pages.enabled: Invalid input: expected boolean, received number"],
  ])("%s", (text, said) => {
    expect(complaint(text)).toContain(said);
  });

  it("has no suggestion where nothing is alike, and names the documentation", () => {
    expect(complaint("cacheSize: 5")).toBe(
      "gateway.yaml:1: cacheSize: this key does not exist: docs/reference/configuration.md has all keys",
    );
  });

  it("lists them in the order of lines, whatever is wrong with each", () => {
    const lines = complaint(
      "lisen: x\npush:\n  credentals: []\n  credentials: [{ clusterId: UPPER, tokenFile: a }]\nzone: []\naccess: { public: yes }\n",
    ).split("\n");
    expect(lines.map((line) => /^gateway\.yaml:(\d+): ([^:]+):/.exec(line)?.slice(1))).toEqual([
      ["1", "lisen"],
      ["3", "push.credentals"],
      ["4", "push.credentials[0].clusterId"],
      ["5", "zone"],
      ["6", "access.public"],
    ]);
  });
});

describe("a mistake in --cluster-token is reported with the next step", () => {
  it.each([
    ["cluster A=a.token", '"cluster A" is not a cluster id: lower-case letters, digits and hyphens'],
    ["-a=a.token", '"-a" is not a cluster id'],
    ["=a.token", '"" is not a cluster id'],
    ["cluster-a", '"cluster-a" is not CLUSTER_ID=FILE, such as cluster-a=cluster-a.token'],
    ["cluster-a=", '"cluster-a=" is not CLUSTER_ID=FILE'],
  ])("%s", (flag, said) => {
    expect(() => readServeConfig({ clusterToken: [flag] })).toThrow(said);
  });
});

describe("a mistake in the config file is reported with its place", () => {
  it.each<readonly [string, string]>([
    ["listen: ':1'\nlimits:\n  connections: none\n", "gateway.yaml:3: limits.connections: "],
    ["zones: []\nlisten: '8443'\n", 'gateway.yaml:2: listen: "8443" is not an address to listen on'],
    ...[
      "https://app.example.org/",
      "https://app.example.org:443",
      "https://App.example.org",
      "app.example.org",
    ].map(
      (origin) =>
        [
          `cors:\n  origins: ["${origin}"]\n`,
          "gateway.yaml:2: cors.origins[0]: must be a web origin",
        ] as const,
    ),
    ["zones:\n  - a.example\n  - 'not a zone'\n", "gateway.yaml:3: zones[1]: must be a domain name"],
    [
      "push:\n  credentials:\n    - clusterId: a\n",
      "gateway.yaml:3: push.credentials[0]: must have one of tokenSha256, tokenFile, oidc and certificate",
    ],
    ["lease:\n  minimumSeconds: 100\n", "gateway.yaml:1: lease: must have minimumSeconds <= defaultSeconds"],
    ["stub:\n  serverMilliseconds: 9000\n", "gateway.yaml:1: stub: must have serverMilliseconds <= total"],
    ...["http://dns.example", "https://dns.example/dns-query", "https://user@dns.example", "dns.example"].map(
      (origin) =>
        [
          `stub:\n  upstreams:\n    - origin: ${origin}\n`,
          "gateway.yaml:3: stub.upstreams[0].origin: ",
        ] as const,
    ),
    ["tls:\n  keyFile: a\n", "gateway.yaml:1: tls: "],
    [
      "federations: [{name: a, zone: clusterset.local}]\n",
      "clusterset.local cannot be both a zone of the clusterset and the zone of a federation",
    ],
    [
      "federations: [{name: a, zone: fed.example}, {name: b, domain: FED.example.}]\n",
      "fed.example cannot be both",
    ],
    ["federations: [{name: a}, {name: a}]\n", "the federation a is configured twice"],
    [
      `${PROXIED}  rules:\n    - when: {}\n      region: eu\n`,
      "gateway.yaml:6: location.rules[0].when: must have at least one of country, continent, regionCode, colo",
    ],
    [
      `${PROXIED}  rules:\n    - when: {country: [Switzerland]}\n      region: eu\n`,
      "gateway.yaml:6: location.rules[0].when.country[0]: must be a country of two letters, such as CH",
    ],
    [
      `${PROXIED}  rules:\n    - view: a\n      region: eu\n`,
      "gateway.yaml:6: location.rules[0]: must have one of view (a cluster id) and region",
    ],
    [
      `${PROXIED}  rules:\n    - view: a\n      zone: eu-1\n`,
      "gateway.yaml:6: location.rules[0]: must have the region that the zone is in",
    ],
    [
      `${PROXIED}  rules:\n    - region: eu\n    - when: {country: [US]}\n      region: us\n`,
      "gateway.yaml:7: location.rules[1]: is never reached: rules[0] has no `when`",
    ],
    [
      `${PROXIED}  rules: [${Array.from({ length: 51 }, (_, index) => `{when: {country: [US]}, region: r${index}}`)}]\n`,
      "gateway.yaml:5: location.rules: must name at most 50 different regions and zones",
    ],
    [
      "location: {source: headers, trustedProxies: [10.0.0.1], headers: {}, rules: [{region: eu}]}\n",
      "gateway.yaml:1: location.headers: must have at least one of country",
    ],
    [
      "location: {source: cf, rules: [{region: eu}]}\n",
      "location.source: cf is what Cloudflare tells a Worker",
    ],
    ...[
      "http://doh.example.org",
      "https://doh.example.org/dns-query",
      "https://a@doh.example.org",
      "doh.example.org",
    ].map(
      (url) =>
        [
          `publicUrl: ${url}\n`,
          "gateway.yaml:1: publicUrl: must be https://HOST or https://HOST:PORT",
        ] as const,
    ),
    ["- a\n- b\n", "gateway.yaml:1: a config file holds keys"],
    ["a: [\n", "gateway.yaml:"],
    ["a: 1\na: 2\n", "gateway.yaml:2: "],
  ])("%j", (text, expected) => {
    expect(complaint(text)).toContain(expected);
  });

  it.each(["https://app.example.org", "http://localhost:3000", "chrome-extension://abcdef"])(
    "takes the web origin %s",
    (origin) => {
      const config = file(`access: { public: true }\ncors: { origins: ["${origin}"] }\n`);
      expect(readServeConfig({ config }).cors.origins).toEqual([origin]);
    },
  );

  it("reports one error for a public URL that is none", () => {
    expect(() => readServeConfig({ publicUrl: "foo" })).toThrow(/^publicUrl: must be .*$/);
  });

  it("reports a missing file", () => {
    expect(() => readServeConfig({ config: at("none.yaml") })).toThrow(/cannot read the config file/);
  });
});

describe("a mistake in a flag is reported", () => {
  it.each([
    [{ zone: ["not a zone"] }, /--zone/],
    [{ tlsCert: "x" }, /--tls-cert and --tls-key go together/],
    [{ federation: ["My.Federation"] }, /--federation "My.Federation" must be one label/],
    [{ tls: false, clientCaFile: "x" }, /--client-ca-file needs TLS/],
  ])("%j", (flags, expected) => {
    expect(() => readServeConfig(flags)).toThrow(expected);
  });
});

describe("listen addresses", () => {
  it.each([
    ["localhost:8443", "localhost", 8443],
    ["127.0.0.1:0", "127.0.0.1", 0],
    ["[::1]:443", "::1", 443],
    ["[::]:65535", "::", 65535],
    [":8443", undefined, 8443],
  ])("%s", (text, host, port) => {
    expect(parseListenAddress(text)).toEqual({ host, port });
    if (host !== undefined) expect(formatListenAddress(host, port)).toBe(text);
  });

  it.each(["", "localhost", "8443", "localhost:", ":65536", "::1:443", "http://a:1", "a b:1", "[a]:x"])(
    "refuses %j",
    (text) => {
      expect(() => parseListenAddress(text)).toThrow(UsageError);
    },
  );
});
