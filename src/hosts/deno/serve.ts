/**
 * `deno run -A src/hosts/deno/serve.ts --config FILE`: the gateway on Deno, with the flags of
 * `clusterset-doh serve`.
 */
import { runProcess } from "../cli/program.ts";
import { type FetchRuntime, startFetchServer } from "../fetch-server.ts";

/** Deno's own server: HTTP/2 and HTTP/1.1 over TLS. */
const denoRuntime: FetchRuntime = {
  name: "Deno",
  listen({ hostname, port, tls, respond }) {
    const cutOff = new AbortController();
    const server = Deno.serve(
      {
        hostname,
        port,
        ...(tls !== undefined && { cert: tls.cert, key: tls.key }),
        signal: cutOff.signal,
        // Without it Deno writes a line of its own.
        onListen: () => {},
      },
      (request, { remoteAddr }) => respond(request, remoteAddr.hostname),
    );
    return {
      port: server.addr.port,
      stop: async (grace) => {
        const timer = setTimeout(() => cutOff.abort(), grace);
        await server.shutdown();
        await server.finished;
        clearTimeout(timer);
      },
    };
  },
};

await runProcess(["serve", ...process.argv.slice(2)], startFetchServer(denoRuntime));

/** The part of Deno's API that the gateway uses (docs.deno.com/api/deno/~/Deno.serve). */
interface DenoNamespace {
  serve(
    options: {
      readonly hostname: string;
      readonly port: number;
      readonly cert?: string;
      readonly key?: string;
      readonly signal: AbortSignal;
      readonly onListen: () => void;
    },
    handler: (
      request: Request,
      origin: { readonly remoteAddr: { readonly hostname?: string } },
    ) => Response | Promise<Response>,
  ): {
    readonly addr: { readonly port: number };
    readonly finished: Promise<void>;
    shutdown(): Promise<void>;
  };
}

declare const Deno: DenoNamespace;
