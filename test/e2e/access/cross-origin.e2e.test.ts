import { expect, test } from "vitest";
import { exported, imported, snapshot } from "../../merge/fixtures.ts";
import { startGateway } from "../harness/processes.ts";

const ORIGIN = "https://page.example";
const west = snapshot("west", {
  exports: { "shop/web": exported() },
  imports: { "shop/web": imported({ ips: ["10.1.0.1"] }) },
});

test.each([
  ["nothing of a gateway that only its network protects", {}, undefined],
  ["a gateway that answers to everybody", { access: { public: true } }, "*"],
  ["nothing where no origin is allowed", { cors: { origins: [] }, access: { public: true } }, undefined],
  ["what its origin is allowed to", { cors: { origins: [ORIGIN] } }, ORIGIN],
])("a page of another origin reads %s", async (_, config, expected) => {
  const gateway = await startGateway({ clusters: ["west"], config });
  expect((await gateway.push(west)).status).toBe(200);
  const { status, headers } = await gateway.http("/resolve?name=web.shop.svc.clusterset.local&type=A", {
    headers: { origin: ORIGIN },
  });
  expect([status, headers["access-control-allow-origin"]]).toEqual([200, expected]);
});
