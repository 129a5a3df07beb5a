import { formatListenAddress, type ListenAddress, UsageError } from "../../config/values.ts";

/** The machine lacks the address or the protocol. */
export class NoSuchAddress extends UsageError {}

/** Ports below this are for processes with CAP_NET_BIND_SERVICE. */
const FIRST_FREE_PORT = 1024;

/**
 * Explains why the gateway cannot listen on an address.
 * @param flag the flag that chooses another address
 */
export function listenFailure(
  error: NodeJS.ErrnoException,
  { host, port }: ListenAddress,
  flag = "--listen",
): UsageError {
  const place = host === undefined ? `port ${port}` : formatListenAddress(host, port);
  switch (error.code) {
    case "EADDRINUSE":
      return new UsageError(
        `${place} is taken: stop the program that listens there, or choose another ${flag} HOST:PORT`,
      );
    case "EACCES":
      return new UsageError(
        port < FIRST_FREE_PORT
          ? `${place} is not allowed: give the process CAP_NET_BIND_SERVICE (AmbientCapabilities= in systemd, securityContext.capabilities.add: [NET_BIND_SERVICE] in Kubernetes), or choose a port above 1023 with ${flag} HOST:PORT`
          : `${place} is not allowed: choose another ${flag} HOST:PORT`,
      );
    case "EADDRNOTAVAIL":
    case "EAFNOSUPPORT":
      return new NoSuchAddress(
        `${place} is not an address of this machine: choose another ${flag} HOST:PORT`,
      );
    default:
      return new UsageError(`cannot listen on ${place}: ${error.message}`);
  }
}

/** Explains why a listener for DNS cannot listen on an address. */
export function listenerFailure(
  error: NodeJS.ErrnoException,
  address: ListenAddress,
  kind: "dns" | "dot",
): UsageError {
  return new UsageError(`${kind}.listen: ${listenFailure(error, address, `--${kind}`).message}`);
}
