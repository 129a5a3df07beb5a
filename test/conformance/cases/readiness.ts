import { base64url, query } from "../../http/fake-gateway.ts";
import { type HttpCase, httpCase } from "../http-case.ts";
import { NAME } from "./doh.ts";
import { getOnlyCases } from "./get-only.ts";

const SECTION = "RFC 8914 section 4.15 (Not Ready)";
const TEXT = "text/plain; charset=utf-8";
const servfail = {
  status: 200,
  headers: { "content-type": "application/dns-message", "cache-control": "no-store" },
  dns: { rcode: "SERVFAIL", answer: [], extendedError: 14 },
};
const edns = base64url(Uint8Array.from([...query(NAME).with(11, 1), 0, 0, 41, 0x10, 0, 0, 0, 0, 0, 0, 0]));

const HOSTS = "docs/how-to/deploy/other-hosts.md";
const HEALTH = { "content-type": TEXT, "cache-control": "no-store" };
const alive = httpCase(HOSTS, "the process answers", "/healthz", { status: 200, headers: HEALTH });

const silent = (text: string): readonly HttpCase[] => [
  alive,
  httpCase("docs/reference/http-api.md", "the API describes itself", "/api/v1/openapi.json", {
    status: 200,
    headers: { "content-type": /^application\/json\b/ },
    jsonWith: { openapi: "3.1.1" },
    text: '"/api/v1/clusters/{clusterId}/snapshot"',
  }),
  httpCase(HOSTS, "readiness is 503", "/readyz", { status: 503, headers: HEALTH, text }),
  httpCase(SECTION, "GET", `/dns-query?dns=${edns}`, servfail),
  httpCase(SECTION, "POST", "/dns-query", servfail, {
    method: "POST",
    headers: { "content-type": "application/dns-message" },
    body: new Uint8Array(Buffer.from(edns, "base64url")),
  }),
  httpCase(SECTION, "JSON", `/resolve?name=${NAME}`, {
    status: 200,
    headers: { "cache-control": "no-store" },
    jsonWith: { Status: 2 },
    text: "Extended DNS Error 14",
  }),
];

/** Before a first push no name is denied. */
export const notReadyCases = silent("no cluster has pushed");

/** After all leases expired no name is denied. */
export const leaseOverCases = silent("every lease has expired");

/** While `cluster-a` and `cluster-b` are live. */
export const readyCases: readonly HttpCase[] = [
  alive,
  httpCase(HOSTS, "readiness has the number of live clusters", "/readyz", {
    status: 200,
    headers: { "content-type": TEXT },
    text: "ready: 2 of ",
  }),
  httpCase("docs/reference/http-api.md (Status)", "the status has the number of services", "/status", {
    status: 200,
    jsonWith: { ready: true, services: 3 },
  }),
  ...getOnlyCases("/healthz"),
  ...getOnlyCases("/readyz"),
];

/** While `cluster-a` and `cluster-b` are live, and `west`, which may push, never has. */
export const neverSeenCases: readonly HttpCase[] = (
  [
    ["readiness counts and names clusters that never pushed", "/readyz", " never seen\n"],
    ["the status names clusters that never pushed", "/status", '"west"'],
    ["a cluster that never pushed has a page", "/clusters/west", "never seen"],
  ] as const
).map(([title, path, text]) =>
  httpCase("docs/how-to/troubleshoot.md (A cluster is missing)", title, path, { status: 200, text }),
);
