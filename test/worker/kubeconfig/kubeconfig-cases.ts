import type { ApiServers, SeenRequest } from "./api-servers.ts";

/** A kubeconfig, and what kubectl and the worker send with it. */
export interface KubeconfigCase {
  readonly title: string;
  /** Files of a folder by name. A name that ends with `.sh` is executable. */
  files(servers: ApiServers): Readonly<Record<string, string | object>>;
  /** Of the environment: names of files of the folder, joined by `:`; by default `k1.yaml`, where that is one. An empty one stays empty. */
  readonly KUBECONFIG?: string;
  /** Other variables of the environment. */
  environment?(servers: ApiServers): Readonly<Record<string, string>>;
  readonly flags?: { readonly kubeconfig?: string; readonly context?: string };
  /** Whether a pod's service account is there, of server two. The oracle cannot have one. */
  readonly inPod?: boolean;
  /** What the server sees, or the message of the worker. */
  readonly expected: (Omit<SeenRequest, "path"> & { readonly path?: string }) | RegExp;
  /** What a plugin that writes `info.json` is told. */
  readonly info?: (servers: ApiServers) => object;
  /** Where kubectl differs: it asks for a name and a password, and fails without a terminal; or it falls back to localhost:8080. */
  readonly kubectl?: "fails";
}

interface Part {
  readonly name?: string;
  readonly cluster?: object | null;
  readonly user?: object | null;
  readonly current?: string | undefined;
}

/** A kubeconfig with one context, cluster and user of a name. */
function config({ name = "one", cluster = null, user = null, ...rest }: Part): object {
  const current = "current" in rest ? rest.current : name;
  return {
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name, cluster }],
    users: [{ name: `${name}-user`, user }],
    contexts: [{ name, context: { cluster: name, user: `${name}-user` } }],
    "current-context": current,
  };
}

const ca = { "certificate-authority": "api.crt" };
const one = ({ one }: ApiServers, user: object | null = { token: "t1" }) =>
  config({ cluster: { server: one, ...ca }, user });
const two = ({ two }: ApiServers, user: object = { token: "t2" }) =>
  config({ name: "two", cluster: { server: two, ...ca }, user });
const V1 = "client.authentication.k8s.io/v1";
const exec = (more: object = {}) => ({
  exec: { apiVersion: V1, command: "./plugin.sh", interactiveMode: "Never", ...more },
});
const prints = (text: string) => `#!/bin/sh\ncat <<'END'\n${text}\nEND\n`;
/** A plugin in shell that returns this status. */
const plugin = (status: object, apiVersion = V1) =>
  prints(JSON.stringify({ apiVersion, kind: "ExecCredential", status }));
const TOKEN_PLUGIN = plugin({ token: "from-plugin" });
const seen = (authorization?: string, server = "one") => ({
  server,
  ...(authorization !== undefined && { authorization }),
});

/** Variables whose values are proxies by name, or text. */
const proxiesIn = (servers: ApiServers, variables: Readonly<Record<string, string>>) =>
  Object.fromEntries(
    Object.entries(variables).map(([name, value]) => {
      const proxy = servers[value as "httpProxy" | "socksProxy"] as unknown;
      return [name, typeof proxy === "string" ? proxy : value];
    }),
  );

/** A case of which `k1.yaml` is the only kubeconfig unless `more` says otherwise. */
const row = (
  title: string,
  files: KubeconfigCase["files"],
  expected: KubeconfigCase["expected"],
  more: Partial<KubeconfigCase> = {},
): KubeconfigCase => ({ title, files, expected, ...more });

