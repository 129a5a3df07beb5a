import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { CLIENT_GROUPS } from "../../../src/http/pages/setup.ts";
import { corefile, corefileOfListener } from "../../../src/http/setup/coredns.ts";
import {
  appleProfile,
  chromiumPolicy,
  firefoxPolicy,
  nameBasedUuid,
} from "../../../src/http/setup/devices.ts";
import {
  adguardUpstream,
  dnscryptProxyForwarding,
  dnscryptProxyServer,
  dnsmasqConf,
  dnsStamp,
} from "../../../src/http/setup/resolvers.ts";
import { facts } from "./facts.ts";
import { parsePropertyList } from "./property-list.ts";

const lines = ({ text }: { text: string }) => text.trimEnd().split("\n");
/** Facts that `readSetupFacts` would reject. */
const unchecked = (changes: object) => ({ ...facts(), ...changes });
const UUID = expect.stringMatching(/^[0-9A-F]{8}-[0-9A-F]{4}-5[0-9A-F]{3}-[89AB][0-9A-F]{3}-[0-9A-F]{12}$/);

describe("Apple", () => {
  it("a profile sends only queries for the zone to the gateway (DeviceManagement, DNSSettings)", async () => {
    const { fileName, contentType, text } = await appleProfile(facts());
    expect({ fileName, contentType }).toEqual({
      fileName: "clusterset.test.mobileconfig",
      contentType: "application/x-apple-aspen-config",
    });
    expect(parsePropertyList(text)).toMatchObject({
      PayloadType: "Configuration",
      PayloadVersion: 1,
      PayloadUUID: UUID,
      PayloadScope: "System",
      PayloadContent: [
        {
          PayloadType: "com.apple.dnsSettings.managed",
          PayloadVersion: 1,
          PayloadUUID: UUID,
          DNSSettings: {
            DNSProtocol: "HTTPS",
            ServerURL: "https://doh.example.org/dns-query",
            ServerAddresses: ["192.0.2.1"],
            SupplementalMatchDomains: ["clusterset.test"],
          },
        },
      ],
    });
  });

  it("has UUIDs that depend only on gateway and zone", async () => {
    const uuids = async (...[changes]: Parameters<typeof facts>) =>
      [
        ...(await appleProfile(facts(changes))).text.matchAll(/[0-9A-F]{8}(?:-[0-9A-F]{4}){3}-[0-9A-F]{12}/g),
      ].map(([uuid]) => uuid);
    const first = await uuids();
    expect(new Set(first).size).toBe(2);
    expect(await uuids({ addresses: [], isSelfSigned: true })).toEqual(first);
    for (const other of [await uuids({ zone: "a.test" }), await uuids({ url: "https://b.test" })])
      expect(other.filter((uuid) => first.includes(uuid))).toEqual([]);
  });

  it("has name-based UUIDs by RFC 9562 section 5.5", async () => {
    // python3 -c "import uuid; print(uuid.uuid5(uuid.NAMESPACE_URL, 'https://www.example.org'))"
    expect(await nameBasedUuid("https://www.example.org")).toBe("0E9844C5-7C3F-51F6-8283-56D38944329A");
  });

  it("escapes any text", async () => {
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: "grapheme-ascii" }), async (zone) => {
        const list = parsePropertyList((await appleProfile(unchecked({ zone }))).text);
        expect(list).toMatchObject({
          PayloadContent: [{ DNSSettings: { SupplementalMatchDomains: [zone] } }],
        });
      }),
    );
  });
});

describe("browsers", () => {
  it("escapes any text", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (resource) => {
        expect(JSON.parse(firefoxPolicy(unchecked({ resource })).text)).toMatchObject({
          policies: { DNSOverHTTPS: { ProviderURL: resource } },
        });
        expect(JSON.parse(chromiumPolicy(unchecked({ resource })).text)).toMatchObject({
          DnsOverHttpsTemplates: `${resource}{?dns}`,
        });
      }),
    );
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

  it("are in dnscrypt-proxy's configuration", () => {
    const { text } = dnscryptProxyServer(facts());
    expect(text).toContain("server_names = ['clusterset-doh']\n");
    expect(text).toContain(`\nstamp = '${dnsStamp(facts())}'\n`);
  });
});

describe("resolvers", () => {
  it("CoreDNS forwards the zone by DNS over HTTPS, or over TLS", () => {
    expect(lines(corefile(facts()))).toEqual([
      "clusterset.test:53 {",
      "    errors",
      "    cache 5",
      "    forward . https://192.0.2.1 {",
      "        tls_servername doh.example.org",
      "    }",
      "}",
    ]);
    expect(corefile(facts({ url: "https://[2001:db8::1]:8443" })).text).toContain(
      "    forward . https://[2001:db8::1]:8443\n",
    );
    expect(corefileOfListener(facts({ dot: { address: "192.0.2.9", port: 8853 } })).text).toContain(
      "forward . tls://192.0.2.9:8853 {",
    );
    expect(corefileOfListener(facts({ dot: undefined })).text).toContain("    forward . dns://192.0.2.1\n");
  });
  it("dnsmasq, AdGuard and dnscrypt-proxy's rules name the zone", () => {
    const at8053 = facts({ dns: { address: undefined, port: 8053 } });
    expect(lines(dnsmasqConf(facts()))[0]).toBe("server=/clusterset.test/192.0.2.1");
    expect(lines(dnsmasqConf(at8053))).toEqual([
      "server=/clusterset.test/192.0.2.1#8053",
      "rebind-domain-ok=/clusterset.test/",
    ]);
    expect(lines(adguardUpstream(facts()))).toEqual(["[/clusterset.test/]https://doh.example.org/dns-query"]);
    expect(lines(dnscryptProxyForwarding(facts()))).toEqual(["clusterset.test 192.0.2.1"]);
    expect(lines(dnscryptProxyForwarding(at8053))).toEqual(["clusterset.test 192.0.2.1:8053"]);
  });
});
describe("clients that need a setting first", () => {
  const lacking = (changes: Parameters<typeof facts>[0]) =>
    CLIENT_GROUPS.flatMap(({ clients }) => clients)
      .filter(({ lacks }) => lacks?.(facts(changes)) !== undefined)
      .map(({ id }) => id);

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
  ] as const)("are listed if %s", (_, changes, expected) => expect(lacking(changes)).toEqual(expected));

  it("have a sentence that says what to do", () => {
    for (const { clients } of CLIENT_GROUPS)
      for (const { lacks, steps } of clients) {
        const poor = facts({ zone: "clusterset.local", dns: undefined, dot: undefined, addresses: [] });
        const said = lacks?.(poor);
        if (said !== undefined) expect(said).toMatch(/setting|set `outsideZones`/i);
        expect(steps(poor).length).toBeGreaterThan(0);
      }
  });

  it("an unknown address is a placeholder, and a step says so", () => {
    for (const { clients } of CLIENT_GROUPS)
      for (const { files, steps } of clients)
        for (const make of files) {
          const made = make(facts({ addresses: [] }));
          if (made instanceof Promise || !made.text.includes("GATEWAY_ADDRESS")) continue;
          expect(steps(facts({ addresses: [] })).join("\n")).toContain("Replace `GATEWAY_ADDRESS`");
        }
  });
});
