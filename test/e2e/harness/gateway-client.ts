import { readFileSync } from "node:fs";
import type { RecordType } from "dns-packet";
import { Agent, type Dispatcher, request } from "undici";
import type { ClusterSnapshot } from "../../../src/snapshot/schema.ts";
import { DEADLINE } from "../../deadline.ts";
import { pushed } from "../../snapshot/lines/push-lines.ts";
import { type DnsAnswer, queryDoh } from "../servers/dns.ts";

/** The variable parts of a query: its view and its form. */
export interface AskOptions {
  /** The cluster of the view; outside by default. */
  view?: string;
  method?: "GET" | "POST";
}

/** An HTTP answer, read to its end. */
export interface HttpAnswer {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  text: string;
  /** The body as JSON. */
  json: <T>() => T;
}

/** An answer section in short: `values` sorted, with one SRV as `<priority> <weight> <port> <target>`. */
export interface Lookup {
  rcode: string;
  values: string[];
  ttls: number[];
}

/** Questions to a gateway, whatever it runs on. */
export interface GatewayClient {
  /** `https://127.0.0.1:PORT`. */
  url: string;
  /** The file with the push token of one of its clusters. */
  tokenFileFor(clusterId: string): string;
  tokenFor(clusterId: string): string;
  query(name: string, type: RecordType, options?: AskOptions): Promise<DnsAnswer>;
  /** `query` in short. */
  lookup(name: string, type: RecordType, options?: AskOptions): Promise<Lookup>;
  /** The JSON form, by `/resolve`. */
  json(name: string, type: string, options?: AskOptions): Promise<Record<string, unknown>>;
  /**
   * Any request to the gateway; a status other than 2xx is not an error. It has a connection of its own
   * unless a `dispatcher` has one.
   */
  http(
    path: string,
    options?: {
      method?: string;
      headers?: Record<string, string>;
      body?: string | Buffer;
      dispatcher?: Dispatcher;
    },
  ): Promise<HttpAnswer>;
  /** Pushes a whole snapshot, by default with the cluster's own token. */
  push(
    snapshot: ClusterSnapshot,
    options?: { readonly leaseSeconds?: number; readonly token?: string },
  ): Promise<HttpAnswer>;
  /** `GET /api/v1/clusters/{id}` with that cluster's own token. */
  clusterStatus<T = Record<string, unknown>>(clusterId: string): Promise<T>;
}

/** What a proxy between a client and its gateway does to requests. */
interface ProxyBetween {
  /** The method of queries by default. */
  readonly queryMethod?: "GET" | "POST";
  /** Whether the proxy has lost a request and answers itself: the request is sent again, once. */
  readonly isLost?: (answer: Pick<HttpAnswer, "status" | "text">, method: string) => boolean;
}

/**
 * A client of the gateway at `url`. `readCa` gives the PEM text that its certificate is checked against,
 * empty without TLS.
 */
export function gatewayClient(
  url: string,
  readCa: () => string,
  tokenFileFor: (clusterId: string) => string,
  { queryMethod = "POST", isLost = () => false }: ProxyBetween = {},
): GatewayClient {
  const sendOnce: GatewayClient["http"] = async (path, options = {}) => {
    const { method = "GET", headers = {}, body, dispatcher } = options;
    const own = dispatcher ?? new Agent({ connect: { ca: readCa(), timeout: DEADLINE } });
    try {
      const answer = await request(url + path, {
        method: method as Dispatcher.HttpMethod,
        dispatcher: own,
        headers,
        body: body ?? null,
      });
      const text = await answer.body.text();
      return { status: answer.statusCode, headers: answer.headers, text, json: () => JSON.parse(text) };
    } finally {
      if (own !== dispatcher) await own.destroy();
    }
  };
  const http: GatewayClient["http"] = async (path, options) => {
    const answer = await sendOnce(path, options);
    return isLost(answer, options?.method ?? "GET") ? sendOnce(path, options) : answer;
  };
  const query: GatewayClient["query"] = (name, type, { view, method = queryMethod } = {}) => {
    const ca = readCa();
    return queryDoh(
      `${url}${pathOfView(view)}/dns-query`,
      { name, type, edns: true },
      { method, ...(ca !== "" && { ca }) },
    );
  };
  const tokenFor = (clusterId: string) => readFileSync(tokenFileFor(clusterId), "utf8").trim();
  return {
    url,
    tokenFileFor,
    tokenFor,
    query,
    lookup: async (name, type, options) => shorten(await query(name, type, options)),
    json: async (name, type, { view } = {}) => {
      const path = `${pathOfView(view)}/resolve?name=${encodeURIComponent(name)}&type=${type}`;
      return (await http(path)).json();
    },
    http,
    push: (snapshot, { leaseSeconds, token = tokenFor(snapshot.clusterId) } = {}) => {
      const lease = leaseSeconds === undefined ? "" : `?leaseSeconds=${leaseSeconds}`;
      const path = `/api/v1/clusters/${snapshot.clusterId}/snapshot${lease}`;
      return http(...pushed("PUT", path, snapshot, { authorization: `Bearer ${token}` }));
    },
    clusterStatus: async (clusterId) => {
      const headers = { authorization: `Bearer ${tokenFor(clusterId)}` };
      const answer = await http(`/api/v1/clusters/${clusterId}`, { headers });
      if (answer.status !== 200) throw new Error(`status of ${clusterId}: ${answer.status} ${answer.text}`);
      return answer.json();
    },
  };
}

/** An answer section in short. */
export function shorten(answer: DnsAnswer): Lookup {
  const records = answer.message.answers ?? [];
  const values = records.map((record) => {
    if (record.type === "SRV") {
      const { priority, weight, port, target } = record.data;
      return `${priority} ${weight} ${port} ${target}`;
    }
    if (record.type === "TXT") return String(record.data);
    return "data" in record
      ? typeof record.data === "string"
        ? record.data
        : JSON.stringify(record.data)
      : "";
  });
  const ttls = records.map((record) => ("ttl" in record ? (record.ttl ?? 0) : 0));
  return { rcode: answer.rcode, values: values.sort(), ttls };
}

function pathOfView(view: string | undefined): string {
  return view === undefined ? "" : `/clusters/${view}`;
}
