import type { ServeConfig } from "../../config/settings.ts";
import { loadAccess } from "../node/access/node-admission.ts";
import { readEngineAddress } from "../node/gateway/replica.ts";
import { createLogger } from "../node/process.ts";
import { openTlsSource } from "../node/tls/tls.ts";
import { openUpstreams, UpstreamConnector } from "../node/upstreams/configured-upstreams.ts";

/**
 * Reads the files that a checked configuration names: certificates, keys, tokens. Writes nothing, listens nowhere, and leaves the state folder alone,
 * so that it can run beside the gateway.
 * @returns a sentence
 * @throws {UsageError} naming the setting or the file that is wrong
 */
export async function checkConfigFiles(config: ServeConfig): Promise<string> {
  const { tls, zones, push, access, store } = config;
  // Without files the gateway makes a certificate itself, in its state folder.
  if (typeof tls === "object" && tls.certificateFile !== undefined) await openTlsSource(config, undefined);
  const loaded = await loadAccess(config, createLogger("serve", "error"));
  await loaded.close();
  if (store !== undefined) await readEngineAddress(store);
  await UpstreamConnector.load(config.stub.upstreams);
  await (await openUpstreams(config.forward)).close();
  const clients = access.public === true ? "every client" : `${access.rules.length} access rules`;
  return `the configuration is valid: zones ${zones.join(", ")}; ${push.credentials.length} credentials for pushing; ${clients}`;
}
