import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import type { Socket } from "node:net";
import type { TLSSocket } from "node:tls";
import {
  type AccessControl,
  type Admit,
  createAdmit,
  type KnownKinds,
  knownKinds,
  type RuleCredentials,
} from "../../../access/admission.ts";
import {
  type CertificateIdentity,
  type Client,
  type ClientAddress,
  createClientAddress,
  fitsCertificate,
} from "../../../access/client.ts";
import { CredentialMemory } from "../../../access/memory.ts";
import { type AccessRules, createAccessRules } from "../../../access/rule.ts";
import { isHostToken, isPathToken } from "../../../access/url-tokens.ts";
import { hostNamesOf, ruleCredentials } from "../../../assembly/credentials.ts";
import type { Token } from "../../../config/access.ts";
import { type AskingRule, publicScope } from "../../../config/access.ts";
import type { ServeConfig } from "../../../config/settings.ts";
import { UsageError } from "../../../config/values.ts";
import { loadTransferKey, readTokens } from "../files.ts";
import type { Logger } from "../process.ts";
import { IssuerKeys } from "./issuer-keys.ts";
import { identityOf, loadPushAuthority, loadTransferAuthority } from "./node-authority.ts";

type AdmissionConfig = Pick<ServeConfig, "access" | "clients" | "push">;

/** Admission on Node, whose files may change while the gateway runs. */
export class NodeAdmission implements AccessControl {
  readonly rules: AccessRules;
  readonly clientAddress: ClientAddress;
  readonly #config: AdmissionConfig;
  readonly #issuers = new Map<object, IssuerKeys>();
  #credentials: readonly RuleCredentials[] = [];
  #read = "";
  #admit!: Admit;

  private constructor(config: AdmissionConfig) {
    this.#config = config;
    this.clientAddress = createClientAddress(config.clients);
    this.rules = createAccessRules(publicScope(config.access), config.access.rules);
  }

  /**
   * @param onFailure called when an issuer's keys could not be fetched
   * @throws {UsageError} with the file that cannot be read or used
   */
  static async load(
    config: AdmissionConfig,
    onFailure: (url: string, error: unknown) => void,
  ): Promise<NodeAdmission> {
    const admission = new NodeAdmission(config);
    for (const { oidc = [] } of config.access.rules)
      for (const issued of oidc) admission.#issuers.set(issued, await IssuerKeys.load(issued, onFailure));
    await admission.refresh();
    return admission;
  }

  get kinds(): KnownKinds {
    return knownKinds(this.#credentials);
  }

  readonly admit: Admit = (request) => this.#admit(request);

  /** Whether an access rule names a certificate: then its holder may query, and nothing else. */
  isOfRule(identity: CertificateIdentity): boolean {
    return this.#config.access.rules.some(({ certificates = [] }) =>
      certificates.some((pattern) => fitsCertificate(pattern, identity)),
    );
  }

