import type { Dispatcher } from "undici";
import { type FetchKeys, inlineKeys, type KeySource, PrivateKeyShown } from "../../../access/oidc.ts";
import { keySourceOf } from "../../../assembly/credentials.ts";
import type { IssuedTokens } from "../../../config/access.ts";
import { UsageError } from "../../../config/values.ts";
import { readText, readToken, type WatchedFiles } from "../files.ts";
import { readCertificates } from "../tls.ts";

/** The keys of every issuer that credentials name. */
export type Issuers = Awaited<ReturnType<typeof openIssuers>>;

/**
 * @param onFailure called when an issuer's keys could not be fetched
 * @throws {UsageError} naming the file that cannot be read
 */
export async function openIssuers(
  issuers: readonly IssuedTokens[],
  files: WatchedFiles,
  onFailure: (url: string, error: unknown) => void,
) {
  const opened = new Map<IssuedTokens, Awaited<ReturnType<typeof openIssuer>>>();
  for (const issued of issuers) opened.set(issued, await openIssuer(issued, files, onFailure));
  return {
    keysOf: (issued: IssuedTokens): KeySource => opened.get(issued)!.keys(),
    /** The keys of all: another object once the keys in a file are others. */
    current: (): KeySource[] => Array.from(opened.values(), ({ keys }) => keys()),
    close: async () => {
      await Promise.all(Array.from(opened.values(), ({ close }) => close()));
    },
  };
}

async function openIssuer(
  issued: IssuedTokens,
  files: WatchedFiles,
  onFailure: (url: string, error: unknown) => void,
) {
  const { jwksFile, caFile, tokenFile } = issued;
  /** By origin: discovery may lead to another one. */
  const dispatchers = new Map<string, Dispatcher>();
  const close = async () => {
    const open = [...dispatchers.values()];
    dispatchers.clear();
    await Promise.all(open.map((one) => one.destroy()));
  };
  if (jwksFile !== undefined) {
    const read = () => readText(jwksFile, "the key set");
    return { keys: await files.watch(read, (text) => keysIn(jwksFile, text)), close };
  }
  const token = tokenFile && (await files.watch(() => readToken(tokenFile), String));
  const useAuthority = (pem: string) => {
    // Requests from now on open new connections.
    void close();
    return pem;
  };
  const ca = caFile && (await files.watch(() => readCertificates(caFile), useAuthority));
  const fetchKeys = async (...[url, request]: Parameters<FetchKeys>): Promise<Response> => {
    const headers = { ...request.headers, ...(token && { authorization: `Bearer ${token()}` }) };
    // Keys in files need no client, which takes 90 ms of CPU time to load, in each thread.
    const [{ fetch }, { openDispatcher }] = await Promise.all([
      import("undici"),
      import("../../../outgoing/dispatcher.ts"),
    ]);
    const { origin } = new URL(url);
    const tls = { ca: ca ? ca() : undefined };
    const dispatcher = dispatchers.get(origin) ?? openDispatcher(new URL(url), { tls });
    dispatchers.set(origin, dispatcher);
    return (await fetch(url, { ...request, headers, dispatcher })) as unknown as Response;
  };
  const source = keySourceOf(issued, { fetch: fetchKeys, onFailure })!;
  return { keys: () => source, close };
}

function keysIn(file: string, text: string): KeySource {
  try {
    return inlineKeys(JSON.parse(text));
  } catch (error) {
    if (error instanceof PrivateKeyShown) throw new UsageError(`${file}: ${error.message}`);
    throw new UsageError(`${file} holds no key set: kubectl get --raw /openid/v1/jwks > ${file}`);
  }
}
