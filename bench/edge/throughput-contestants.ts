import { freePort } from "../../test/e2e/servers/ports.ts";
import { askOnce, type HttpAnswer } from "../processes/ask.ts";
import { ASKED, loadedSnapshots, queryOf } from "../worlds/asked.ts";
import { deploy, pushAll, startWhole } from "./location.ts";
import { buildFixedScripts, type Scripts } from "./workerd/bundles.ts";
import { startWorkerd, type WorkerdProcess } from "./workerd/workerd.ts";

/** Names of the contestants. */
export const GATEWAY = "gateway";
export const FIXED = "fixed bytes";
export const FIXED_AFTER_BODY = "fixed bytes, body read";
export const FIXED_HONO = "Hono, fixed bytes";

/** A Worker in a process of its own that answers queries at a URL. */
export interface Contestant {
  readonly name: string;
  readonly url: string;
  readonly process: WorkerdProcess;
}

/**
 * Starts the gateway's Worker, and those that send one of its answers.
 * @param contestants gets each one as soon as it runs
 * @returns that answer
 */
export async function startContestants(scripts: Scripts, contestants: Contestant[]): Promise<HttpAnswer> {
  const snapshots = loadedSnapshots();
  const gateway = await startWhole(
    deploy(
      scripts,
      snapshots.map(({ clusterId }) => clusterId),
    ),
  );
  contestants.push({ name: GATEWAY, url: `${gateway.url}/dns-query`, process: gateway });
  await pushAll(gateway, snapshots);
  const answer = await askOnce({ url: `${gateway.url}/dns-query`, ca: "" }, queryOf(ASKED[0]!));
  const fixed = await buildFixedScripts(answer);
  contestants.push(await startFixed(FIXED, fixed.fixed));
  contestants.push(await startFixed(FIXED_AFTER_BODY, fixed.fixedAfterBody));
  contestants.push(await startFixed(FIXED_HONO, fixed.fixedHono));
  return answer;
}

async function startFixed(name: string, script: string): Promise<Contestant> {
  const port = await freePort();
  const process = await startWorkerd({
    name: "fixed",
    services: [{ name: "fixed", modules: [["fixed.js", script]] }],
    sockets: [{ port, service: "fixed" }],
  });
  return { name, url: `http://127.0.0.1:${port}/dns-query`, process };
}
