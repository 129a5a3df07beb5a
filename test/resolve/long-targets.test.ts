import { describe, expect, it } from "vitest";
import { endpoints, exported, port, snapshot } from "../merge/fixtures.ts";
import { ask, compileWorld } from "./ask.ts";

const label = (bytes: number) => "l".repeat(bytes);
/** A zone with a wire form of so many bytes. */
function zoneOf(bytes: number): string {
  const long = [63, 63, 30];
  const rest = bytes - 1 - long.reduce((sum, length) => sum + length + 1, 0);
  return [...long, rest - 1].map(label).join(".");
}

/** `db` in a short zone and in this one, with one host whose label has so many bytes, and with another one. */
function worldWith(zone: string, ...hosts: readonly number[]) {
  const members = hosts.map((bytes, index) => ({ address: `10.1.0.${index + 1}`, hostname: label(bytes) }));
  const db = exported({ headless: true, ports: [port("pg", 5432)], endpoints: endpoints(...members) });
  return compileWorld([snapshot("east", { exports: { "shop/db": db } })], {
    zones: ["clusterset.local", zone],
  });
}

describe("an SRV target of more than 255 bytes (RFC 1035 section 2.3.4)", () => {
  // <host>.east.db.shop.svc.<zone>
  const between = ["east", "db", "shop", "svc"].reduce((sum, text) => sum + text.length + 1, 0);
  const zone = zoneOf(255 - between - 41);
  const service = `_http._tcp.db.shop.svc.${zone}`;

  it("is left out, and one of 255 bytes is not", () => {
    const { answer, rcode } = ask(worldWith(zone, 40, 41), service, "SRV");
    expect({ rcode, targets: answer.map((record) => record.split(" ").at(-1)) }).toEqual({
      rcode: "NOERROR",
      targets: [`${label(40)}.east.db.shop.svc.${zone}`],
    });
  });

  it("that is the only one leaves NODATA with the SOA (RFC 2308 section 2.2)", () => {
    const { answer, authority, rcode, truncated } = ask(worldWith(zone, 41), service, "SRV");
    expect({ rcode, answer, truncated }).toEqual({ rcode: "NOERROR", answer: [], truncated: false });
    expect(authority).toEqual([expect.stringContaining(" SOA ")]);
  });
});
