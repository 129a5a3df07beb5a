import { readFileSync } from "node:fs";
import { Agent, request } from "undici";
import { afterEach, describe, expect, it } from "vitest";
import { sha256 } from "../../../access/authorities.ts";
import { Gateways, push } from "../../../hosts/gateways.ts";
import { snapshot } from "../../../merge/fixtures.ts";

const gateways = new Gateways();
afterEach(() => gateways.close());

const credential = { clusterId: "a", tokenSha256: sha256("a"), control: true };
const config = { push: { credentials: [credential] } };

describe.each([true, false])("a gateway that stops (HTTP/2: %s)", (allowH2) => {
  it("ends open streams of desired states with their last whole line, and none that begins later goes on", async () => {
    const folder = gateways.folder();
    const gateway = await gateways.start(folder, config);
    await push(gateway, snapshot("a"), "a");
    const ca = readFileSync(gateway.certificateFile!, "utf8");
    const dispatcher = new Agent({ allowH2, connect: { ca } });
    const open = () =>
      request(`${gateway.url}/api/v1/clusters/a/desired`, {
        dispatcher,
        headers: { authorization: "Bearer a" },
      });
    const [first, second] = await Promise.all([open(), open()]);
    const bodies = [first, second].map(async ({ statusCode, body }) => ({
      statusCode,
      text: await body.text(),
    }));
    const late = open().then(
      ({ body }) => body.text(),
      () => "rejected",
    );
    // A stream that is cut off after the time for requests in progress is an error of its reader.
    await gateways.stop(folder);
    for (const body of bodies) {
      const { statusCode, text } = await body;
      expect(statusCode).toBe(200);
      expect(text).toMatch(/\n$/);
    }
    expect(await late).toBeTypeOf("string");
    await dispatcher.destroy();
  });
});
