import { createHash, type X509Certificate } from "node:crypto";
import type { Dispatcher } from "undici";
import { createAuthority, type PushAuthority } from "../../../access/authority.ts";
import { type CertificateIdentity, plainFingerprint } from "../../../access/client.ts";
import { type FetchKeys, inlineKeys, type KeySource, PrivateKeyShown } from "../../../access/oidc.ts";
import {
  authoritySettings,
  type Credential,
  keySourceId,
  keySourceOf,
} from "../../../assembly/credentials.ts";
import type { IssuedTokens } from "../../../config/access.ts";
import type { ServeConfig } from "../../../config/settings.ts";
import { UsageError } from "../../../config/values.ts";
import { readText, readToken, readTokens, type WatchedFiles, watchFile } from "../files.ts";
import { readCertificates } from "../tls.ts";

/**
 * The authority over pushes.
 * @throws {UsageError} with the file that cannot be read, or the setting that certificates need
 */
export function loadPushAuthority(
  { push, tls }: Pick<ServeConfig, "push" | "tls">,
  files: WatchedFiles,
  issuers: Issuers,
) {
  const clientCaFile = typeof tls === "object" ? tls.clientCaFile : undefined;
  if (clientCaFile === undefined && push.credentials.some(({ certificate }) => certificate !== undefined))
    throw new UsageError("push.credentials: a certificate needs a trusted authority: give tls.clientCaFile");
  return loadAuthority(push.credentials, "push.credentials", files, issuers);
}

/**
 * The authority over pushes, or over transfer, on Node, whose files may change while the gateway runs.
 * @throws {UsageError} naming the file that cannot be read
 */
export async function loadAuthority(
  credentials: readonly Credential[],
  setting: string,
  files: WatchedFiles,
  issuers: Issuers,
) {
  // A file may hold several tokens, which are one credential in the audit log.
  const named = credentials.map((credential, index) => ({
    ...credential,
    name: credential.name ?? `${setting}[${index}]`,
  }));
  const credentialsNow = await files.watchEach(named, readCredential);
  const current = await files.watch(
    // With other keys of an issuer, tokens that the old ones verified are not remembered.
    async () => ({ list: credentialsNow().flat(), keys: issuers.current() }),
    ({ list }) => {
      const shared = describeShared(list);
      // A list of hashes may mean it: queries with such a token name their cluster by the EDNS option.
      if (shared?.isOfFile === true) throw new UsageError(`${setting}: ${shared.message}`);
      const authority = createAuthority({
        ...authoritySettings(list, setting, issuers.keysOf),
        // At once: `crypto.subtle` hands each token to another thread.
        sha256: (bytes) => createHash("sha256").update(bytes).digest(),
      });
      return { authority, sharedToken: shared?.message };
    },
  );
  return {
    identify: (...request) => current().authority.identify(...request),
    authorize: (...request) => current().authority.authorize(...request),
    clustersOf: (authorization) => current().authority.clustersOf(authorization),
    isOfHolder: (identity) => current().authority.isOfHolder(identity),
    /** What is wrong where two clusters have one token; undefined where none do. */
    get sharedToken() {
      return current().sharedToken;
    },
  } satisfies PushAuthority & { readonly sharedToken: string | undefined };
}

/** Two clusters with one token: each may replace what the other reports. */
function describeShared(list: readonly Credential[]): { message: string; isOfFile: boolean } | undefined {
  const first = new Map<string, Credential>();
  // Those of files are refused, so they are looked for first.
  for (const one of list.toSorted(
    (a, b) => Number(b.tokenFile !== undefined) - Number(a.tokenFile !== undefined),
  )) {
    const { clusterId } = one;
    const tokenSha256 = one.tokenSha256?.toLowerCase();
    if (tokenSha256 === undefined || clusterId === undefined) continue;
    const other = first.get(tokenSha256) ?? one;
    first.set(tokenSha256, other);
    if (other.clusterId === clusterId) continue;
    const file = one.tokenFile ?? other.tokenFile;
    const message = `the clusters ${other.clusterId} and ${clusterId} have one token${file === undefined ? "" : ` (${file})`}, so that each may replace what the other reports: give each its own (clusterset-doh token --out ${clusterId}.token)`;
    return { message, isOfFile: file !== undefined };
  }
  return undefined;
}

async function readCredential(credential: Credential): Promise<Credential[]> {
  if (credential.tokenFile === undefined) return [credential];
  const tokens = await readTokens(credential.tokenFile);
  return tokens.map((token) => ({
    ...credential,
    tokenSha256: createHash("sha256").update(token).digest("hex"),
  }));
}

/** The names in a certificate; none if they cannot be separated with certainty. */
export function identityOf(certificate: X509Certificate): CertificateIdentity {
  const names = readAlternativeNames(certificate.subjectAltName ?? "") ?? [];
  const commonNames = certificate.subject?.split("\n").filter((line) => line.startsWith("CN=")) ?? [];
  return {
    fingerprintSha256: plainFingerprint(certificate.fingerprint256),
    commonName: commonNames.length === 1 ? commonNames[0]!.slice("CN=".length) : undefined,
    uris: names.flatMap(([kind, value]) => (kind === "URI" ? [value] : [])),
    dnsNames: names.flatMap(([kind, value]) => (kind === "DNS" ? [value.toLowerCase()] : [])),
  };
}

/**
 * The names in Node's text of the extension: `DNS:a.example, URI:"spiffe://…"`. Values with a comma or a
 * quote are JSON strings, so that one value cannot look like two (CVE-2021-44532). Undefined for text of
 * another form.
 */
export function readAlternativeNames(text: string): (readonly [kind: string, value: string])[] | undefined {
  const names: (readonly [string, string])[] = [];
  const name = /([A-Za-z][A-Za-z0-9 ]*):("(?:[^"\\]|\\.)*"|[^",]*)(?:, |$)/y;
  while (name.lastIndex < text.length) {
    const found = name.exec(text);
    if (found === null) return undefined;
    const [, kind, value] = found as unknown as [string, string, string];
    try {
      names.push([kind, value.startsWith('"') ? String(JSON.parse(value)) : value]);
    } catch {
      return undefined;
    }
  }
  return names;
}

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
  const opened = new Map<string, Awaited<ReturnType<typeof openIssuer>>>();
  for (const issued of issuers) {
    const id = keySourceId(issued);
    if (!opened.has(id)) opened.set(id, await openIssuer(issued, files, onFailure));
  }
  return {
    keysOf: (issued: IssuedTokens): KeySource => opened.get(keySourceId(issued))!.keys(),
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
  const currentToken = await watchFile(tokenFile, readToken, files);
  const useAuthority = (pem: string) => {
    // Requests from now on open new connections.
    void close();
    return pem;
  };
  const ca = caFile && (await files.watch(() => readCertificates(caFile), useAuthority));
  const fetchKeys = async (...[url, request]: Parameters<FetchKeys>): Promise<Response> => {
    const token = currentToken();
    const headers = {
      ...request.headers,
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
    };
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
