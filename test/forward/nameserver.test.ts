import { expect, it } from "vitest";
import { parseNameserver } from "../../src/forward/local.ts";

it.each([
  ["108.45.90.180", { kind: "plain", address: "108.45.90.180", port: 53 }],
  ["10.0.0.1:5353", { kind: "plain", address: "10.0.0.1", port: 5353 }],
  ["fd00::53", { kind: "plain", address: "fd00::53", port: 53 }],
  ["[fd00::53]:5353", { kind: "plain", address: "fd00::53", port: 5353 }],
  ["https://dns.example.org/dns-query", { kind: "https", url: new URL("https://dns.example.org/dns-query") }],
  ["https://[::1]:8443/dns-query{?dns}", { kind: "https", url: new URL("https://[::1]:8443/dns-query") }],
])("%s", (text, expected) => {
  expect(parseNameserver(text)).toEqual(expected);
});

it.each([
  "",
  "dns.example.org",
  "10.0.0.1:0",
  "10.0.0.1:65536",
  "10.0.0.1:053",
  "10.0.0",
  "0.0.0.0",
  "[10.0.0.1]:53",
  "[fd00::53]",
  "fe80::1%eth0",
  "::ffff:10.0.0.1",
  "http://dns.example.org/dns-query",
  "https://user@dns.example.org/",
  "https://u:p@dns.example.org/",
  "https://dns.example.org/#x",
  "https://",
  "https://dns example.org/",
  "tls://1.1.1.1",
  `https://dns.example.org/${"a".repeat(500)}`,
])("%j is none", (text) => {
  expect(parseNameserver(text)).toBeUndefined();
});
