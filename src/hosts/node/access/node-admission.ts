import { createHash } from "node:crypto";
import { type AccessControl, createAdmit, knownKinds } from "../../../access/admission.ts";
import { type CertificateIdentity, createClientAddress, fitsCertificate } from "../../../access/client.ts";
import { CredentialMemory } from "../../../access/memory.ts";
import { createAccessRules } from "../../../access/rule.ts";
import { isHostToken, isPathToken } from "../../../access/url-tokens.ts";
import { ruleCredentials } from "../../../assembly/credentials.ts";
import { publicScope, type RuleSettings, type Token } from "../../../config/access.ts";
import type { ServeConfig } from "../../../config/settings.ts";
import { canonical, UsageError } from "../../../config/values.ts";
import { readText, readTokens, type WatchedFiles, watchTransferKey } from "../files.ts";
import type { Logger } from "../process.ts";
import { type Issuers, loadAuthority, loadPushAuthority, openIssuers } from "./node-authority.ts";

/**
 * Admission on Node, whose files may change while the gateway runs.
 * @throws {UsageError} with the file that cannot be read or used
 */
export async function loadAdmission(
  { access, clients, push }: Pick<ServeConfig, "access" | "clients" | "push">,
  files: WatchedFiles,
  issuers: Issuers,
) {
  const clientAddress = createClientAddress(clients);
  const rules = createAccessRules(publicScope(access), access.rules);
  const rulesNow = await files.watchEach(access.rules, readFilesOf);
  const control = {
    rules,
    clientAddress,
    /** Whether an access rule names a certificate: then its holder may query, and nothing else. */
    isOfRule: (identity: CertificateIdentity) =>
      access.rules.some(({ certificates = [] }) =>
        certificates.some((pattern) => fitsCertificate(pattern, identity)),
      ),
  };
  const current = await files.watch(
    // With other keys of an issuer, tokens that the old ones verified are not remembered.
    async () => ({ held: rulesNow(), keys: issuers.current() }),
    ({ held }) => {
      const credentials = held.map((rule) => ruleCredentials(rule, issuers.keysOf));
      const admit = createAdmit({
        rules,
        credentials,
        hostNames: access.hostNames.map(canonical),
        publicHasTokens: push.credentials.length > 0,
        clientAddress,
        sha256: (bytes) => createHash("sha256").update(bytes).digest(),
        memory: new CredentialMemory(),
      });
      // The application keeps this object, so it admits by what the files hold now.
      return Object.assign(control, { admit, kinds: knownKinds(credentials) });
    },
  );
  return current() satisfies AccessControl;
}

/** A rule with the hashes of what its files hold. */
async function readFilesOf(rule: RuleSettings): Promise<RuleSettings> {
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

/**
 * The first line of a password file; spaces count.
 * @throws {UsageError} if it is empty, or if no client can send it (RFC 7617 section 2)
 */
async function readPassword(file: string): Promise<string> {
  const text = await readText(file, "the password file");
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

/**
 * The credentials of a gateway: of clusters that push, of secondaries, and of clients.
 * @throws {UsageError} naming the file that cannot be read
 */
export async function loadAccess(config: ServeConfig, files: WatchedFiles, logger: Logger) {
  const { push, transfer, access } = config;
  const issued = [...push.credentials, ...access.rules].flatMap(({ oidc = [] }) => oidc);
  const issuers = await openIssuers(issued, files, (url, err) =>
    logger.warn({ event: "keys-unavailable", url, err }, "the keys of an issuer could not be fetched"),
  );
  const pushing = await loadPushAuthority(config, files, issuers);
  const secondaries = await loadAuthority(transfer.credentials, "transfer.credentials", files, issuers);
  const { keyFile } = transfer;
  const transferKey = keyFile === undefined ? undefined : await watchTransferKey(keyFile, files);
  const admission = await loadAdmission(config, files, issuers);
  if (push.credentials.length === 0)
    logger.warn({ event: "no-credentials" }, "no cluster may push: give push.credentials or --cluster-token");
  if (pushing.sharedToken !== undefined)
    logger.warn({ event: "shared-token" }, `push.credentials: ${pushing.sharedToken}`);
  return {
    pushing,
    secondaries,
    admission,
    /** The key that a primary signs with; undefined if none is configured. */
    transferKey,
    close: issuers.close,
  };
}
