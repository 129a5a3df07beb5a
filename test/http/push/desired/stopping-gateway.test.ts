import { readFileSync } from "node:fs";
import { Agent, request } from "undici";
import { afterEach, expect, it } from "vitest";
import { sha256 } from "../../../access/authorities.ts";
import { Gateways, push } from "../../../hosts/gateways.ts";
import { snapshot } from "../../../merge/fixtures.ts";

const gateways = new Gateways();
afterEach(() => gateways.close());

const credential = { clusterId: "a", tokenSha256: sha256("a"), control: true };
const config = { push: { credentials: [credential] } };

it.each([true, false])("a stopping gateway ends streams behind whole lines (HTTP/2: %s)", async (allowH2) => {
  const folder = gateways.folder();
  const gateway = await gateways.start(folder, config);
  await push(gateway, snapshot("a"), "a");
  const ca = readFileSync(gateway.certificateFile!, "utf8");
  const dispatcher = new Agent({ allowH2, connect: { ca } });
  const headers = { authorization: "Bearer a" };
  const open = () => request(`${gateway.url}/api/v1/clusters/a/desired`, { dispatcher, headers });
  const bodies = (await Promise.all([open(), open()])).map(({ statusCode, body }) => {
    expect(statusCode).toBe(200);
    return body.text();
  });
  const late = open().then(
    ({ body }) => body.text(),
    () => "rejected",
  );
  // A stream that is cut off after the time for requests in progress is an error of its reader.
  await gateways.stop(folder);
  for (const body of bodies) expect(await body).toMatch(/\n$/);
  expect(await late).toBeTypeOf("string");
  await dispatcher.destroy();
});
