import type { ApiServers, SeenRequest } from "./api-servers.ts";

/** A kubeconfig, and what kubectl and the worker send with it. */
export interface KubeconfigCase {
  readonly title: string;
  /** Files of a folder by name. A name that ends with `.sh` is executable. */
  files(servers: ApiServers): Readonly<Record<string, string | object>>;
  /**
   * Of the environment: names of files of the folder, joined by `:`; by default `k1.yaml`, where that is one.
   * An empty one stays empty.
   */
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
  /**
   * Where kubectl differs: it asks for a name and a password, and fails without a terminal; or it falls back
   * to localhost:8080.
   */
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
/**
 * The kubeconfig of server one in YAML.
 * @param contexts its contexts, of which `one` has the cluster `one` and the user `u`
 */
const inYaml = ({ one }: ApiServers, contexts: string) =>
  `clusters: [{name: one, cluster: {insecure-skip-tls-verify: true, server: "${one}"}}]\nusers: [{name: u, user: {token: t1}}]\n${contexts}\ncurrent-context: one\n`;
const V1 = "client.authentication.k8s.io/v1";
const exec = (more: object = {}) => ({
  exec: { apiVersion: V1, command: "./plugin.sh", interactiveMode: "Never", ...more },
});
const prints = (text: string) => `#!/bin/sh\ncat <<'END'\n${text}\nEND\n`;
/** A plugin in shell that returns this status. */
const plugin = (status: object, apiVersion = V1) =>
  prints(JSON.stringify({ apiVersion, kind: "ExecCredential", status }));
const TOKEN_PLUGIN = plugin({ token: "from-plugin" });
/** What `TOKEN_PLUGIN` prints. */
const STATUS = JSON.stringify({ apiVersion: V1, kind: "ExecCredential", status: { token: "from-plugin" } });
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

type Expected = KubeconfigCase["expected"];
type More = Partial<KubeconfigCase>;
const T1 = seen("Bearer t1");
const T2 = seen("Bearer t2", "two");

/** A case of the kubeconfigs of both servers. */
const both = (title: string, expected: Expected, more: More = {}) =>
  row(title, (servers) => ({ "k1.yaml": one(servers), "k2.yaml": two(servers) }), expected, {
    KUBECONFIG: "k1.yaml:k2.yaml",
    ...more,
  });

/** A case that differs in the user of server one. */
const ofUser = (title: string, user: object, expected: Expected, more: More = {}) =>
  row(title, (servers) => ({ "k1.yaml": one(servers, user) }), expected, more);

/** A case that differs in the cluster, for the user with the token t1. */
const ofCluster = (
  title: string,
  cluster: (servers: ApiServers) => object,
  expected: Expected,
  more: More = {},
  user: object | null = { token: "t1" },
) => row(title, (servers) => ({ "k1.yaml": config({ cluster: cluster(servers), user }) }), expected, more);

/** A case of a user whose client certificate and key are beside the kubeconfig. */
const ofCertificate = (title: string, user: object, expected: Expected) =>
  row(
    title,
    (servers) => ({
      "k1.yaml": one(servers, user),
      "me.crt": servers.client.cert,
      "me.key": servers.client.key,
    }),
    expected,
  );

/** A case of a credential plugin. @param more of its settings in the kubeconfig */
const ofPlugin = (title: string, script: string, expected: Expected, more: object = {}) =>
  row(title, (servers) => ({ "k1.yaml": one(servers, exec(more)), "plugin.sh": script }), expected);

const base64 = (text: string) => Buffer.from(text).toString("base64");
const CERTIFICATE = { "client-certificate": "me.crt", "client-key": "me.key" };
/** A server that only a proxy knows. */
const internal = ({ one }: ApiServers) => ({
  server: one.replace("127.0.0.1", "api.internal"),
  ...ca,
  "tls-server-name": "api.test",
});

export const KUBECONFIG_CASES: readonly KubeconfigCase[] = [
  // Which file, context and cluster.
  both("of two files the first one that has a current-context sets it", T1),
  row(
    "a later file sets the current-context where the first one has none",
    (servers) => ({ "k1.yaml": { ...one(servers), "current-context": "" }, "k2.yaml": two(servers) }),
    T2,
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
    T1,
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
    T1,
    { KUBECONFIG: "k1.yaml:k2.yaml" },
  ),
  row(
    "missing and empty files, files of blanks and comments, empty entries and duplicates do not count",
    (servers) => ({
      "k1.yaml": one(servers),
      "empty.yaml": "",
      "blank.yaml": "   \n\n",
      "comment.yaml": "# nothing\n",
    }),
    T1,
    { KUBECONFIG: ":missing.yaml:empty.yaml:blank.yaml:comment.yaml::k1.yaml:k1.yaml:" },
  ),
  both("--kubeconfig counts alone", T2, { KUBECONFIG: "k1.yaml", flags: { kubeconfig: "k2.yaml" } }),
  both("--context counts before current-context, over all files", T2, { flags: { context: "two" } }),
  row(
    "without KUBECONFIG ~/.kube/config counts",
    (servers) => ({ ".kube/config": two(servers), ".kube/api.crt": servers.authority }),
    T2,
  ),
  row(
    "of several documents the first one counts",
    (servers) => ({
      "k1.yaml": `---\n${JSON.stringify(one(servers))}\n---\n${JSON.stringify(two(servers))}\n`,
    }),
    T1,
  ),
  row(
    "YAML is that of version 1.1, and its merge keys count",
    ({ one }) => ({
      "k1.yaml": `x: &a {insecure-skip-tls-verify: yes}\nclusters: [{name: one, cluster: {<<: *a, server: "${one}"}}]\nusers: [{name: u, user: {token: t1}}]\ncontexts: [{name: one, context: {cluster: one, user: u}}]\ncurrent-context: one\n`,
    }),
    T1,
  ),
  row(
    "an anchor may have more than a hundred uses",
    (servers) => ({
      "k1.yaml": inYaml(
        servers,
        `contexts: [{name: one, context: &c {cluster: one, user: u}}${Array.from({ length: 150 }, (_, index) => `, {name: c${index}, context: *c}`).join("")}]`,
      ),
    }),
    T1,
  ),
  row(
    "an alias without its anchor is an error",
    (servers) => ({ "k1.yaml": inYaml(servers, "contexts: [{name: one, context: *gone}]") }),
    /k1\.yaml is not YAML: an alias has no anchor(?!.*gone)/,
  ),
  row(
    "a merge key of no mapping is an error",
    (servers) => ({
      "k1.yaml": inYaml(servers, "contexts: [{name: one, context: {<<: 5, cluster: one, user: u}}]"),
    }),
    /k1\.yaml is not YAML: .*a merge key has no mapping/,
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
    T1,
    { inPod: true },
  ),
  row(
    "files that all are missing are named",
    () => ({}),
    /no kubeconfig: .*a\.yaml, .*b\.yaml does not exist/,
    {
      KUBECONFIG: "a.yaml:b.yaml",
    },
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
  ofUser(
    "a field of another type is an error",
    { token: 1234 },
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
  both(
    "an unknown --context is an error that names the known ones",
    /no context "three"; its contexts are: one, two/,
    { flags: { context: "three" } },
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
  ofCluster(
    "http needs no user, gets no credential and runs no plugin",
    ({ plain }) => ({ server: plain }),
    seen(undefined, "plain"),
    {},
    exec({ command: "./missing.sh" }),
  ),
  ofCluster(
    "a server without a scheme is http, which gets no token",
    ({ plain }) => ({ server: plain.replace("http://", "") }),
    seen(undefined, "plain"),
  ),
  ofCluster(
    "tls-server-name is sent and checked instead of the address",
    ({ one }) => ({ server: one, ...ca, "tls-server-name": "api.test" }),
    { ...T1, sni: "api.test" },
  ),
  ofCluster(
    "the name of the server is sent",
    ({ one }) => ({ server: one.replace("127.0.0.1", "localhost"), ...ca }),
    { ...T1, sni: "localhost" },
  ),
  ofCluster(
    "certificate-authority-data is base64",
    ({ one, authority }) => ({ server: one, "certificate-authority-data": base64(authority) }),
    T1,
  ),
  ofCluster("without an authority that of the system counts", ({ one }) => ({ server: one }), /certificate/),
  row(
    "an authority that is not PEM is an error",
    (servers) => ({ "k1.yaml": one(servers), "api.crt": "nothing" }),
    /certificate-authority .*api\.crt .*is not PEM/,
  ),
  ofCluster(
    "an authority beside insecure-skip-tls-verify is an error",
    ({ one }) => ({ server: one, ...ca, "insecure-skip-tls-verify": true }),
    /insecure-skip-tls-verify and a certificate authority exclude each other/,
  ),
  ...(["httpProxy", "httpsProxy", "socksProxy"] as const).flatMap((proxy): KubeconfigCase[] => {
    const through = proxy.replace("Proxy", "");
    const sni = proxy === "httpsProxy" ? "localhost" : "api.test";
    return [
      ofCluster(
        `proxy-url counts: ${proxy}, which alone knows the server's name`,
        (servers) => ({
          ...internal(servers),
          "tls-server-name": sni,
          "proxy-url": servers[proxy].replace("127.0.0.1", "localhost"),
        }),
        { ...T1, sni, through },
      ),
      ofCluster(
        `proxy-url may have credentials: ${proxy}, to an address`,
        (servers) => ({
          server: servers.one,
          ...ca,
          "proxy-url": servers[proxy].replace("//", "//me:p%20w@"),
        }),
        { ...T1, through: `${through} as me:p w` },
      ),
      // The authority of a proxy is that of the server, which http has none of.
      ofCluster(
        `proxy-url counts for http, too: ${proxy}`,
        (servers) => ({
          server: servers.plain,
          "insecure-skip-tls-verify": proxy === "httpsProxy",
          "proxy-url": servers[proxy],
        }),
        proxy === "httpsProxy" ? /certificate/ : { ...seen(undefined, "plain"), through },
        {},
        null,
      ),
    ];
  }),
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
      ofCluster(
        `${title}: ${through === undefined ? "api.internal, which a proxy alone knows, is not reached" : "a server that the proxy alone knows"}`,
        internal,
        through === undefined ? /ENOTFOUND|EAI_AGAIN/ : { ...T1, sni: "api.test", through },
        { environment: (servers) => proxiesIn(servers, variables) },
      ),
  ),
  ofUser("a proxy of the environment is not for this machine", { token: "t1" }, T1, {
    environment: (servers) => proxiesIn(servers, { HTTPS_PROXY: "httpProxy" }),
  }),
  ofCluster(
    "proxy-url counts before HTTPS_PROXY",
    (servers) => ({ ...internal(servers), "proxy-url": servers.socksProxy }),
    { ...T1, sni: "api.test", through: "socks" },
    { environment: (servers) => proxiesIn(servers, { HTTPS_PROXY: "httpProxy" }) },
  ),
  ofCluster(
    "another scheme of proxy-url is an error",
    ({ one }) => ({ server: one, ...ca, "proxy-url": "socks4://127.0.0.1" }),
    /proxy-url must be an http, https or socks5 URL/,
  ),
  // Credentials.
  row(
    "tokenFile and certificate-authority are relative to their kubeconfig, and the token is trimmed",
    (servers) => ({
      "a/k1.yaml": one(servers, { tokenFile: "sa/token" }),
      "a/sa/token": "from-file\n",
      "a/api.crt": servers.authority,
      "api.crt": "",
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
  ofUser(
    "a token counts where its tokenFile cannot be read",
    { token: "inline", tokenFile: "missing" },
    seen("Bearer inline"),
  ),
  ofUser("a missing tokenFile is an error", { tokenFile: "missing" }, /tokenFile .*missing .*ENOENT/),
  ofUser(
    "user and password",
    { username: "me", password: "pass word" },
    seen(`Basic ${base64("me:pass word")}`),
  ),
  ofUser(
    "a token beside a password is an error",
    { token: "t1", username: "me", password: "p" },
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
        "client-certificate-data": base64(servers.client.cert),
        "client-key-data": base64(servers.client.key),
      }),
    }),
    { ...T1, certificate: "worker" },
  ),
  ofCertificate(
    "a client certificate without its key is an error",
    { "client-certificate": "me.crt" },
    /the client certificate has no client-key/,
  ),
  ofCertificate(
    "a client certificate as file and as data is an error",
    { ...CERTIFICATE, "client-certificate-data": base64("a certificate") },
    /client-certificate and client-certificate-data exclude each other/,
  ),
  ofUser(
    "impersonation",
    {
      token: "t1",
      as: "system:serviceaccount:a:b",
      "as-uid": "42",
      "as-groups": ["system:authenticated", "b, c"],
      "as-user-extra": { scopes: ["view", "edit"], "example.com/x%": ["1"] },
    },
    {
      ...T1,
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
  ofUser(
    "impersonated groups without a user are an error",
    { token: "t1", "as-groups": ["a"] },
    /as-uid, as-groups and as-user-extra need as/,
  ),
  ofUser(
    "the auth-provider gcp is an error with the way out",
    { "auth-provider": { name: "gcp", config: { "access-token": "t" } } },
    /auth-provider "gcp" is not supported: use a credential plugin/,
  ),
  ofUser(
    "the auth-provider oidc is an error here",
    { "auth-provider": { name: "oidc", config: { "idp-issuer-url": "https://idp.test", "id-token": "x" } } },
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
  ofPlugin(
    "a plugin of v1beta1 needs no interactiveMode",
    plugin({ token: "beta" }, `${V1}beta1`),
    seen("Bearer beta"),
    { apiVersion: `${V1}beta1`, interactiveMode: undefined },
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
  ofPlugin(
    "a plugin may write YAML",
    prints(`apiVersion: ${V1}\nkind: ExecCredential\nstatus: {token: yaml}`),
    seen("Bearer yaml"),
  ),
  ofPlugin(
    "null is the same as nothing in what a plugin returns",
    plugin({ token: "t", clientCertificateData: null, clientKeyData: null, expirationTimestamp: null }),
    seen("Bearer t"),
  ),
  row(
    "a null token of a plugin beside its client certificate",
    (servers) => ({
      "k1.yaml": one(servers, exec()),
      "plugin.sh": plugin({
        token: null,
        clientCertificateData: servers.client.cert,
        clientKeyData: servers.client.key,
      }),
    }),
    { ...seen(), certificate: "worker" },
  ),
  ofUser(
    "a plugin without a slash is looked up by the own PATH and not by that of exec.env",
    exec({
      command: "sh",
      args: ["-c", `[ "$PATH" = /none ] && echo '${STATUS}'`],
      env: [{ name: "PATH", value: "/none" }],
    }),
    seen("Bearer from-plugin"),
  ),
  ofUser("a plugin does not run beside a token", { token: "t1", ...exec({ command: "./missing.sh" }) }, T1),
  ofUser(
    "a plugin that is not installed is an error with its hint",
    exec({ command: "no-such-plugin", installHint: "brew install \u001b[1mit" }),
    /the credential plugin no-such-plugin of user "one-user" of .*k1\.yaml is not installed\. brew install \[1mit/,
  ),
  ofPlugin(
    "a plugin that fails is an error with what it said",
    "#!/bin/sh\necho log in first >&2\nexit 3\n",
    /plugin\.sh of user .* failed with exit code 3: log in first/,
  ),
  ofPlugin(
    "a plugin of another version is an error",
    plugin({ token: "x" }, `${V1}beta1`),
    /plugin\.sh of user .* returned .*v1beta1.* instead of an ExecCredential of client\.authentication\.k8s\.io\/v1$/,
  ),
  ofPlugin(
    "a plugin without a credential is an error",
    plugin({}),
    /returned neither a token nor a client certificate/,
  ),
  ofPlugin(
    "a plugin's certificate without its key is an error",
    plugin({ clientCertificateData: "x" }),
    /returned a client certificate without its key/,
  ),
  ofPlugin(
    "a plugin that writes something else is an error that does not quote it",
    "#!/bin/sh\necho secret-token\n",
    /^(?!.*secret-token).* returned something else than JSON/,
  ),
  ofPlugin(
    "a plugin that must have a terminal is an error without one",
    TOKEN_PLUGIN,
    /needs a terminal \(interactiveMode Always\), and the worker has none/,
    { interactiveMode: "Always" },
  ),
  ofPlugin(
    "a plugin of v1 needs an interactiveMode",
    TOKEN_PLUGIN,
    /exec\.interactiveMode must be Never, IfAvailable or Always/,
    { interactiveMode: undefined },
  ),
  ofPlugin(
    "a plugin of v1alpha1 is an error",
    TOKEN_PLUGIN,
    /exec\.apiVersion "client\.authentication\.k8s\.io\/v1alpha1" is none of/,
    { apiVersion: `${V1}alpha1` },
  ),
  ofCluster(
    "a server may have a path; its query does not count",
    ({ one }) => ({ server: `${one}/a/b/?x=1#f`, ...ca }),
    { ...T1, path: "/a/b/api" },
  ),
  ofUser("a user without credentials sends none", {}, seen(), { kubectl: "fails" }),
  ofCluster(
    "credentials in the server's URL are an error",
    ({ one }) => ({ server: one.replace("//", "//a:b@"), ...ca }),
    /without credentials/,
    {},
    {},
  ),
  ofUser(
    "a plugin does not run beside a password",
    { username: "me", ...exec({ command: "./missing.sh" }) },
    seen(`Basic ${base64("me:")}`),
  ),
  ofCertificate(
    "a plugin does not run beside a client certificate",
    { ...CERTIFICATE, ...exec({ command: "./missing.sh" }) },
    { ...seen(), certificate: "worker" },
  ),
  ofPlugin(
    "an expired credential of a plugin is sent nevertheless",
    plugin({ token: "expired", expirationTimestamp: "2001-01-01T00:00:00Z" }),
    seen("Bearer expired"),
    { interactiveMode: "IfAvailable" },
  ),
  ofPlugin(
    "an expiry of a plugin that is no time is an error",
    plugin({ token: "expired", expirationTimestamp: "soon" }),
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
  ofCluster(
    "an authority as file and as data is an error",
    ({ one, authority }) => ({ server: one, ...ca, "certificate-authority-data": base64(authority) }),
    /certificate-authority and certificate-authority-data exclude each other/,
  ),
  ofCluster(
    "data that is not base64 is an error",
    ({ one }) => ({ server: one, "certificate-authority-data": "-----BEGIN" }),
    /certificate-authority-data: is not base64/,
  ),
  ofCluster(
    "a missing authority is an error",
    ({ one }) => ({ server: one, "certificate-authority": "missing.crt" }),
    /certificate-authority .*missing.crt.*ENOENT/,
  ),
  row(
    "unknown fields do not count, and of a key that is there twice the last one does",
    ({ one }) => ({
      "k1.yaml": `foo: 1\nclusters: [{name: one, cluster: {server: "https://nowhere.test", server: "${one}", insecure-skip-tls-verify: true, bar: x}}]\nusers: [{name: u, user: {token: t1}}]\ncontexts: [{name: one, context: {cluster: one, user: u}}]\ncurrent-context: one\n`,
    }),
    T1,
  ),
  ofCluster(
    "impersonation counts over http, too",
    ({ plain }) => ({ server: plain }),
    { ...seen(undefined, "plain"), impersonate: ["impersonate-user: me"] },
    {},
    { token: "t1", as: "me" },
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
    T1,
  ),
];
