import { gatewayAddress } from "./client-setup.ts";
import { inUrl, type SetupFacts } from "./setup-facts.ts";

/** The listener for a client without DNS over HTTPS: DNS over TLS if it is on, else plain DNS. */
export interface Listener {
  readonly overTls: boolean;
  /** IPv6 without brackets. */
  readonly address: string;
  readonly port: number;
}

export function listenerOf(facts: SetupFacts): Listener {
  const { dot, dns } = facts;
  const at = dot ?? dns;
  return {
    overTls: dot !== undefined || dns === undefined,
    address: gatewayAddress(facts, at),
    port: at?.port ?? 853,
  };
}

/** `ADDRESS:PORT`, without the default port. */
export function place(address: string, port: number, usual: number): string {
  return port === usual ? inUrl(address) : `${inUrl(address)}:${port}`;
}

/** Why a client with DNS over TLS and plain DNS cannot use the gateway. */
export function lacksListener({ dns, dot }: SetupFacts): string | undefined {
  return dns === undefined && dot === undefined
    ? "This client forwards by DNS over TLS or plain DNS, and this gateway listens for neither: start it with `--dot ADDRESS:853` or `--dns ADDRESS:PORT` (settings `dot.listen`, `dns.listen`; not on serverless hosts)."
    : undefined;
}

/** Why a client with only plain DNS cannot use it. */
export function lacksPlainDns({ dns }: SetupFacts): string | undefined {
  return dns === undefined
    ? "This client forwards by plain DNS only, and this gateway does not listen for it: start it with `--dns ADDRESS:PORT` (setting `dns.listen`; not on serverless hosts)."
    : undefined;
}
