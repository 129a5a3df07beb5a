import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

/** A web server behind a name of the clusterset. */
export interface WebPage {
  readonly port: number;
  /** The Host fields of its requests, and the other parts. */
  readonly asked: { readonly host: string; readonly userAgent: string }[];
  stop(): Promise<void>;
}

/** Serves one page on 127.0.0.1. */
export async function startWebPage(text: string): Promise<WebPage> {
  const asked: WebPage["asked"] = [];
  const server = createServer(({ headers }, response) => {
    asked.push({ host: headers.host ?? "", userAgent: headers["user-agent"] ?? "" });
    response.setHeader("content-type", "text/html; charset=utf-8");
    response.end(`<!doctype html><title>${text}</title><p id="page">${text}</p>`);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    asked,
    async stop() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}
