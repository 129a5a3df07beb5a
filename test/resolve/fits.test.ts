import { describe, expect, it } from "vitest";
import { streamTransport, udpTransport } from "../../src/resolve/message/transport.ts";
import { type ResolveContext, resolve } from "../../src/resolve/resolve.ts";
import { clusterLocalTable } from "../conformance/cases/cluster-local.ts";
import { compileTable } from "../conformance/compiled-table.ts";
import { compileWorld, decode, encodeQuery } from "./ask.ts";
import { twoClusters } from "./world.ts";

const world = compileWorld(
  twoClusters(),
  {},
  {
    designated: {
      name: "dns.example.org",
      addresses: [],
      endpoints: [{ protocol: "dot", port: 853, view: undefined }],
    },
  },
);
const cluster = { ...compileTable(clusterLocalTable), view: "east" };
const TCP = streamTransport("tcp", 30_000);

describe("over UDP an answer that fits to the byte is whole, and one byte less sets TC (RFC 2181 section 9)", () => {
  it.each<readonly [string, string, ResolveContext]>([
    ["web.shop.svc.clusterset.local", "A", world],
    ["web.shop.svc.clusterset.local", "AAAA", world],
    ["db.shop.svc.clusterset.local", "A", world],
    ["web.shop.svc.clusterset.local", "TXT", world],
    ["nothing.clusterset.local", "A", world],
    ["clusterset.local", "SOA", world],
    ["clusterset.local", "NS", world],
    ["dns-version.clusterset.local", "TXT", world],
    ["1.0.1.10.in-addr.arpa", "SOA", world],
    ["1.0.1.10.in-addr.arpa", "A", world],
    ["_dns.resolver.arpa", "UNKNOWN_64", world],
    ["_dns.resolver.arpa", "A", world],
    ["resolver.arpa", "SOA", world],
    ["foo.default.svc.cluster.local", "A", cluster],
    ["1-2-3-4.default.pod.cluster.local", "A", cluster],
    ["2001-db8--1.default.pod.cluster.local", "AAAA", cluster],
    ["1-2-3-4.default.pod.cluster.local", "TXT", cluster],
  ])("%s %s", (name, type, context) => {
    for (const edns of [false, true]) {
      const query = encodeQuery(name, type, edns);
      const whole = resolve(query, { ...context, transport: TCP })!.bytes;
      const over = (bytes: number) => resolve(query, { ...context, transport: udpTransport(bytes) })!;
      expect(over(whole.length).bytes).toEqual(whole);
      const cut = over(whole.length - 1);
      expect(decode(cut.bytes)).toMatchObject({ truncated: true, answer: [], authority: [] });
      expect(cut.freshness).toBe(0);
      expect(cut.bytes.length).toBeLessThan(whole.length);
    }
  });

  it("additional records that do not fit are left out without TC", () => {
    for (const [name, type] of [["_https._tcp.web.shop.svc.clusterset.local", "SRV"]] as const) {
      const query = encodeQuery(name, type);
      const whole = decode(resolve(query, { ...world, transport: TCP })!.bytes);
      const {
        bytes,
        bytes: { length },
      } = resolve(query, { ...world, transport: TCP })!;
      expect(resolve(query, { ...world, transport: udpTransport(length) })!.bytes).toEqual(bytes);
      const cut = decode(resolve(query, { ...world, transport: udpTransport(length - 1) })!.bytes);
      expect(cut).toEqual({
        ...whole,
        additional: whole.additional.filter((line) => !line.includes("AAAA")),
      });
      expect(whole.additional.length).toBeGreaterThan(cut.additional.length);
    }
  });

  it("SRV records alone fit to the byte as well", () => {
    for (const name of [
      "_https._tcp.web.shop.svc.clusterset.local",
      "_pg._tcp.db.shop.svc.clusterset.local",
    ]) {
      const query = encodeQuery(name, "SRV");
      const over = (bytes: number) => resolve(query, { ...world, transport: udpTransport(bytes) })!.bytes;
      let size = 512;
      while (!decode(over(size - 1)).truncated) size--;
      expect(over(size)).toHaveLength(size);
      expect(decode(over(size))).toMatchObject({ additional: [], authority: [] });
      expect(decode(over(size - 1))).toMatchObject({ answer: [], additional: [] });
    }
  });
});
