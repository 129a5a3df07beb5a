import { randomInt } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:https";
import { join } from "node:path";
import { exportJWK, generateKeyPair, SignJWT } from "jose";
import { askFunction, documentedSetUp, type SetUpName } from "../../../docs/set-ups.ts";
import { makeAuthority, makeClient, makeServer, type PemPair } from "../../../hosts/client-certificates.ts";
import { withPrivateFiles } from "../../clients/private-files.ts";
import { checkout, cliPath } from "../../harness/cli.ts";
import { ServerProcess } from "../../servers/process.ts";
import { run } from "../../servers/run.ts";
import { temporaryFolder } from "../../servers/tools/folders.ts";

const PORT = 8443;
const LOGIN = `https://login.example.org:${PORT}/realms/company`;
const SPIFFE = "spiffe://example.org";

/** A folder where commands of docs/how-to/access-examples.md run as they are; its names lead to loopback. */
export class Place {
  readonly folder = temporaryFolder("set-up");
  readonly address: string;
  readonly #loginAddress: string;
  readonly #running: { stop(): Promise<unknown> }[] = [];
  #gateway: ServerProcess | undefined;

  constructor() {
    const network = `127.${randomInt(1, 255)}.${randomInt(0, 256)}`;
    this.address = `${network}.1`;
    this.#loginAddress = `${network}.2`;
  }

  file(name: string): string {
    return join(this.folder, name);
  }

  /** Certificates of servers and clients, the login of the company, and `clusterset-doh` as a command. */
  async prepare(name: SetUpName): Promise<void> {
    const config = readFileSync(join(checkout, "examples/security", `${name}.yaml`), "utf8");
    // On a busy machine it would count as overloaded, and reject pages and JSON.
    writeFileSync(this.file(`${name}.yaml`), `${config}\nlimits: { loopDelayMilliseconds: 0 }\n`);
    writeFileSync(this.file("clusterset-doh"), `#!/bin/sh\nexec '${process.execPath}' '${cliPath}' "$@"\n`, {
      mode: 0o755,
    });
    const [authority, clients, others] = await Promise.all(
      ["Servers", "Clients", "Others"].map((one) => makeAuthority(one)),
    );
    const host = "doh.example.org";
    const server = await makeServer(authority!, [host, `*.${host}`], [this.address]);
    writeFileSync(this.file("ca.crt"), authority!.cert);
    writeFileSync(this.file("clients-ca.crt"), clients!.cert);
    const client = (signer: PemPair, path: string) =>
      makeClient(signer, path, { uris: [`${SPIFFE}/${path}`] });
    this.#write("tls", server);
    this.#write("operator", await client(clients!, "operators"));
    this.#write("shop", await client(clients!, "ns/shop/sa/web"));
    this.#write("other", await client(clients!, "ns/shop/sa/webs"));
    this.#write("forged", await client(others!, "operators"));
    for (const cluster of ["east", "west"])
      this.#write(cluster, await client(clients!, `cluster/${cluster}`));
    await this.#startLogin(await makeServer(authority!, ["login.example.org"], []));
    for (const line of documentedSetUp(name).preparing) await this.run(line);
  }

  #write(name: string, { cert, key }: PemPair): void {
    writeFileSync(this.file(`${name}.crt`), cert);
    writeFileSync(this.file(`${name}.key`), key, { mode: 0o600 });
  }

  /** An issuer by OpenID Connect Discovery 1.0 section 4, with tokens of three people. */
  async #startLogin({ cert, key }: PemPair): Promise<void> {
    const { publicKey, privateKey } = await generateKeyPair("ES256");
    const jwks = { keys: [{ ...(await exportJWK(publicKey)), kid: "login", alg: "ES256" }] };
    const documents: Record<string, object> = {
      "/realms/company/.well-known/openid-configuration": { issuer: LOGIN, jwks_uri: `${LOGIN}/keys` },
      "/realms/company/keys": jwks,
    };
    const server = createServer({ cert, key }, ({ url }, response) => {
      const found = documents[url!];
      response.writeHead(found ? 200 : 404, { "content-type": "application/json" });
      response.end(JSON.stringify(found ?? {}));
    });
    await new Promise<void>((resolve, reject) => {
      server.once("error", reject).listen(PORT, this.#loginAddress, resolve);
    });
    this.#running.push({ stop: async () => server.close() });
    for (const [person, groups] of Object.entries({
      ada: ["staff", "platform"],
      ben: ["developers"],
      eve: ["sales"],
    })) {
      const token = new SignJWT({ groups, sub: person, iss: LOGIN, aud: "clusterset-doh" })
        .setProtectedHeader({ alg: "ES256", kid: "login" })
        .setExpirationTime("1h");
      writeFileSync(this.file(`${person}.jwt`), await token.sign(privateKey));
    }
  }

  /** What a command of the documentation prints; a failure is not an error. */
  run(line: string): Promise<string> {
    const { command, args } = this.#privately(`${askFunction()}\n{ ${line}\n} 2>&1 || true`);
    return run(command, args, { cwd: this.folder, env: this.#environment() });
  }

  /** Starts a gateway by the documentation's command, at the address of this place. */
  async serve(line: string): Promise<void> {
    const listening = `${line} --listen ${this.address}:${PORT}`;
    this.#gateway = await this.start("gateway", listening, async () =>
      (await this.run("curl -sS --cacert ca.crt https://doh.example.org:8443/healthz")).includes("ok"),
    );
  }

  get gatewayLog(): string {
    return this.#gateway!.log();
  }

  async start(name: string, line: string, ready = async () => true): Promise<ServerProcess> {
    const started = await ServerProcess.start({
      name,
      ...this.#privately(`exec ${line}`),
      folder: this.folder,
      env: this.#environment(),
      ready,
    });
    // `unshare` passes on no signal: what runs in its namespaces ends with it.
    this.#running.push({ stop: () => started.kill() });
    return started;
  }

  async stop(): Promise<void> {
    await Promise.all(this.#running.map((one) => one.stop()));
  }

  #environment(): Record<string, string> {
    return { PATH: `${this.folder}:${process.env.PATH}` };
  }

  #privately(script: string) {
    const hosts = `127.0.0.1 localhost\n${this.address} doh.example.org\n${this.#loginAddress} login.example.org\n`;
    return withPrivateFiles({
      command: "bash",
      args: ["-c", script],
      folder: this.folder,
      etc: { hosts },
    });
  }
}
