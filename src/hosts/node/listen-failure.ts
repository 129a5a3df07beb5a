import { UsageError } from "../settings/usage-error.ts";
import { formatListenAddress, type ListenAddress } from "./listen-address.ts";

/** The machine does not have the address, or not the protocol. */
export class NoSuchAddress extends UsageError {}

/** What to tell somebody whose address could not be listened on. */
export function listenFailure(error: NodeJS.ErrnoException, { host, port }: ListenAddress): UsageError {
  const place = host === undefined ? `port ${port}` : formatListenAddress(host, port);
  switch (error.code) {
    case "EADDRINUSE":
      return new UsageError(
        `${place} is taken: stop the program that listens there, or choose another --listen HOST:PORT`,
      );
    case "EACCES":
      return new UsageError(`${place} is not allowed: choose a port above 1023 with --listen HOST:PORT`);
    case "EADDRNOTAVAIL":
    case "EAFNOSUPPORT":
      return new NoSuchAddress(`${place} is no address of this machine: choose another --listen HOST:PORT`);
    default:
      return new UsageError(`cannot listen on ${place}: ${error.message}`);
  }
}
