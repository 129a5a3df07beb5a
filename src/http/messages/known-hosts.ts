/** Tells hosts by which a gateway is known from those of strangers. @param host with its port, as `HttpRequest.host` */
export type KnowsHost = (host: string) => boolean;

const IPV4 = /^\d{1,3}(?:\.\d{1,3}){3}$/;

/**
 * Knows `localhost`, IP addresses, and further names: a page of a stranger, whose name was pointed at this gateway's address (DNS
 * rebinding), has another one. So has no name: its client is no browser.
 */
export function knownHosts(names: readonly string[]): KnowsHost {
  const known = new Set(["", "localhost", ...names.map((name) => name.toLowerCase())]);
  return (host) => {
    if (host.startsWith("[")) return true;
    const name = host.replace(/:\d*$/, "").replace(/\.$/, "").toLowerCase();
    return known.has(name) || IPV4.test(name);
  };
}
