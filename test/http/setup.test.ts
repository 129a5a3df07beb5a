import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { clientsFor, dnsStamp, nameBasedUuid } from "../../src/http/setup/clients.ts";
import {
  readSetupFacts,
  SetupError,
  type SetupFacts,
  type SetupRequest,
} from "../../src/http/setup/facts.ts";

/** Facts of a gateway with all listeners; `changes` override them. */
function facts(changes: Partial<SetupRequest> = {}): SetupFacts {
  return readSetupFacts({
    url: "https://doh.example.org",
    zone: "clusterset.test",
    example: { name: "web.shop.svc.clusterset.test", type: "A" },
    addresses: ["192.0.2.1"],
    dns: { address: undefined, port: 53 },
    dot: { address: undefined, port: 853 },
    ...changes,
  });
}

const filesOf = async (of: SetupFacts) =>
  (await clientsFor(of)).flatMap(({ files }) => Object.entries(files));
/** The text of the one file of this name. */
async function fileOf(name: string, changes?: Partial<SetupRequest>): Promise<string> {
  const [file, ...more] = (await filesOf(facts(changes))).filter(([fileName]) => fileName === name);
  expect(more).toEqual([]);
  return file![1];
}

describe("the facts", () => {
  it.each([
    ["https://doh.example.org:443/", "https://doh.example.org", "doh.example.org", 443],
    ["https://DOH.example.org:8443/setup?x", "https://doh.example.org:8443", "doh.example.org", 8443],
    ["https://doh.example.org.", "https://doh.example.org", "doh.example.org", 443],
    ["https://192.0.2.1:8443", "https://192.0.2.1:8443", "192.0.2.1", 8443],
    ["https://[2001:DB8::1]:8443", "https://[2001:db8::1]:8443", "2001:db8::1", 8443],
  ])("%s has the origin %s", (url, origin, host, port) => {
    expect(facts({ url })).toMatchObject({ origin, host, port, resource: `${origin}/dns-query` });
  });

  it.each([
    ["http, which DNS over HTTPS cannot use", { url: "http://doh.example.org" }, /publicUrl/],
    ["no URL", { url: "doh.example.org" }, /publicUrl/],
    ["credentials", { url: "https://user:secret@doh.example.org" }, /password/],
    ["a zone with an escape", { zone: "a\\034.test" }, /zone/],
    ["the root", { zone: "." }, /zone/],
    ["an example with an invalid type", { example: { name: "a.test", type: "A; rm" } }, /type/],
  ] as const)("reject %s", (_, changes, message) => {
    expect(() => facts(changes as Partial<SetupRequest>)).toThrow(SetupError);
    expect(() => facts(changes as Partial<SetupRequest>)).toThrow(message);
  });

  it("have the addresses of a host that is an address, and of localhost", () => {
    expect(facts({ url: "https://[2001:db8::1]", addresses: [] }).addresses).toEqual(["2001:db8::1"]);
    expect(facts({ url: "https://localhost:8443", addresses: [] }).addresses).toEqual(["127.0.0.1", "::1"]);
  });
});

