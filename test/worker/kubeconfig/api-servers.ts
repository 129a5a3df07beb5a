import {
  createServer as createHttpServer,
  request as httpRequest,
  type IncomingMessage,
  type RequestListener,
  type Server,
} from "node:http";
import { createServer as createHttpsServer } from "node:https";
import {
  type AddressInfo,
  connect,
  createServer,
  isIP,
  type Socket,
  type Server as TcpServer,
} from "node:net";
import type { TLSSocket } from "node:tls";
import { makeAuthority, makeClient, makeServer } from "../../hosts/client-certificates.ts";

/** What an API server got. */
export interface SeenRequest {
  /** `one`, `two` or `plain`. */
  readonly server: string;
  /** Of the first request, without its query. */
  readonly path: string;
  readonly authorization?: string;
  /** The TLS server name; absent for an address. */
  readonly sni?: string;
  /** The common name of the client certificate. */
  readonly certificate?: string;
  /** `Impersonate-*`, a line each. */
  readonly impersonate?: readonly string[];
  /** The proxy that the connection came through, with its credentials. */
  readonly through?: string;
}

/** The header in which a proxy names itself to a server in clear. */
const THROUGH = "x-through";

export type ApiServers = Awaited<ReturnType<typeof startApiServers>>;

/** Two API servers over TLS and one in clear, all of which take any request, and proxies in front of them. */
export async function startApiServers() {
  const authority = await makeAuthority("api");
  const pair = await makeServer(authority, ["localhost", "api.test"], ["127.0.0.1"]);
  const client = await makeClient(await makeAuthority("clients"), "worker");
  const seen: SeenRequest[] = [];
  /** The status of answers to requests with this authorization. */
  const reject = new Map<string | undefined, number>();
  /** Proxies by the local port of their connections. */
  const through = new Map<number, string>();
  const listenerOf =
    (server: string): RequestListener =>
    (request, response) => {
      const { authorization } = request.headers;
      seen.push(describe(server, request, through));
      response.writeHead(reject.get(authorization) ?? 200, { "content-type": "application/json" });
      response.end('{"kind":"Status","message":"as asked"}');
    };
  const tls = { ...pair, requestCert: true, rejectUnauthorized: false };
  const servers: (Server | TcpServer)[] = [];
  const sockets = new Set<Socket>();
  const open = async (server: Server | TcpServer) => {
    servers.push(server);
    server.on("connection", (socket: Socket) => {
      sockets.add(socket);
      socket.on("close", () => sockets.delete(socket));
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return (server.address() as AddressInfo).port;
  };
  const one = await open(createHttpsServer(tls, listenerOf("one")));
  const two = await open(createHttpsServer(tls, listenerOf("two")));
  const plain = await open(createHttpServer(listenerOf("plain")));
  const forward = (name: string) => (port: number, inner: Socket, ready: () => void) => {
    const outer = connect(port, "127.0.0.1", () => {
      through.set(outer.localPort!, name);
      ready();
      inner.pipe(outer).pipe(inner);
    });
    outer.on("error", () => inner.destroy());
    inner.on("error", () => outer.destroy());
  };
  const httpProxy = await open(connectProxy(createHttpServer(), "http", forward));
  const httpsProxy = await open(connectProxy(createHttpsServer(pair), "https", forward));
  const socksProxy = await open(createServer((socket) => serveSocks(socket, forward)));
  return {
    one: `https://127.0.0.1:${one}`,
    two: `https://127.0.0.1:${two}`,
    plain: `http://127.0.0.1:${plain}`,
    httpProxy: `http://127.0.0.1:${httpProxy}`,
    httpsProxy: `https://127.0.0.1:${httpsProxy}`,
    socksProxy: `socks5://127.0.0.1:${socksProxy}`,
    /** Of server and HTTPS proxy, in PEM. */
    authority: authority.cert,
    client,
    seen,
    reject,
    /** Forgets what was seen and is rejected. */
    reset: () => {
      seen.length = 0;
      reject.clear();
    },
    close: async () => {
      for (const socket of sockets) socket.destroy();
      await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
    },
  };
}

function describe(
  server: string,
  request: IncomingMessage,
  through: ReadonlyMap<number, string>,
): SeenRequest {
  const socket = request.socket as Partial<TLSSocket> & IncomingMessage["socket"];
  const { servername } = socket;
  const certificate = socket.getPeerCertificate?.().subject?.CN as string | undefined;
  const impersonate = Object.entries(request.headersDistinct).flatMap(([name, values = []]) =>
    name.startsWith("impersonate-") ? values.map((value) => `${name}: ${value}`) : [],
  );
  const { authorization } = request.headers;
  const proxy = through.get(socket.remotePort!) ?? request.headers[THROUGH];
  return {
    server,
    path: request.url!.split("?")[0]!,
    ...(authorization !== undefined && { authorization }),
    ...(typeof servername === "string" && isIP(servername) === 0 && { sni: servername }),
    ...(certificate !== undefined && { certificate }),
    ...(impersonate.length > 0 && { impersonate: impersonate.sort() }),
    ...(typeof proxy === "string" && { through: proxy }),
  };
}

type Forward = (name: string) => (port: number, inner: Socket, ready: () => void) => void;

/** Every name leads to 127.0.0.1, as in a network that only the proxy knows. */
function connectProxy(server: Server, name: string, forward: Forward): Server {
  const nameOf = (request: IncomingMessage) => {
    const credentials = request.headers["proxy-authorization"]?.replace(/^Basic /, "");
    return credentials === undefined ? name : `${name} as ${Buffer.from(credentials, "base64")}`;
  };
  server.on("connect", (request, socket) => {
    const port = Number(request.url!.split(":").at(-1));
    const ready = () => void socket.write("HTTP/1.1 200 OK\r\n\r\n");
    forward(nameOf(request))(port, socket as Socket, ready);
  });
  // Requests to a server in clear have its whole URL.
  server.on("request", (request, response) => {
    const { port, pathname } = new URL(request.url!);
    const headers = { ...request.headers, [THROUGH]: nameOf(request) };
    const forwarded = httpRequest({ host: "127.0.0.1", port, path: pathname, headers }, (answer) => {
      response.writeHead(answer.statusCode!, answer.headers);
      answer.pipe(response);
    });
    request.pipe(forwarded);
  });
  return server;
}

function serveSocks(socket: Socket, forward: Forward): void {
  socket.once("data", (greeting: Buffer) => {
    const withPassword = greeting.includes(2, 2);
    socket.write(Buffer.from([5, withPassword ? 2 : 0]));
    const serve = (name: string) =>
      socket.once("data", (request: Buffer) => {
        const port = request.readUInt16BE(request.length - 2);
        const ready = () => void socket.write(Buffer.from([5, 0, 0, 1, 0, 0, 0, 0, 0, 0]));
        forward(name)(port, socket, ready);
      });
    if (!withPassword) return serve("socks");
    socket.once("data", (login: Buffer) => {
      const user = login.subarray(2, 2 + login[1]!).toString();
      const password = login.subarray(3 + login[1]!).toString();
      socket.write(Buffer.from([1, 0]));
      serve(`socks as ${user}:${password}`);
    });
  });
}