  /**
   * Reads the files again. If that fails, the values that were read last stay in force.
   * @returns whether tokens, passwords or keys changed
   * @throws {UsageError} with the file that cannot be read or used
   */
  async refresh(): Promise<boolean> {
    const { access, push } = this.#config;
    const rules = await Promise.all(access.rules.map(readFilesOf));
    const credentials = rules.map((rule) =>
      ruleCredentials(rule, (issued) => this.#issuers.get(issued)!.source),
    );
    let hasOtherKeys = false;
    for (const issuer of this.#issuers.values()) if (await issuer.refresh()) hasOtherKeys = true;
    const read = JSON.stringify(credentials.map(({ oidc: _, ...rest }) => rest));
    if (read === this.#read && !hasOtherKeys) return false;
    this.#read = read;
    this.#credentials = credentials;
    this.#admit = createAdmit({
      rules: this.rules,
      credentials,
      hostNames: hostNamesOf(access),
      publicHasTokens: push.credentials.length > 0,
      clientAddress: this.clientAddress,
      sha256: (bytes) => createHash("sha256").update(bytes).digest(),
      memory: new CredentialMemory(),
    });
    return true;
  }

  async close(): Promise<void> {
    await Promise.all([...this.#issuers.values()].map((keys) => keys.close()));
  }
}

/** A rule with the hashes of what its files hold. */
async function readFilesOf(rule: AskingRule): Promise<AskingRule> {
  const basic = rule.basic?.map(async ({ username, passwordSha256, passwordFile }) => ({
    username,
    passwordSha256: passwordSha256 ?? hashOf(await readPassword(passwordFile!)),
  }));
  return {
    ...rule,
    bearer: await readTokenFiles(rule.bearer),
    basic: basic && (await Promise.all(basic)),
    pathTokens: await readTokenFiles(rule.pathTokens, isPathToken, "a path: letters, digits and - . _ ~"),
    hostTokens: await readTokenFiles(
      rule.hostTokens,
      isHostToken,
      "a host name (clusterset-doh token --host-name)",
    ),
  };
}

/** @throws {UsageError} if a file's token cannot be used at its place */
async function readTokenFiles(
  tokens: readonly Token[] | undefined,
  fits: (token: string) => boolean = () => true,
  place = "",
): Promise<Token[] | undefined> {
  const hashes = tokens?.map(async ({ tokenSha256, tokenFile }) => {
    if (tokenSha256 !== undefined) return [{ tokenSha256 }];
    const read = await readTokens(tokenFile!);
    if (!read.every(fits)) throw new UsageError(`the token in ${tokenFile} cannot stand in ${place}`);
    return read.map((token) => ({ tokenSha256: hashOf(token) }));
  });
  return hashes && (await Promise.all(hashes)).flat();
}

/** The first line of a password file; spaces count. @throws {UsageError} if it is empty, or if no client can send it (RFC 7617 section 2) */
async function readPassword(file: string): Promise<string> {
  let text: string;
  try {
    text = await readFile(file, "utf8");
  } catch (error) {
    throw new UsageError(`cannot read the password file: ${(error as Error).message}`);
  }
  const password = text.replace(/\r?\n$/, "").normalize("NFC");
  if (password === "")
    throw new UsageError(`the password file ${file} is empty: clusterset-doh token > ${file}`);
  if (/\p{Cc}/u.test(password))
    throw new UsageError(`the password file ${file} holds more than one line, or control characters`);
  return password;
}

function hashOf(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

/** The credentials of a gateway: of clusters that push, of secondaries, and of clients. @throws {UsageError} naming the file that cannot be read */
export async function loadAccess(config: ServeConfig, logger: Logger) {
  const onFailure = (url: string, error: unknown) =>
    logger.warn({ event: "keys-unavailable", url, err: error }, "the keys of an issuer could not be fetched");
  const pushing = await loadPushAuthority(config, onFailure);
  const secondaries = await loadTransferAuthority(config);
  const { keyFile } = config.transfer;
  const transferKey = keyFile === undefined ? undefined : await loadTransferKey(keyFile);
  const admission = await NodeAdmission.load(config, onFailure);
  if (config.push.credentials.length === 0)
    logger.warn({ event: "no-credentials" }, "no cluster may push: give push.credentials or --cluster-token");
  if (pushing.sharedToken !== undefined)
    logger.warn({ event: "shared-token" }, `push.credentials: ${pushing.sharedToken}`);
  return {
    pushing,
    secondaries,
    admission,
    /** The key that a primary signs with; undefined if none is configured. */
    transferKey,
    /** Reads files again. @returns whether something changed */
    refresh: async () => {
      const changed = await Promise.all([
        pushing.refresh(),
        secondaries.refresh(),
        admission.refresh(),
        transferKey?.refresh() ?? false,
      ]);
      return changed.includes(true);
    },
    close: async () => {
      await Promise.all([pushing.close(), admission.close()]);
    },
  };
}

/** The client of a request on Node; members are computed when they are read. */
export class NodeClient implements Client {
  readonly isOfConnection: boolean;
  readonly #socket: Socket;

  /** @param isOfConnection whether all requests of the connection have this object */
  constructor(socket: Socket, isOfConnection = false) {
    this.#socket = socket;
    this.isOfConnection = isOfConnection;
  }

  get address(): string | undefined {
    return this.#socket.remoteAddress;
  }

  get certificate(): "none" | "refused" | "verified" {
    const socket = this.#socket as Partial<TLSSocket>;
    // Node 20 calls a resumed TLS 1.3 session authorized even if its client never had a certificate.
    if (socket.getPeerX509Certificate?.() === undefined) return "none";
    return socket.authorized === true ? "verified" : "refused";
  }

  get certificateIdentity(): CertificateIdentity | undefined {
    if (this.certificate !== "verified") return undefined;
    const certificate = (this.#socket as TLSSocket).getPeerX509Certificate();
    return certificate === undefined ? undefined : identityOf(certificate);
  }
}