// Mostly names, so that many are valid.
const hostile = fc.oneof(
  { arbitrary: fc.domain(), weight: 8 },
  { arbitrary: fc.string({ unit: "binary", maxLength: 60 }), weight: 1 },
  { arbitrary: fc.stringMatching(/^[-a-z0-9._'"`$;&|<>(){}[\]\\/\n\r #%@:]{1,40}$/), weight: 1 },
  { arbitrary: fc.webUrl(), weight: 1 },
);

it("untrusted text cannot add to a file: any host, zone and example is either rejected or appears only in its place", async () => {
  const lines = (await filesOf(facts())).map(([, text]) => text.split("\n").length);
  await fc.assert(
    fc.asyncProperty(hostile, hostile, hostile, async (host, zone, name) => {
      let asked: SetupFacts;
      try {
        asked = facts({ url: `https://${host}`, zone, example: { name, type: "A" } });
      } catch (error) {
        expect(error).toBeInstanceOf(SetupError);
        return;
      }
      for (const text of [asked.zone, asked.host, asked.example.name])
        expect(text).toMatch(/^[-a-z0-9_.:]+$/);
      const files = await filesOf(asked);
      for (const [index, [fileName, text]] of files.entries()) {
        expect(fileName).toMatch(/^[-\w.]+$/);
        expect(text).toMatch(/^[\n\x20-\x7e]+$/);
        // A host that is an address, or a zone in .test, changes single lines on purpose.
        expect(Math.abs(text.split("\n").length - lines[index]!)).toBeLessThanOrEqual(2);
      }
    }),
    { numRuns: 500 },
  );
});

const PROFILE = "clusterset.test.mobileconfig";

describe("Apple", () => {
  const UUID = /[0-9A-F]{8}-[0-9A-F]{4}-5[0-9A-F]{3}-[89AB][0-9A-F]{3}-[0-9A-F]{12}/g;

  it("a profile sends only queries for the zone to the gateway (DeviceManagement, DNSSettings)", async () => {
    const made = await fileOf(PROFILE);
    const all = made.split("\n").map((line) => line.trim());
    const at = all.indexOf("<key>DNSSettings</key>");
    expect(all.slice(at - 3, at + 15)).toEqual([
      "<key>PayloadContent</key>",
      ...["<array>", "<dict>", "<key>DNSSettings</key>", "<dict>"],
      ...["<key>DNSProtocol</key>", "<string>HTTPS</string>"],
      ...["<key>ServerURL</key>", "<string>https://doh.example.org/dns-query</string>"],
      ...["<key>ServerAddresses</key>", "<array>", "<string>192.0.2.1</string>", "</array>"],
      ...["<key>SupplementalMatchDomains</key>", "<array>", "<string>clusterset.test</string>", "</array>"],
      "</dict>",
    ]);
    for (const tag of ["array", "dict", "plist"])
      expect(made.split(`<${tag}`)).toHaveLength(made.split(`</${tag}>`).length);
    for (const type of ["Configuration", "com.apple.dnsSettings.managed"])
      expect(all[all.indexOf(`<string>${type}</string>`) - 1]).toBe("<key>PayloadType</key>");
  });

  it("has UUIDs that depend only on gateway and zone, by RFC 9562 section 5.5", async () => {
    const uuids = async (changes?: Partial<SetupRequest>) =>
      (await fileOf(`${changes?.zone ?? "clusterset.test"}.mobileconfig`, changes)).match(UUID)!;
    const first = await uuids();
    expect(new Set(first).size).toBe(2);
    expect(await uuids({ addresses: [], isSelfSigned: true })).toEqual(first);
    for (const other of [await uuids({ zone: "a.test" }), await uuids({ url: "https://b.test" })])
      expect(other.filter((uuid) => first.includes(uuid))).toEqual([]);
    // python3 -c "import uuid; print(uuid.uuid5(uuid.NAMESPACE_URL, 'https://www.example.org'))"
    expect(await nameBasedUuid("https://www.example.org")).toBe("0E9844C5-7C3F-51F6-8283-56D38944329A");
  });
});

describe("DNS stamps (draft-denis-dns-stamps)", () => {
  const prefixed = (text: string) => String.fromCharCode(text.length) + text;
  const read = (stamp: string) =>
    Buffer.from(/^sdns:\/\/([\w-]+)$/.exec(stamp)![1]!, "base64url").toString("latin1");

  it.each([
    [{}, "192.0.2.1", "doh.example.org"],
    [{ addresses: [] }, "", "doh.example.org"],
    [{ url: "https://doh.example.org:8443" }, "192.0.2.1", "doh.example.org:8443"],
    [{ url: "https://doh.example.org:8443", addresses: [] }, "", "doh.example.org:8443"],
    [{ url: "https://[2001:db8::1]:8443" }, "[2001:db8::1]", "[2001:db8::1]:8443"],
    [{ url: "https://[2001:db8::1]" }, "[2001:db8::1]", "[2001:db8::1]"],
  ])("%j", (changes, address, host) => {
    // DNS over HTTPS; no logs and no filters, but no DNSSEC; no hash of a certificate.
    const stamp = ["\x02\x06", "\0".repeat(7), ...[address, "", host, "/dns-query"].map(prefixed)].join("");
    expect(read(dnsStamp(facts(changes)))).toBe(stamp);
  });

  it("are in dnscrypt-proxy's configuration", async () => {
    const text = await fileOf("dnscrypt-proxy.toml");
    expect(text).toContain("server_names = ['clusterset-doh']\n");
    expect(text).toContain(`\nstamp = '${dnsStamp(facts())}'\n`);
  });
});

describe("resolvers", () => {
  it("CoreDNS forwards the zone by DNS over HTTPS, over TLS, or by plain DNS", async () => {
    expect(await fileOf("Corefile", { url: "https://[2001:db8::1]:8443" })).toContain(
      "    forward . https://[2001:db8::1]:8443\n",
    );
    const dot = { address: "192.0.2.9", port: 8853 };
    expect(await fileOf("Corefile-dns", { dot })).toContain("forward . tls://192.0.2.9:8853 {");
    expect(await fileOf("Corefile-dns", { dot: undefined })).toContain("    forward . dns://192.0.2.1\n");
  });

  it.each([
    ["plain DNS", { dot: undefined }],
    ["DNS over TLS", {}],
    ["DNS over HTTPS", { dot: undefined, dns: undefined }],
  ])("CoreDNS needs the self-signed certificate where its block names it: %s", async (_, changes) => {
    const clients = await clientsFor(facts({ isSelfSigned: true, ...changes }));
    for (const { id, steps, files, lacks } of clients.filter(({ id }) => id.startsWith("coredns")))
      if (lacks === undefined)
        for (const text of Object.values(files))
          expect(steps.join(" ").includes("certificate.crt"), id).toBe(text.includes("certificate.crt"));
  });

  it("dnsmasq, AdGuard and dnscrypt-proxy's rules name the zone", async () => {
    const { files } = (await clientsFor(facts())).find(({ id }) => id === "dnsmasq")!;
    expect(files).toEqual({
      "clusterset-doh.conf": "server=/clusterset.test/192.0.2.1\nrebind-domain-ok=/clusterset.test/\n",
    });
    expect(await fileOf("adguard-upstream.txt")).toBe(
      "[/clusterset.test/]https://doh.example.org/dns-query\n",
    );
    expect(await fileOf("forwarding-rules.txt")).toBe("clusterset.test 192.0.2.1\n");
  });
});

describe("clients that need a setting first", () => {
  const lacking = async (changes: Parameters<typeof facts>[0]) =>
    (await clientsFor(facts(changes))).filter(({ lacks }) => lacks !== undefined).map(({ id }) => id);

  it.each([
    ["all settings are on", { outside: "forward" }, []],
    ["names out of zone are REFUSED", {}, ["dnscrypt-proxy"]],
    [
      "no listener is on",
      { dns: undefined, dot: undefined, outside: "nxdomain" },
      ["systemd-resolved", "coredns-dns", "unbound", "dnsmasq", "dnscrypt-proxy-rules"],
    ],
    ["only DNS over TLS is on", { dns: undefined, outside: "forward" }, ["dnsmasq", "dnscrypt-proxy-rules"]],
    [
      "the zone ends in .local, which browsers do not query (RFC 6762)",
      { zone: "clusterset.local", outside: "forward" },
      ["apple", "chromium", "firefox"],
    ],
    ["the certificate is self-signed", { isSelfSigned: true, outside: "forward" }, ["firefox"]],
  ] as const)("are listed if %s", async (_, changes, expected) =>
    expect(await lacking(changes)).toEqual(expected),
  );

  it("have a sentence that says what to do, and a step for an address that is a placeholder", async () => {
    const poor = facts({ zone: "clusterset.local", dns: undefined, dot: undefined, addresses: [] });
    for (const { lacks } of await clientsFor(poor))
      if (lacks !== undefined) expect(lacks).toMatch(/setting|set `outsideZones`/i);
    for (const { steps, files } of await clientsFor(facts({ addresses: [] })))
      for (const text of Object.values(files))
        if (text.includes("GATEWAY_ADDRESS")) expect(steps.join("\n")).toContain("Replace `GATEWAY_ADDRESS`");
  });
});
