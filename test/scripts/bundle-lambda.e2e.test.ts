import { execFile } from "node:child_process";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { bundleLambda } from "../../scripts/bundle-lambda.ts";
import { RECORD } from "../conformance/cases/doh.ts";
import { credentialsOf } from "../conformance/host-under-test.ts";
import { recordedEvent } from "../conformance/hosts/lambda-event.ts";
import { type PrimaryHost, startPrimary } from "../conformance/hosts/primary.ts";
import { connectTo } from "../conformance/hosts/socket-fetch.ts";
import { httpWorld } from "../conformance/http-world.ts";
import { acknowledged, pushApi } from "../conformance/push-client.ts";
import { folderOfTests } from "../folders.ts";
import { decode } from "../resolve/ask.ts";
import { snapshotBody } from "../snapshot/lines/push-lines.ts";

/** Calls the handler with one event and prints what it gives back. */
const CALLER = `
const { handler } = await import("./index.mjs");
const result = await handler(JSON.parse(process.env.EVENT));
console.log(JSON.stringify({ result }));
process.exit();`;

describe("the function in one file", () => {
  // Alone in its folder, as it is uploaded: nothing of the checkout can be found from there.
  const folder = folderOfTests();
  let primary: PrimaryHost;

  beforeAll(async () => {
    await bundleLambda(join(folder, "index.mjs"));
    primary = await startPrimary({
      zones: ["clusterset.test"],
      push: { credentials: credentialsOf([{ clusterId: "cluster-a", token: "a-token" }]) },
    });
    const client = connectTo(primary.url);
    const body = snapshotBody(httpWorld[0]);
    await acknowledged(pushApi(client.fetch).send("PUT", "cluster-a/snapshot", { token: "a-token", body }));
    await client.close();
  });

  afterAll(async () => {
    await primary?.stop();
  });

  /** Runs Node with these environment variables, and nothing else of ours, while the primary answers here. */
  function call(environment: Readonly<Record<string, string>>): Promise<{ stdout: string; stderr: string }> {
    const env = { ...environment, EVENT: JSON.stringify(recordedEvent("http-api-post")) };
    const args = ["--input-type=module", "--eval", CALLER];
    return new Promise((resolve) => {
      execFile(process.execPath, args, { cwd: folder, env }, (_, stdout, stderr) =>
        resolve({ stdout, stderr }),
      );
    });
  }

  it("answers from the primary's generation", async () => {
    const { stdout } = await call(primary.environment);
    const { result } = JSON.parse(stdout.trim().split("\n").at(-1)!);
    expect(result).toMatchObject({ statusCode: 200, isBase64Encoded: true });
    expect(decode(Buffer.from(result.body, "base64")).answer).toEqual([RECORD]);
  });

  it("says at its start which setting is missing", async () => {
    const { stderr } = await call({ CLUSTERSET_PRIMARY_URL: primary.url });
    expect(stderr).toContain("CLUSTERSET_TRANSFER_TOKEN: must be a token");
  });
});
