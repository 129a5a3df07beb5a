import { base64url, query } from "../../http/fake-gateway.ts";
import type { HttpCase } from "../http-case.ts";
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

const alive: HttpCase = {
  section: "docs/how-to/deploy/other-hosts.md",
  title: "the process answers",
  path: "/healthz",
  expected: { status: 200, headers: { "content-type": TEXT, "cache-control": "no-store" } },
};

const described: HttpCase = {
  section: "docs/reference/http-api.md",
  title: "the API describes itself",
  path: "/api/v1/openapi.json",
  expected: {
    status: 200,
    headers: { "content-type": /^application\/json\b/ },
    jsonWith: { openapi: "3.1.1" },
    text: '"/api/v1/clusters/{clusterId}/snapshot"',
  },
};

const silent = (text: string): readonly HttpCase[] => [
  alive,
  described,
  {
    section: "docs/how-to/deploy/other-hosts.md",
    title: "readiness is 503",
    path: "/readyz",
    expected: { status: 503, headers: { "content-type": TEXT, "cache-control": "no-store" }, text },
  },
  { section: SECTION, title: "GET", path: `/dns-query?dns=${edns}`, expected: servfail },
  {
    section: SECTION,
    title: "POST",
    method: "POST",
    path: "/dns-query",
    headers: { "content-type": "application/dns-message" },
    body: new Uint8Array(Buffer.from(edns, "base64url")),
    expected: servfail,
  },
  {
    section: SECTION,
    title: "JSON",
    path: `/resolve?name=${NAME}`,
    expected: {
      status: 200,
      headers: { "cache-control": "no-store" },
      jsonWith: { Status: 2 },
      text: "Extended DNS Error 14",
    },
  },
];

/** Before a first push no name is denied. */
export const notReadyCases = silent("no cluster has pushed");

/** After all leases expired no name is denied. */
export const leaseOverCases = silent("every lease has expired");

/** While `cluster-a` and `cluster-b` are live. */
export const readyCases: readonly HttpCase[] = [
  alive,
  {
    section: "docs/how-to/deploy/other-hosts.md",
    title: "readiness has the number of live clusters",
    path: "/readyz",
    expected: { status: 200, headers: { "content-type": TEXT }, text: "ready: 2 of " },
  },
  {
    section: "docs/reference/http-api.md (Status)",
    title: "the status has the number of services",
    path: "/status",
    expected: { status: 200, jsonWith: { ready: true, services: 3 } },
  },
  ...getOnlyCases("/healthz"),
  ...getOnlyCases("/readyz"),
];

/** While `cluster-a` and `cluster-b` are live, and `west`, which may push, never has. */
export const neverSeenCases: readonly HttpCase[] = [
  {
    section: "docs/how-to/troubleshoot.md (A cluster is missing)",
    title: "readiness counts and names clusters that never pushed",
    path: "/readyz",
    expected: { status: 200, text: " never seen\n" },
  },
  {
    section: "docs/how-to/troubleshoot.md (A cluster is missing)",
    title: "the status names clusters that never pushed",
    path: "/status",
    expected: { status: 200, text: '"west"' },
  },
  {
    section: "docs/how-to/troubleshoot.md (A cluster is missing)",
    title: "a cluster that never pushed has a page",
    path: "/clusters/west",
    headers: { accept: "text/html" },
    expected: { status: 200, text: "never seen" },
  },
];
