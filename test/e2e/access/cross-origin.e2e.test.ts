import { expect, test } from "vitest";
import { exported, imported, snapshot } from "../../merge/fixtures.ts";
import { type GatewayProcess, startGateway } from "../harness/processes.ts";

const NAME = "web.shop.svc.clusterset.local";
const ORIGIN = "https://page.example";
const JSON_PATH = `/resolve?name=${NAME}&type=A`;

const west = snapshot("west", {
  exports: { "shop/web": exported() },
  imports: { "shop/web": imported({ ips: ["10.1.0.1"] }) },
});

async function gatewayWith(config: Record<string, unknown>): Promise<GatewayProcess> {
  const gateway = await startGateway({ clusters: ["west"], config });
  expect((await gateway.push(west)).status).toBe(200);
  return gateway;
}

/** The response to a page of another origin: the status, and the origins that may read it. */
async function asBrowser(gateway: GatewayProcess, path: string, method = "GET") {
  const { status, headers } = await gateway.http(path, {
    method,
    headers: { origin: ORIGIN, ...(method === "OPTIONS" && { "access-control-request-method": "POST" }) },
  });
  return [status, headers["access-control-allow-origin"]];
}

test("a page of another origin reads nothing where the client's address admits", async () => {
  const rules = [{ name: "here", addresses: ["127.0.0.0/8"] }];
  const gateway = await gatewayWith({ cors: { origins: "*" }, access: { rules } });
  expect(await asBrowser(gateway, JSON_PATH)).toEqual([200, undefined]);
  expect(await asBrowser(gateway, "/resolve")).toEqual([400, undefined]);
  expect(await asBrowser(gateway, "/clusters/nowhere/dns-query")).toEqual([404, undefined]);
  expect(await asBrowser(gateway, "/dns-query", "OPTIONS")).toEqual([204, undefined]);
});

test("a page of another origin reads nothing of a gateway that only its network protects, unless it is configured", async () => {
  const closed = await gatewayWith({});
  expect(await asBrowser(closed, JSON_PATH)).toEqual([200, undefined]);
  expect(await asBrowser(closed, "/dns-query", "OPTIONS")).toEqual([204, undefined]);
  const open = await gatewayWith({ access: { public: true } });
  expect(await asBrowser(open, JSON_PATH)).toEqual([200, "*"]);
  expect(await asBrowser(open, "/api/v1/clusters/west")).toEqual([401, undefined]);
  const narrowed = await gatewayWith({ cors: { origins: [] }, access: { public: true } });
  expect(await asBrowser(narrowed, JSON_PATH)).toEqual([200, undefined]);
  const listed = await gatewayWith({ cors: { origins: [ORIGIN] } });
  expect(await asBrowser(listed, JSON_PATH)).toEqual([200, ORIGIN]);
});
