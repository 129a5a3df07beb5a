import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { extendedErrors } from "../../resolve/extended-errors.ts";
import { type Answered, eventually } from "../harness/answers.ts";
import { checkout } from "../harness/cli.ts";
import { type GatewayClient, shorten } from "../harness/gateway-client.ts";
import { freePort } from "../servers/ports.ts";
import { temporaryFolder } from "../servers/tools/folders.ts";
import { type DevProcess, startDev } from "./harness/dev-process.ts";
import { builtWorker, NAME, startWorker, type WorkerProcess } from "./wrangler.ts";

describe("after a failure behind a location what is in memory answers, marked as stale", () => {
  let worker: WorkerProcess;
  /** Where the object is not. */
  let place: DevProcess;

  beforeAll(async () => {
    worker = await startWorker({ clusters: ["west"] });
    await worker.pushShop("west", 1);
    place = await startPlace(worker);
  });

  afterAll(async () => {
    await place?.stop();
    await worker?.stop();
  });

  const untilSeen = (answer: string[], stale: boolean) =>
    eventually(() => see(place, "web.shop")).toEqual({ answer, stale });

  test("an object that is unreachable for a while", async () => {
    await untilSeen(["10.0.0.0"], false);
    // Names are denied from a list of what exists.
    expect(await see(place, "somebody.shop")).toMatchObject({ answer: "NXDOMAIN" });
    await worker.kill();
    await untilSeen(["10.0.0.0"], true);
    expect(await see(place, "nobody.shop")).toMatchObject({ answer: "NXDOMAIN", stale: true });
    const { headers, json } = await place.http(`/resolve?name=web.shop.svc.clusterset.test`);
    expect(json<{ Comment: string }>().Comment).toMatch(/stale: the primary last answered \d+ s ago/);
    expect(headers["cache-control"]).toMatch(/max-age=[01]$/);
    expect(await place.http("/readyz")).toMatchObject({
      status: 200,
      text: expect.stringMatching(/^ready: .* stale: the primary last answered/),
    });

    await worker.restart();
    await worker.pushShop("west", 2);
    await untilSeen(["10.0.0.0", "10.0.0.1"], false);
  });
});

/** Extended DNS Errors 3 and 19 (RFC 8914 sections 4.4 and 4.20). */
const STALE = [3, 19];

/** The addresses of a name without its `.svc.clusterset.test`, and whether they are marked as stale. */
async function see(gateway: GatewayClient, name: string): Promise<{ answer: Answered; stale: boolean }> {
  const answer = await gateway.query(`${name}.svc.clusterset.test`, "A");
  const { rcode, values } = shorten(answer);
  const found = values.length > 0 ? values : "NODATA";
  const stale = STALE.includes(extendedErrors(answer.raw)[0] ?? -1);
  return { answer: rcode === "NOERROR" ? found : rcode, stale };
}

/** The same Worker in another workerd, as in another location: its object is that of `primary`. */
async function startPlace(primary: WorkerProcess): Promise<DevProcess> {
  const folder = temporaryFolder("place");
  const name = `${NAME}-elsewhere`;
  const configuration = join(folder, "wrangler.toml");
  writeFileSync(configuration, elsewhere(readFileSync(join(checkout, "wrangler.toml"), "utf8"), name));
  const { variables, registry, tokenFileFor } = primary;
  const port = await freePort();
  const script = await builtWorker();
  return startDev({ script, configuration, name, variables, folder, registry, port, tokenFileFor });
}

/** The configuration of a Worker whose object is another Worker's. */
function elsewhere(configuration: string, name: string): string {
  const changes: [RegExp, string][] = [
    [/^name = .*$/m, `name = "${name}"`],
    [/^(class_name = .*)$/m, `$1\nscript_name = "${NAME}"`],
    [/^\[assets\]\n(?:\w.*\n)+/m, ""],
    [/^\[\[migrations\]\]\n(?:\w.*\n)+/m, ""],
  ];
  return changes.reduce((text, [pattern, replacement]) => {
    if (!pattern.test(text)) throw new Error(`wrangler.toml has nothing like ${pattern}`);
    return text.replace(pattern, replacement);
  }, configuration);
}
