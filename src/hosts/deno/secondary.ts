/**
 * `deno run -A src/hosts/deno/secondary.ts`: a secondary on Deno. docs/how-to/deploy/other-hosts.md has its
 * environment variables.
 */
import { logJson } from "../../assembly/log.ts";
import { createSteadyClock, waitingClock } from "../../gateway/clock.ts";
import { createSecondaryHost, readSecondarySettings } from "../secondary-host.ts";

declare const Deno: {
  serve(
    handler: (
      request: Request,
      origin: { readonly remoteAddr: { readonly hostname?: string } },
    ) => Response | Promise<Response>,
  ): unknown;
};

const secondary = await createSecondaryHost(
  readSecondarySettings(process.env),
  logJson,
  createSteadyClock(waitingClock),
);

Deno.serve((request, { remoteAddr }) =>
  secondary.fetch(request, { address: remoteAddr.hostname, certificate: "none" }),
);
