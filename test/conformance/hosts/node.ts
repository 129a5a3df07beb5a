import { readFileSync } from "node:fs";
import { Gateways } from "../../hosts/gateways.ts";
import type { HostSettings, HostUnderTest, RunningHost } from "../host-under-test.ts";
import { pass } from "./moved-clock.ts";
import { connectTo } from "./socket-fetch.ts";

/** `clusterset-doh serve` in this process, with the file store, behind TLS. */
export const nodeHost: HostUnderTest = {
  name: "Node, HTTP/2",
  takesHostNames: true,
  start: (settings) => startNode(settings, true),
};

/** The same in clear, as behind a proxy. */
export const nodeHostInClear: HostUnderTest = {
  name: "Node, HTTP/1.1 in clear",
  takesHostNames: true,
  start: (settings) => startNode(settings, false),
};

async function startNode(settings: HostSettings, tls: boolean): Promise<RunningHost> {
  const gateways = new Gateways();
  const { url, certificateFile } = await gateways.start(gateways.folder(), { ...settings, tls });
  const ca = certificateFile === undefined ? undefined : readFileSync(certificateFile, "utf8");
  const client = connectTo(url, ca);
  return {
    fetch: client.fetch,
    pass,
    stop: async () => {
      await client.close();
      await gateways.close();
    },
  };
}
