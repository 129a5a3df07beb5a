import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { makeAuthority, makeServer } from "../../hosts/client-certificates.ts";
import { exported, imported, snapshot } from "../../merge/fixtures.ts";
import { startGateway } from "../harness/processes.ts";

export const ALIAS = "clusterset.test";
export const NAME = `web.shop.svc.${ALIAS}`;
export const TEXT = "a page of the clusterset";

/** A gateway with one service, `web` in `shop`, whose address is that of a web page on this machine. */
export type GatewayOfAPage = Awaited<ReturnType<typeof startGatewayOfAPage>>;

/** @param signed whether the gateway's certificate is that of an authority, or self-signed */
export async function startGatewayOfAPage(signed: boolean) {
  const page = await startWebPage();
  const certificate = signed ? await makeSigned() : undefined;
  const gateway = await startGateway({
    clusters: ["cluster-a"],
    zones: [ALIAS],
    leaseSeconds: 600,
    ...(certificate && { certificate }),
  });
  const ports = [{ name: "http", protocol: "TCP" as const, port: 80 }];
  const { status, text } = await gateway.push(
    snapshot("cluster-a", {
      exports: { "shop/web": exported({ ports }) },
      imports: { "shop/web": imported({ ips: ["127.0.0.1"], ports }) },
    }),
  );
  if (status !== 200) throw new Error(`${status} ${text}`);
  return {
    gateway,
    page,
    /** The text of a file behind `/setup`, for the alias zone. */
    async setupFile(path: string) {
      const { status, text } = await gateway.http(`/setup/${path}?zone=${ALIAS}`);
      if (status !== 200) throw new Error(`${path}: ${status} ${text}`);
      return text;
    },
    async stop() {
      await gateway.stop();
      await page.stop();
    },
  };
}

async function makeSigned() {
  const authority = await makeAuthority("Test authority");
  return { ...(await makeServer(authority, ["localhost"], ["127.0.0.1"])), ca: authority.cert };
}

/** A web server on 127.0.0.1 with one page, and who asked for it. */
async function startWebPage() {
  const asked: { readonly host: string; readonly userAgent: string }[] = [];
  const server = createServer(({ headers }, response) => {
    asked.push({ host: headers.host ?? "", userAgent: headers["user-agent"] ?? "" });
    response.setHeader("content-type", "text/html; charset=utf-8");
    response.end(`<!doctype html><title>${TEXT}</title><p id="page">${TEXT}</p>`);
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