export const KUBECONFIG_CASES: readonly KubeconfigCase[] = [
  // Which file, context and cluster.
  row(
    "of two files the first one that has a current-context sets it",
    (servers) => ({ "k1.yaml": one(servers), "k2.yaml": two(servers) }),
    seen("Bearer t1"),
    { KUBECONFIG: "k1.yaml:k2.yaml" },
  ),
  row(
    "a later file sets the current-context where the first one has none",
    (servers) => ({ "k1.yaml": { ...one(servers), "current-context": "" }, "k2.yaml": two(servers) }),
    seen("Bearer t2", "two"),
    { KUBECONFIG: "k1.yaml:k2.yaml" },
  ),
  row(
    "a context of the second file may name a cluster and a user of the first one",
    (servers) => ({
      "k1.yaml": { ...one(servers), contexts: null, "current-context": null },
      "k2.yaml": {
        contexts: [{ name: "x", context: { cluster: "one", user: "one-user" } }],
        "current-context": "x",
      },
    }),
    seen("Bearer t1"),
    { KUBECONFIG: "k1.yaml:k2.yaml" },
  ),
  row(
    "the first file with a cluster, a context or a user of a name sets all of it",
    (servers) => ({
      "k1.yaml": config({
        cluster: { server: servers.one, "insecure-skip-tls-verify": true },
        user: { token: "t1" },
      }),
      "k2.yaml": config({
        cluster: { server: servers.two, ...ca, "tls-server-name": "api.test" },
        user: { token: "t2", as: "admin" },
      }),
    }),
    seen("Bearer t1"),
    { KUBECONFIG: "k1.yaml:k2.yaml" },
  ),
  row(
    "missing and empty files, empty entries and duplicates do not count",
    (servers) => ({ "k1.yaml": one(servers), "empty.yaml": "", "comment.yaml": "# nothing\n" }),
    seen("Bearer t1"),
    { KUBECONFIG: ":missing.yaml:empty.yaml:comment.yaml::k1.yaml:k1.yaml:" },
  ),
  row(
    "--kubeconfig counts alone",
    (servers) => ({ "k1.yaml": one(servers), "k2.yaml": two(servers) }),
    seen("Bearer t2", "two"),
    { flags: { kubeconfig: "k2.yaml" } },
  ),
  row(
    "--context counts before current-context, over all files",
    (servers) => ({ "k1.yaml": one(servers), "k2.yaml": two(servers) }),
    seen("Bearer t2", "two"),
    { KUBECONFIG: "k1.yaml:k2.yaml", flags: { context: "two" } },
  ),
  row(
    "without KUBECONFIG ~/.kube/config counts",
    (servers) => ({ ".kube/config": two(servers), ".kube/api.crt": servers.authority }),
    seen("Bearer t2", "two"),
  ),
  row(
    "of several documents the first one counts",
    (servers) => ({
      "k1.yaml": `---\n${JSON.stringify(one(servers))}\n---\n${JSON.stringify(two(servers))}\n`,
    }),
    seen("Bearer t1"),
  ),
  row(
    "YAML is that of version 1.1",
    ({ one }) => ({
      "k1.yaml": `clusters: [{name: one, cluster: {server: "${one}", insecure-skip-tls-verify: yes}}]\nusers: [{name: u, user: {token: t1}}]\ncontexts: [{name: one, context: {cluster: one, user: u}}]\ncurrent-context: one\n`,
    }),
    seen("Bearer t1"),
  ),
  row(
    "a pod's service account counts where no file has anything",
    (servers) => ({ "k1.yaml": "", token: "pod-token\n", "ca.crt": servers.authority }),
    seen("Bearer pod-token", "two"),
    { KUBECONFIG: "k1.yaml:missing.yaml", inPod: true },
  ),
  row(
    "a kubeconfig counts in a pod, too",
    (servers) => ({ "k1.yaml": one(servers), token: "pod-token" }),
    seen("Bearer t1"),
    { inPod: true },
  ),
  row(
    "files that all are missing are named",
    () => ({}),
    /no kubeconfig: .*a\.yaml, .*b\.yaml does not exist/,
    { KUBECONFIG: "a.yaml:b.yaml" },
  ),
  row(
    "a missing --kubeconfig is an error",
    (servers) => ({ "k1.yaml": one(servers) }),
    /missing\.yaml does not exist/,
    { flags: { kubeconfig: "missing.yaml" } },
  ),
  row(
    "a broken file is an error although another one is whole",
    (servers) => ({ "k1.yaml": one(servers), "k2.yaml": "clusters: [" }),
    /k2\.yaml is not YAML: line 1/,
    { KUBECONFIG: "k1.yaml:k2.yaml" },
  ),
  row(
    "a field of another type is an error",
    (servers) => ({ "k1.yaml": one(servers, { token: 1234 }) }),
    /k1\.yaml is malformed: users\.0\.user\.token: .*string/,
  ),
  row(
    "a file of another kind is an error",
    () => ({ "k1.yaml": { apiVersion: "v1", kind: "Pod" } }),
    /k1\.yaml is malformed: kind/,
  ),
  row(
    "a name that a file has twice is an error",
    ({ one, two }) => ({
      "k1.yaml": {
        ...config({ user: { token: "t1" } }),
        clusters: [
          { name: "one", cluster: { server: one } },
          { name: "one", cluster: { server: two } },
        ],
      },
    }),
    /k1\.yaml has "one" twice in clusters/,
  ),
  row(
    "an unknown --context is an error that names the known ones",
    (servers) => ({ "k1.yaml": one(servers), "k2.yaml": two(servers) }),
    /no context "three"; its contexts are: one, two/,
    { KUBECONFIG: "k1.yaml:k2.yaml", flags: { context: "three" } },
  ),
  row(
    "a current-context that is not there is an error",
    (servers) => ({ "k1.yaml": { ...one(servers), "current-context": "gone" } }),
    /no context "gone"; its contexts are: one/,
  ),
  row(
    "files without a chosen context are an error, also in a pod",
    (servers) => ({ "k1.yaml": { ...one(servers), "current-context": "" }, token: "pod-token" }),
    /no current-context: name one \(--context\); its contexts are: one/,
    { inPod: true },
  ),
  row(
    "a context without its cluster is an error, also in a pod",
    (servers) => ({ "k1.yaml": { ...one(servers), clusters: [] }, token: "pod-token" }),
    /context "one" names the cluster "one", which .*k1\.yaml does not have/,
    { inPod: true },
  ),
  row(
    "a context without its user is an error",
    (servers) => ({ "k1.yaml": { ...one(servers), users: [] } }),
    /context "one" names the user "one-user", which .*k1\.yaml does not have/,
  ),
  // The API server.
  row(
    "http is fine, and gets no credential",
    ({ plain }) => ({ "k1.yaml": config({ cluster: { server: plain }, user: { token: "t1" } }) }),
    seen(undefined, "plain"),
  ),
  row(
    "http needs no user, and runs no plugin",
    ({ plain }) => ({
      "k1.yaml": config({ cluster: { server: plain }, user: exec({ command: "./missing.sh" }) }),
    }),
    seen(undefined, "plain"),
  ),
  row(
    "a server without a scheme is http",
    ({ plain }) => ({
      "k1.yaml": config({ cluster: { server: plain.replace("http://", "") }, user: { token: "t1" } }),
    }),
    seen(undefined, "plain"),
  ),
  row(
    "tls-server-name is sent and checked instead of the address",
    ({ one }) => ({
      "k1.yaml": config({
        cluster: { server: one, ...ca, "tls-server-name": "api.test" },
        user: { token: "t1" },
      }),
    }),
    { ...seen("Bearer t1"), sni: "api.test" },
  ),
  row(
    "the name of the server is sent",
    ({ one }) => ({
      "k1.yaml": config({
        cluster: { server: one.replace("127.0.0.1", "localhost"), ...ca },
        user: { token: "t1" },
      }),
    }),
    { ...seen("Bearer t1"), sni: "localhost" },
  ),
  row(
    "certificate-authority is relative to its kubeconfig",
    (servers) => ({ "a/k1.yaml": one(servers), "a/api.crt": servers.authority, "api.crt": "" }),
    seen("Bearer t1"),
    { KUBECONFIG: "a/k1.yaml" },
  ),
  row(
    "certificate-authority-data is base64",
    ({ one, authority }) => ({
      "k1.yaml": config({
        cluster: { server: one, "certificate-authority-data": Buffer.from(authority).toString("base64") },
        user: { token: "t1" },
      }),
    }),
    seen("Bearer t1"),
  ),
  row(
    "without an authority that of the system counts",
    ({ one }) => ({ "k1.yaml": config({ cluster: { server: one }, user: { token: "t1" } }) }),
    /certificate/,
  ),
  row(
    "an authority that is not PEM is an error",
    (servers) => ({ "k1.yaml": one(servers), "api.crt": "nothing" }),
    /certificate-authority .*api\.crt .*is not PEM/,
  ),
  row(
    "an authority beside insecure-skip-tls-verify is an error",
    ({ one }) => ({
      "k1.yaml": config({
        cluster: { server: one, ...ca, "insecure-skip-tls-verify": true },
        user: { token: "t1" },
      }),
    }),
    /insecure-skip-tls-verify and a certificate authority exclude each other/,
  ),
  ...(["httpProxy", "httpsProxy", "socksProxy"] as const).flatMap((proxy): KubeconfigCase[] => [
    row(
      `proxy-url counts: ${proxy}, which alone knows the server's name`,
      (servers) => ({
        "k1.yaml": config({
          cluster: {
            server: servers.one.replace("127.0.0.1", "api.internal"),
            ...ca,
            "tls-server-name": proxy === "httpsProxy" ? "localhost" : "api.test",
            "proxy-url": servers[proxy].replace("127.0.0.1", "localhost"),
          },
          user: { token: "t1" },
        }),
      }),
      {
        ...seen("Bearer t1"),
        sni: proxy === "httpsProxy" ? "localhost" : "api.test",
        through: proxy.replace("Proxy", ""),
      },
    ),
    row(
      `proxy-url may have credentials: ${proxy}, to an address`,
      (servers) => ({
        "k1.yaml": config({
          cluster: { server: servers.one, ...ca, "proxy-url": servers[proxy].replace("//", "//me:p%20w@") },
          user: { token: "t1" },
        }),
      }),
      { ...seen("Bearer t1"), through: `${proxy.replace("Proxy", "")} as me:p w` },
    ),
    // The authority of a proxy is that of the server, which http has none of.
    row(
      `proxy-url counts for http, too: ${proxy}`,
      (servers) => ({
        "k1.yaml": config({
          cluster: {
            server: servers.plain,
            "insecure-skip-tls-verify": proxy === "httpsProxy",
            "proxy-url": servers[proxy],
          },
        }),
      }),
      proxy === "httpsProxy"
        ? /certificate/
        : { ...seen(undefined, "plain"), through: proxy.replace("Proxy", "") },
    ),
  ]),
  ...(
    [
      ["HTTPS_PROXY counts for https", { HTTPS_PROXY: "httpProxy" }, "http"],
      ["https_proxy counts for https", { https_proxy: "socksProxy" }, "socks"],
      [
        "HTTPS_PROXY counts before https_proxy",
        { https_proxy: "socksProxy", HTTPS_PROXY: "httpProxy" },
        "http",
      ],
      ["HTTP_PROXY does not count for https", { HTTP_PROXY: "httpProxy" }, undefined],
      [
        "NO_PROXY has the host's domain",
        { HTTPS_PROXY: "httpProxy", NO_PROXY: "a.test, internal" },
        undefined,
      ],
      [
        "NO_PROXY has another domain",
        { HTTPS_PROXY: "httpProxy", NO_PROXY: "nternal,.api.internal" },
        "http",
      ],
      ["no_proxy has another port", { HTTPS_PROXY: "httpProxy", no_proxy: "api.internal:1" }, "http"],
      ["NO_PROXY is *", { HTTPS_PROXY: "httpProxy", NO_PROXY: "*" }, undefined],
    ] as const
  ).map(
    ([title, variables, through]): KubeconfigCase =>
      row(
        `${title}: ${through === undefined ? "api.internal, which a proxy alone knows, is not reached" : "a server that the proxy alone knows"}`,
        ({ one }) => ({
          "k1.yaml": config({
            cluster: {
              server: one.replace("127.0.0.1", "api.internal"),
              ...ca,
              "tls-server-name": "api.test",
            },
            user: { token: "t1" },
          }),
        }),
        through === undefined ? /ENOTFOUND|EAI_AGAIN/ : { ...seen("Bearer t1"), sni: "api.test", through },
        { environment: (servers) => proxiesIn(servers, variables) },
      ),
  ),
  row(
    "a proxy of the environment is not for this machine",
    (servers) => ({ "k1.yaml": one(servers) }),
    seen("Bearer t1"),
    {
      environment: (servers) => proxiesIn(servers, { HTTPS_PROXY: "httpProxy" }),
    },
  ),
  row(
    "proxy-url counts before HTTPS_PROXY",
    (servers) => ({
      "k1.yaml": config({
        cluster: {
          server: servers.one.replace("127.0.0.1", "api.internal"),
          ...ca,
          "tls-server-name": "api.test",
          "proxy-url": servers.socksProxy,
        },
        user: { token: "t1" },
      }),
    }),
    { ...seen("Bearer t1"), sni: "api.test", through: "socks" },
    { environment: (servers) => proxiesIn(servers, { HTTPS_PROXY: "httpProxy" }) },
  ),
  row(
    "another scheme of proxy-url is an error",
    ({ one }) => ({
      "k1.yaml": config({
        cluster: { server: one, ...ca, "proxy-url": "socks4://127.0.0.1" },
        user: { token: "t1" },
      }),
    }),
    /proxy-url must be an http, https or socks5 URL/,
  ),
  // Credentials.
  row(
    "tokenFile is relative to its kubeconfig, and its content is trimmed",
    (servers) => ({
      "a/k1.yaml": one(servers, { tokenFile: "sa/token" }),
      "a/sa/token": "from-file\n",
      "a/api.crt": servers.authority,
    }),
    seen("Bearer from-file"),
    { KUBECONFIG: "a/k1.yaml" },
  ),
  row(
    "a tokenFile counts before a token",
    (servers) => ({
      "k1.yaml": one(servers, { token: "inline", tokenFile: "token" }),
      token: "from-file",
    }),
    seen("Bearer from-file"),
  ),
  row(
    "a token counts where its tokenFile cannot be read",
    (servers) => ({ "k1.yaml": one(servers, { token: "inline", tokenFile: "missing" }) }),
    seen("Bearer inline"),
  ),
  row(
    "a missing tokenFile is an error",
    (servers) => ({ "k1.yaml": one(servers, { tokenFile: "missing" }) }),
    /tokenFile .*missing .*ENOENT/,
  ),
  row(
    "user and password",
    (servers) => ({ "k1.yaml": one(servers, { username: "me", password: "pass word" }) }),
    seen(`Basic ${Buffer.from("me:pass word").toString("base64")}`),
  ),
  row(
    "a token beside a password is an error",
    (servers) => ({ "k1.yaml": one(servers, { token: "t1", username: "me", password: "p" }) }),
    /a token and a password exclude each other/,
  ),
  row(
    "client certificate and key are relative to their kubeconfig",
    (servers) => ({
      "a/k1.yaml": one(servers, { "client-certificate": "../me.crt", "client-key": "me.key" }),
      "a/api.crt": servers.authority,
      "me.crt": servers.client.cert,
      "a/me.key": servers.client.key,
    }),
    { ...seen(), certificate: "worker" },
    { KUBECONFIG: "a/k1.yaml" },
  ),
  row(
    "client certificate and key as base64, beside a token",
    (servers) => ({
      "k1.yaml": one(servers, {
        token: "t1",
        "client-certificate-data": Buffer.from(servers.client.cert).toString("base64"),
        "client-key-data": Buffer.from(servers.client.key).toString("base64"),
      }),
    }),
    { ...seen("Bearer t1"), certificate: "worker" },
  ),
  row(
    "a client certificate without its key is an error",
    (servers) => ({
      "k1.yaml": one(servers, { "client-certificate": "me.crt" }),
      "me.crt": servers.client.cert,
    }),
    /the client certificate has no client-key/,
  ),
  row(
    "a client certificate as file and as data is an error",
    (servers) => ({
      "k1.yaml": one(servers, {
        "client-certificate": "me.crt",
        "client-certificate-data": Buffer.from(servers.client.cert).toString("base64"),
        "client-key": "me.key",
      }),
      "me.crt": servers.client.cert,
      "me.key": servers.client.key,
    }),
    /client-certificate and client-certificate-data exclude each other/,
  ),
  row(
    "impersonation",
    (servers) => ({
      "k1.yaml": one(servers, {
        token: "t1",
        as: "system:serviceaccount:a:b",
        "as-uid": "42",
        "as-groups": ["system:authenticated", "b, c"],
        "as-user-extra": { scopes: ["view", "edit"], "example.com/x%": ["1"] },
      }),
    }),
    {
      ...seen("Bearer t1"),
      impersonate: [
        "impersonate-extra-example.com%2fx%25: 1",
        "impersonate-extra-scopes: edit",
        "impersonate-extra-scopes: view",
        "impersonate-group: b, c",
        "impersonate-group: system:authenticated",
        "impersonate-uid: 42",
        "impersonate-user: system:serviceaccount:a:b",
      ],
    },
  ),
  row(
    "impersonated groups without a user are an error",
    (servers) => ({ "k1.yaml": one(servers, { token: "t1", "as-groups": ["a"] }) }),
    /as-uid, as-groups and as-user-extra need as/,
  ),
  ...["gcp", "azure", "openstack"].map(
    (name): KubeconfigCase =>
      row(
        `the auth-provider ${name} is an error with the way out`,
        (servers) => ({
          "k1.yaml": one(servers, { "auth-provider": { name, config: { "access-token": "t" } } }),
        }),
        new RegExp(`auth-provider "${name}" is not supported: use a credential plugin`),
      ),
  ),
  row(
    "the auth-provider oidc is an error here",
    (servers) => ({
      "k1.yaml": one(servers, {
        "auth-provider": {
          name: "oidc",
          config: { "idp-issuer-url": "https://idp.test", "client-id": "c", "id-token": "x" },
        },
      }),
    }),
    /auth-provider "oidc" is not supported: use a credential plugin \(exec, such as kubectl oidc-login\)/,
  ),
  // Credential plugins.
  row(
    "a plugin with a slash is relative to its kubeconfig",
    (servers) => ({
      "a/k1.yaml": one(servers, exec()),
      "a/plugin.sh": TOKEN_PLUGIN,
      "a/api.crt": servers.authority,
    }),
    seen("Bearer from-plugin"),
    { KUBECONFIG: "a/k1.yaml" },
  ),
  row(
    "a plugin of v1beta1 needs no interactiveMode",
    (servers) => ({
      "k1.yaml": one(servers, { exec: { apiVersion: `${V1}beta1`, command: "./plugin.sh" } }),
      "plugin.sh": plugin({ token: "beta" }, `${V1}beta1`),
    }),
    seen("Bearer beta"),
  ),
  row(
    "a plugin gets arguments, variables, and the cluster if it wants to know",
    ({ one, authority, httpProxy }) => ({
      "k1.yaml": config({
        cluster: {
          server: one,
          ...ca,
          "tls-server-name": "api.test",
          "proxy-url": httpProxy,
          extensions: [
            { name: "other", extension: { no: true } },
            { name: "client.authentication.k8s.io/exec", extension: { audience: "x" } },
          ],
        },
        user: exec({ args: ["a b"], env: [{ name: "SECRET", value: "s" }], provideClusterInfo: true }),
      }),
      "api.crt": authority,
      "plugin.sh": `#!/bin/sh
printf '{"apiVersion":"${V1}","kind":"ExecCredential","status":{"token":"%s"}}' \
"$1.$SECRET"
printf %s "$KUBERNETES_EXEC_INFO" > "$(dirname "$0")/info.json"
`,
    }),
    { ...seen("Bearer a b.s"), sni: "api.test", through: "http" },
    {
      info: ({ one, authority, httpProxy }) => ({
        kind: "ExecCredential",
        apiVersion: V1,
        spec: {
          cluster: {
            server: one,
            "tls-server-name": "api.test",
            "certificate-authority-data": Buffer.from(authority).toString("base64"),
            "proxy-url": httpProxy,
            config: { audience: "x" },
          },
          interactive: false,
        },
      }),
    },
  ),
  row(
    "a plugin's client certificate",
    (servers) => ({
      "k1.yaml": one(servers, exec()),
      "plugin.sh": plugin({
        clientCertificateData: servers.client.cert,
        clientKeyData: servers.client.key,
      }),
    }),
    { ...seen(), certificate: "worker" },
  ),
  row(
    "a plugin may write YAML",
    (servers) => ({
      "k1.yaml": one(servers, exec()),
      "plugin.sh": prints(`apiVersion: ${V1}\nkind: ExecCredential\nstatus: {token: yaml}`),
    }),
    seen("Bearer yaml"),
  ),
  row(
    "a plugin does not run beside a token",
    (servers) => ({ "k1.yaml": one(servers, { token: "t1", ...exec({ command: "./missing.sh" }) }) }),
    seen("Bearer t1"),
  ),
  row(
    "a plugin that is not installed is an error with its hint",
    (servers) => ({
      "k1.yaml": one(servers, exec({ command: "no-such-plugin", installHint: "brew install \u001b[1mit" })),
    }),
    /the credential plugin no-such-plugin of user "one-user" of .*k1\.yaml is not installed\. brew install \[1mit/,
  ),
  row(
    "a plugin that fails is an error with what it said",
    (servers) => ({
      "k1.yaml": one(servers, exec()),
      "plugin.sh": "#!/bin/sh\necho log in first >&2\nexit 3\n",
    }),
    /plugin\.sh of user .* failed with exit code 3: log in first/,
  ),
  row(
    "a plugin of another version is an error",
    (servers) => ({
      "k1.yaml": one(servers, exec()),
      "plugin.sh": plugin({ token: "x" }, `${V1}beta1`),
    }),
    /plugin\.sh of user .* returned .*v1beta1.* instead of an ExecCredential of client\.authentication\.k8s\.io\/v1$/,
  ),
  row(
    "a plugin without a credential is an error",
    (servers) => ({ "k1.yaml": one(servers, exec()), "plugin.sh": plugin({}) }),
    /returned neither a token nor a client certificate/,
  ),
  row(
    "a plugin's certificate without its key is an error",
    (servers) => ({
      "k1.yaml": one(servers, exec()),
      "plugin.sh": plugin({ clientCertificateData: "x" }),
    }),
    /returned a client certificate without its key/,
  ),
  row(
    "a plugin that writes something else is an error that does not quote it",
    (servers) => ({ "k1.yaml": one(servers, exec()), "plugin.sh": "#!/bin/sh\necho secret-token\n" }),
    /^(?!.*secret-token).* returned something else than JSON/,
  ),
  row(
    "a plugin that must have a terminal is an error without one",
    (servers) => ({
      "k1.yaml": one(servers, exec({ interactiveMode: "Always" })),
      "plugin.sh": TOKEN_PLUGIN,
    }),
    /needs a terminal \(interactiveMode Always\), and the worker has none/,
  ),
  row(
    "a plugin of v1 needs an interactiveMode",
    (servers) => ({
      "k1.yaml": one(servers, exec({ interactiveMode: undefined })),
      "plugin.sh": TOKEN_PLUGIN,
    }),
    /exec\.interactiveMode must be Never, IfAvailable or Always/,
  ),
  row(
    "a plugin of v1alpha1 is an error",
    (servers) => ({
      "k1.yaml": one(servers, exec({ apiVersion: `${V1}alpha1` })),
      "plugin.sh": TOKEN_PLUGIN,
    }),
    /exec\.apiVersion "client\.authentication\.k8s\.io\/v1alpha1" is none of/,
  ),
  row(
    "a server may have a path; its query does not count",
    ({ one }) => ({
      "k1.yaml": config({ cluster: { server: `${one}/a/b/?x=1#f`, ...ca }, user: { token: "t1" } }),
    }),
    { ...seen("Bearer t1"), path: "/a/b/api" },
  ),
  row("a user without credentials sends none", (servers) => ({ "k1.yaml": one(servers, {}) }), seen(), {
    kubectl: "fails",
  }),
  row(
    "credentials in the server's URL are an error",
    (servers) => ({
      "k1.yaml": config({ cluster: { server: servers.one.replace("//", "//a:b@"), ...ca }, user: {} }),
    }),
    /without credentials/,
  ),
  row(
    "a plugin does not run beside a password",
    (servers) => ({
      "k1.yaml": one(servers, { username: "me", ...exec({ command: "./missing.sh" }) }),
    }),
    seen(`Basic ${Buffer.from("me:").toString("base64")}`),
  ),
  row(
    "a plugin does not run beside a client certificate",
    (servers) => ({
      "k1.yaml": one(servers, {
        "client-certificate": "me.crt",
        "client-key": "me.key",
        ...exec({ command: "./missing.sh" }),
      }),
      "me.crt": servers.client.cert,
      "me.key": servers.client.key,
    }),
    { ...seen(), certificate: "worker" },
  ),
  row(
    "an expired credential of a plugin is sent nevertheless",
    (servers) => ({
      "k1.yaml": one(servers, exec({ interactiveMode: "IfAvailable" })),
      "plugin.sh": plugin({ token: "expired", expirationTimestamp: "2001-01-01T00:00:00Z" }),
    }),
    seen("Bearer expired"),
  ),
  row(
    "an expiry of a plugin that is no time is an error",
    (servers) => ({
      "k1.yaml": one(servers, exec()),
      "plugin.sh": plugin({ token: "expired", expirationTimestamp: "soon" }),
    }),
    /malformed status/,
  ),
  row(
    "a plugin that is not executable is an error",
    (servers) => ({ "k1.yaml": one(servers, exec({ command: "./plugin" })), plugin: TOKEN_PLUGIN }),
    /cannot be run/,
  ),
  row(
    "a folder in the place of a file is an error",
    (servers) => ({ "k1.yaml": one(servers), "dir/x": "" }),
    /dir cannot be read/,
    { KUBECONFIG: "k1.yaml:dir" },
  ),
  row(
    "an authority as file and as data is an error",
    (servers) => ({
      "k1.yaml": config({
        cluster: {
          server: servers.one,
          ...ca,
          "certificate-authority-data": Buffer.from(servers.authority).toString("base64"),
        },
        user: { token: "t1" },
      }),
    }),
    /certificate-authority and certificate-authority-data exclude each other/,
  ),
  row(
    "data that is not base64 is an error",
    (servers) => ({
      "k1.yaml": config({
        cluster: { server: servers.one, "certificate-authority-data": "-----BEGIN" },
        user: { token: "t1" },
      }),
    }),
    /certificate-authority-data: is not base64/,
  ),
  row(
    "a missing authority is an error",
    (servers) => ({
      "k1.yaml": config({
        cluster: { server: servers.one, "certificate-authority": "missing.crt" },
        user: { token: "t1" },
      }),
    }),
    /certificate-authority .*missing.crt.*ENOENT/,
  ),
  row(
    "unknown fields do not count, and of a key that is there twice the last one does",
    ({ one }) => ({
      "k1.yaml": `foo: 1\nclusters: [{name: one, cluster: {server: "https://nowhere.test", server: "${one}", insecure-skip-tls-verify: true, bar: x}}]\nusers: [{name: u, user: {token: t1}}]\ncontexts: [{name: one, context: {cluster: one, user: u}}]\ncurrent-context: one\n`,
    }),
    seen("Bearer t1"),
  ),
  row(
    "impersonation counts over http, too",
    ({ plain }) => ({
      "k1.yaml": config({ cluster: { server: plain }, user: { token: "t1", as: "me" } }),
    }),
    { ...seen(undefined, "plain"), impersonate: ["impersonate-user: me"] },
  ),
  row(
    "a context without a user sends no credential",
    (servers) => ({
      "k1.yaml": { ...one(servers), contexts: [{ name: "one", context: { cluster: "one" } }] },
    }),
    seen(),
    { kubectl: "fails" },
  ),
  row(
    "what another context needs may be wrong",
    (servers) => ({
      "k1.yaml": {
        ...one(servers),
        users: [
          { name: "one-user", user: { token: "t1" } },
          { name: "other", user: { "auth-provider": { name: "gcp" } } },
        ],
      },
    }),
    seen("Bearer t1"),
  ),
  row(
    "YAML's merge keys count",
    ({ one }) => ({
      "k1.yaml": `x: &a {insecure-skip-tls-verify: true}\nclusters: [{name: one, cluster: {<<: *a, server: "${one}"}}]\nusers: [{name: u, user: {token: t1}}]\ncontexts: [{name: one, context: {cluster: one, user: u}}]\ncurrent-context: one\n`,
    }),
    seen("Bearer t1"),
  ),
  row(
    "a file of blanks does not count",
    (servers) => ({ "k0.yaml": "   \n\n", "k1.yaml": one(servers) }),
    seen("Bearer t1"),
    { KUBECONFIG: "k0.yaml:k1.yaml" },
  ),
];
