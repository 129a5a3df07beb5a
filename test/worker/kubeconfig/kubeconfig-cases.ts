import type { ApiServers, SeenRequest } from "./api-servers.ts";

/** A kubeconfig, and what kubectl and the worker send with it. */
export interface KubeconfigCase {
  readonly title: string;
  /** Files of a folder by name. A name that ends with `.sh` is executable. */
  files(servers: ApiServers): Readonly<Record<string, string | object>>;
  /** Files of the folder, joined by `:`; empty ones stay so. Default: `k1.yaml` and `k2.yaml`, if there. */
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
  /** Where kubectl asks for a name and a password, or falls back to localhost:8080. */
  readonly kubectl?: "fails";
}

/** A kubeconfig with one context, cluster and user of a name. */
const config = (name: string, cluster: object | null, user: object | null = null) => ({
  apiVersion: "v1",
  kind: "Config",
  clusters: [{ name, cluster }],
  users: [{ name: `${name}-user`, user }],
  contexts: [{ name, context: { cluster: name, user: `${name}-user` } }],
  "current-context": name,
});

const ca = { "certificate-authority": "api.crt" };
const one = ({ one }: ApiServers, user: object | null = { token: "t1" }) =>
  config("one", { server: one, ...ca }, user);
const two = ({ two }: ApiServers, user: object = { token: "t2" }) =>
  config("two", { server: two, ...ca }, user);
const both = (servers: ApiServers) => ({ "k1.yaml": one(servers), "k2.yaml": two(servers) });
const V1 = "client.authentication.k8s.io/v1";
export const exec = (more: object = {}) => ({
  exec: { apiVersion: V1, command: "./plugin.sh", interactiveMode: "Never", ...more },
});
/** The kubeconfig of server one, of which some is otherwise. */
const edited = (more: object) => (servers: ApiServers) => ({ "k1.yaml": { ...one(servers), ...more } });
const NO_PLUGIN = exec({ command: "./missing.sh" });
const prints = (text: string) => `#!/bin/sh\ncat <<'END'\n${text}\nEND\n`;
/** What a credential plugin prints. */
export const statusOf = (status: object, apiVersion = V1) =>
  JSON.stringify({ apiVersion, kind: "ExecCredential", status });
/** A plugin in shell that returns this status. */
const plugin = (status: object, apiVersion = V1) => prints(statusOf(status, apiVersion));
const TOKEN_PLUGIN = plugin({ token: "from-plugin" });
const seen = (authorization?: string, server = "one") => ({
  server,
  ...(authorization !== undefined && { authorization }),
});
const T1 = seen("Bearer t1");
const T2 = seen("Bearer t2", "two");
const PLAIN = seen(undefined, "plain");
const WITH_CERTIFICATE = { ...seen(), certificate: "worker" };
const CERTIFICATE = { "client-certificate": "me.crt", "client-key": "me.key" };
const base64 = (text: string) => Buffer.from(text).toString("base64");

type Expected = KubeconfigCase["expected"];
type More = Partial<KubeconfigCase>;
type Cluster = (servers: ApiServers) => object;
type ClusterOfUser = Cluster | readonly [cluster: Cluster, user: object | null];
/** What of each case differs, by its title. */
type Rows<Part> = Readonly<Record<string, readonly [part: Part, expected: Expected, more?: More]>>;
const cases = <Part>(rows: Rows<Part>, filesOf: (part: Part) => KubeconfigCase["files"]): KubeconfigCase[] =>
  Object.entries(rows).map(([title, [part, expected, more]]) => ({
    title,
    files: filesOf(part),
    expected,
    ...more,
  }));

/** Cases that differ in their files. */
const ofFiles = (rows: Rows<KubeconfigCase["files"]>) => cases(rows, (files) => files);

/** Cases that differ in the user of server one. */
const ofUsers = (rows: Rows<object>) =>
  cases(rows, (user) => (servers) => ({ "k1.yaml": one(servers, user) }));

/** Cases that differ in the cluster, and in the user if one is given; by default that has the token t1. */
const ofClusters = (rows: Rows<ClusterOfUser>) =>
  cases(rows, (part) => {
    const [cluster, user] = typeof part === "function" ? [part, { token: "t1" }] : part;
    return (servers) => ({ "k1.yaml": config("one", cluster(servers), user) });
  });

/** Cases of a credential plugin: its script, and what is special in the kubeconfig. */
const ofPlugins = (rows: Rows<readonly [script: string, settings?: object]>) =>
  cases(rows, ([script, settings]) => (servers) => ({
    "k1.yaml": one(servers, exec(settings)),
    "plugin.sh": script,
  }));

/** Errors of something, by a pattern of their message. */
const errors = <Part>(what: string, rows: Readonly<Record<string, Part>>): Rows<Part> =>
  Object.fromEntries(
    Object.entries(rows).map(([message, part]) => [
      `${what} is rejected: ${message}`,
      [part, RegExp(message)],
    ]),
  );

/** A kubeconfig in YAML, from within its cluster on; ONE is the URL of server one. */
const inYaml = (more: string) => (servers: ApiServers) => {
  const begin = "clusters: [{name: one, cluster: {insecure-skip-tls-verify: true, ";
  const end = "users: [{name: u, user: {token: t1}}]\ncurrent-context: one\n";
  return { "k1.yaml": `${begin}${more.replace("ONE", servers.one)}\n${end}` };
};

const HTTPS_PROXY: More = { environment: ({ httpProxy }) => ({ HTTPS_PROXY: httpProxy }) };
const inHttp = ({ plain }: ApiServers) => ({ server: plain });
/** Server one with more in its cluster. */
const ofOne =
  (more: object) =>
  ({ one }: ApiServers) => ({ server: one, ...ca, ...more });

/** A server that only a proxy knows. */
const internal = ({ one }: ApiServers) => ({
  server: one.replace("127.0.0.1", "api.internal"),
  ...ca,
  "tls-server-name": "api.test",
});

const ofProxy = (proxy: "httpProxy" | "httpsProxy" | "socksProxy"): KubeconfigCase[] => {
  const through = proxy.replace("Proxy", "");
  const isSecure = proxy === "httpsProxy";
  const sni = isSecure ? "localhost" : "api.test";
  const byName = (servers: ApiServers) => ({
    ...internal(servers),
    "tls-server-name": sni,
    "proxy-url": servers[proxy].replace("127.0.0.1", "localhost"),
  });
  const withCredentials = (servers: ApiServers) =>
    ofOne({ "proxy-url": servers[proxy].replace("//", "//me:p%20w@") })(servers);
  // The authority of a proxy is that of the server, which http has none of.
  const inClear = (servers: ApiServers) => ({
    ...inHttp(servers),
    "insecure-skip-tls-verify": isSecure,
    "proxy-url": servers[proxy],
  });
  const expected = isSecure ? /certificate/ : { ...PLAIN, through };
  return ofClusters({
    [`proxy-url counts: ${proxy}, which alone knows the server's name`]: [byName, { ...T1, sni, through }],
    [`proxy-url may have credentials: ${proxy}, to an address`]: [
      withCredentials,
      { ...T1, through: `${through} as me:p w` },
    ],
    [`proxy-url counts for http, too: ${proxy}`]: [[inClear, null], expected],
  });
};

const WHICH_FILES: readonly KubeconfigCase[] = [
  ...ofFiles({
    "of two files the first one that has a current-context sets it": [both, T1],
    "--kubeconfig counts alone": [both, T2, { KUBECONFIG: "k1.yaml", flags: { kubeconfig: "k2.yaml" } }],
    "--context counts before current-context, over all files": [both, T2, { flags: { context: "two" } }],
    "an unknown --context is an error that names the known ones": [
      both,
      /no context "three"; its contexts are: one, two/,
      { flags: { context: "three" } },
    ],
    "a later file sets the current-context where the first one has none": [
      (servers) => ({ "k1.yaml": { ...one(servers), "current-context": "" }, "k2.yaml": two(servers) }),
      T2,
    ],
    "a context of the second file may name a cluster and a user of the first one": [
      (servers) => {
        const contexts = [{ name: "x", context: { cluster: "one", user: "one-user" } }];
        const { "k1.yaml": first } = edited({ contexts: null, "current-context": null })(servers);
        return { "k1.yaml": first, "k2.yaml": { contexts, "current-context": "x" } };
      },
      T1,
    ],
    "the first file with a cluster, a context or a user of a name sets all of it": [
      ({ one, two }) => {
        const other = { server: two, ...ca, "tls-server-name": "api.test" };
        return {
          "k1.yaml": config("one", { server: one, "insecure-skip-tls-verify": true }, { token: "t1" }),
          "k2.yaml": config("one", other, { token: "t2", as: "admin" }),
        };
      },
      T1,
    ],
    "missing and empty files, files of blanks and comments, empty entries and duplicates do not count": [
      (servers) => ({ "k1.yaml": one(servers), e: "", blank: "   \n\n", comment: "# nothing\n" }),
      T1,
      { KUBECONFIG: ":missing.yaml:e:blank:comment::k1.yaml:k1.yaml:" },
    ],
    "without KUBECONFIG ~/.kube/config counts": [
      (servers) => ({ ".kube/config": two(servers), ".kube/api.crt": servers.authority }),
      T2,
    ],
    "of several documents the first one counts": [
      (servers) => ({
        "k1.yaml": `---\n${JSON.stringify(one(servers))}\n---\n${JSON.stringify(two(servers))}\n`,
      }),
      T1,
    ],
    "unknown fields do not count, and of a key that is there twice the last one does": [
      inYaml(
        'server: "https://nowhere.test", server: "ONE", bar: x}}]\nfoo: 1\ncontexts: [{name: one, context: {cluster: one, user: u}}]',
      ),
      T1,
    ],
    "what another context needs may be wrong": [
      (servers) => {
        const { users, ...rest } = one(servers);
        const other = { name: "other", user: { "auth-provider": { name: "gcp" } } };
        return { "k1.yaml": { ...rest, users: [...users, other] } };
      },
      T1,
    ],
    "a context without a user sends no credential": [
      edited({ contexts: [{ name: "one", context: { cluster: "one" } }] }),
      seen(),
      { kubectl: "fails" },
    ],
    "a pod's service account counts where no file has anything": [
      (servers) => ({ "k1.yaml": "", "ca.crt": servers.authority }),
      seen("Bearer pod-token", "two"),
      { KUBECONFIG: "k1.yaml:missing.yaml", inPod: true },
    ],
    "an alias without its anchor is an error": [
      inYaml('server: "ONE"}}]\ncontexts: [{name: one, context: *gone}]'),
      /k1\.yaml is not YAML: an alias has no anchor(?!.*gone)/,
    ],
    "files that all are missing are named": [
      () => ({}),
      /no kubeconfig: .*a\.yaml, .*b\.yaml does not exist/,
      { KUBECONFIG: "a.yaml:b.yaml" },
    ],
    "a missing --kubeconfig is an error": [
      edited({}),
      /missing\.yaml does not exist/,
      { flags: { kubeconfig: "missing.yaml" } },
    ],
    "a broken file is an error although another one is whole": [
      (servers) => ({ "k1.yaml": one(servers), "k2.yaml": "clusters: [" }),
      /k2\.yaml is not YAML: line 1/,
    ],
    "a folder in the place of a file is an error": [
      (servers) => ({ "k1.yaml": one(servers), "dir/x": "" }),
      /dir cannot be read/,
      { KUBECONFIG: "k1.yaml:dir" },
    ],
    "a file of another kind is an error": [edited({ kind: "Pod" }), /k1\.yaml is malformed: kind/],
    "a name that a file has twice is an error": [
      (servers) => {
        const { clusters, ...rest } = one(servers);
        return { "k1.yaml": { ...rest, clusters: [...clusters, ...clusters] } };
      },
      /k1\.yaml has "one" twice in clusters/,
    ],
    "files without a chosen context are an error, also in a pod": [
      edited({ "current-context": "" }),
      /no current-context: name one \(--context\); its contexts are: one/,
      { inPod: true },
    ],
    "a context without its cluster is an error, also in a pod": [
      edited({ clusters: [] }),
      /context "one" names the cluster "one", which .*k1\.yaml does not have/,
      { inPod: true },
    ],
    "a context without its user is an error": [
      edited({ users: [] }),
      /context "one" names the user "one-user", which .*k1\.yaml does not have/,
    ],
  }),
];

const WHICH_SERVER: readonly KubeconfigCase[] = [
  ...ofClusters({
    "a server without a scheme is http, which gets no token": [
      ({ plain }) => ({ server: plain.replace("http://", "") }),
      PLAIN,
    ],
    "http needs no user, gets no credential and runs no plugin": [[inHttp, NO_PLUGIN], PLAIN],
    "impersonation counts over http, too": [
      [inHttp, { token: "t1", as: "me" }],
      { ...PLAIN, impersonate: ["impersonate-user: me"] },
    ],
    "a server may have a path; its query does not count": [
      ({ one }) => ({ server: `${one}/a/b/?x=1#f`, ...ca }),
      { ...T1, path: "/a/b/api" },
    ],
    "tls-server-name is sent and checked instead of the address": [
      ofOne({ "tls-server-name": "api.test" }),
      { ...T1, sni: "api.test" },
    ],
    "certificate-authority-data is base64": [
      ({ one, authority }) => ({ server: one, "certificate-authority-data": base64(authority) }),
      T1,
    ],
    "without an authority that of the system counts": [({ one }) => ({ server: one }), /certificate/],
    "HTTPS_PROXY counts for a server that the proxy alone knows": [
      internal,
      { ...T1, sni: "api.test", through: "http" },
      HTTPS_PROXY,
    ],
    "NO_PROXY has the host's domain, and the server is not reached": [
      internal,
      /ENOTFOUND|EAI_AGAIN/,
      { environment: ({ httpProxy }) => ({ HTTPS_PROXY: httpProxy, NO_PROXY: "a.test, internal" }) },
    ],
    "proxy-url counts before HTTPS_PROXY": [
      (servers) => ({ ...internal(servers), "proxy-url": servers.socksProxy }),
      { ...T1, sni: "api.test", through: "socks" },
      HTTPS_PROXY,
    ],
  }),
  ...(["httpProxy", "httpsProxy", "socksProxy"] as const).flatMap(ofProxy),
  ...ofClusters(
    errors<ClusterOfUser>("a cluster", {
      "certificate-authority .*k1\\.yaml .*is not PEM": ofOne({ "certificate-authority": "k1.yaml" }),
      "certificate-authority .*missing.crt.*ENOENT": ofOne({ "certificate-authority": "missing.crt" }),
      "insecure-skip-tls-verify and a certificate authority exclude each other": ofOne({
        "insecure-skip-tls-verify": true,
      }),
      "certificate-authority and certificate-authority-data exclude each other": (servers) =>
        ofOne({ "certificate-authority-data": base64(servers.authority) })(servers),
      "certificate-authority-data: is not base64": ofOne({ "certificate-authority-data": "-----BEGIN" }),
      "proxy-url must be an http, https or socks5 URL": ofOne({ "proxy-url": "socks4://127.0.0.1" }),
      "without credentials": [({ one }) => ({ server: one.replace("//", "//a:b@"), ...ca }), {}],
    }),
  ),
];

const CREDENTIALS: readonly KubeconfigCase[] = [
  ...ofFiles({
    "tokenFile and certificate-authority are relative to their kubeconfig, and the token is trimmed": [
      (servers) => ({
        "a/k1.yaml": one(servers, { tokenFile: "sa/token" }),
        "a/sa/token": "from-file\n",
        "a/api.crt": servers.authority,
        "api.crt": "",
      }),
      seen("Bearer from-file"),
      { KUBECONFIG: "a/k1.yaml" },
    ],
    "a tokenFile counts before a token": [
      (servers) => ({ "k1.yaml": one(servers, { token: "inline", tokenFile: "token" }), token: "from-file" }),
      seen("Bearer from-file"),
    ],
    "client certificate and key are relative to their kubeconfig": [
      (servers) => ({
        "a/k1.yaml": one(servers, { "client-certificate": "../me.crt", "client-key": "me.key" }),
        "a/api.crt": servers.authority,
        "a/me.key": servers.client.key,
      }),
      WITH_CERTIFICATE,
      { KUBECONFIG: "a/k1.yaml" },
    ],
    "client certificate and key as base64, beside a token": [
      (servers) => {
        const [cert, key] = [base64(servers.client.cert), base64(servers.client.key)];
        const data = { "client-certificate-data": cert, "client-key-data": key };
        return { "k1.yaml": one(servers, { token: "t1", ...data }) };
      },
      { ...T1, certificate: "worker" },
    ],
  }),
  ...ofUsers({
    "a token counts where its tokenFile cannot be read": [
      { token: "inline", tokenFile: "missing" },
      seen("Bearer inline"),
    ],
    "user and password": [{ username: "me", password: "pass word" }, seen(`Basic ${base64("me:pass word")}`)],
    "a user without credentials sends none": [{}, seen(), { kubectl: "fails" }],
    impersonation: [
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
          ...["example.com%2fx%25: 1", "scopes: edit", "scopes: view"].map(
            (one) => `impersonate-extra-${one}`,
          ),
          ...["b, c", "system:authenticated"].map((group) => `impersonate-group: ${group}`),
          "impersonate-uid: 42",
          "impersonate-user: system:serviceaccount:a:b",
        ],
      },
    ],
    "a plugin does not run beside a token": [{ token: "t1", ...NO_PLUGIN }, T1],
    "a plugin does not run beside a password": [
      { username: "me", ...NO_PLUGIN },
      seen(`Basic ${base64("me:")}`),
    ],
    "a plugin does not run beside a client certificate": [{ ...CERTIFICATE, ...NO_PLUGIN }, WITH_CERTIFICATE],
    "a plugin without a slash is looked up by the own PATH and not by that of exec.env": [
      exec({
        command: "sh",
        args: ["-c", `[ "$PATH" = /none ] && echo '${statusOf({ token: "from-plugin" })}'`],
        env: [{ name: "PATH", value: "/none" }],
      }),
      seen("Bearer from-plugin"),
    ],
  }),
  ...ofUsers(
    errors<object>("a user", {
      "k1\\.yaml is malformed: users\\.0\\.user\\.token: .*string": { token: 1234 },
      "tokenFile .*missing .*ENOENT": { tokenFile: "missing" },
      "a token and a password exclude each other": { token: "t1", username: "me", password: "p" },
      "the client certificate has no client-key": { "client-certificate": "me.crt" },
      "client-certificate and client-certificate-data exclude each other": {
        ...CERTIFICATE,
        "client-certificate-data": base64("a"),
      },
      "as-uid, as-groups and as-user-extra need as": { token: "t1", "as-groups": ["a"] },
      'auth-provider "oidc" is not supported: use a credential plugin \\(exec, such as kubectl oidc-login\\)':
        {
          "auth-provider": {
            name: "oidc",
            config: { "idp-issuer-url": "https://idp.test", "id-token": "x" },
          },
        },
      'the credential plugin no-such-plugin of user "one-user" of .*k1\\.yaml is not installed\\. brew install \\[1mit':
        exec({ command: "no-such-plugin", installHint: "brew install \u001b[1mit" }),
      "cannot be run": exec({ command: "./k1.yaml" }),
    }),
  ),
];

const toldOf = ({ one, httpProxy }: ApiServers) => ({
  server: one,
  "tls-server-name": "api.test",
  "proxy-url": httpProxy,
});

const PLUGINS: readonly KubeconfigCase[] = [
  ...ofFiles({
    "a plugin with a slash is relative to its kubeconfig": [
      (servers) => ({
        "a/k1.yaml": one(servers, exec()),
        "a/plugin.sh": TOKEN_PLUGIN,
        "a/api.crt": servers.authority,
      }),
      seen("Bearer from-plugin"),
      { KUBECONFIG: "a/k1.yaml" },
    ],
    "a plugin gets arguments, variables, and the cluster if it wants to know": [
      (servers) => ({
        "k1.yaml": config(
          "one",
          {
            ...toldOf(servers),
            ...ca,
            extensions: [
              { name: "other", extension: { no: true } },
              { name: "client.authentication.k8s.io/exec", extension: { audience: "x" } },
            ],
          },
          exec({ args: ["a b"], env: [{ name: "SECRET", value: "s" }], provideClusterInfo: true }),
        ),
        "plugin.sh": `#!/bin/sh
printf '${statusOf({ token: "%s" })}' "$1.$SECRET"
printf %s "$KUBERNETES_EXEC_INFO" > "$(dirname "$0")/info.json"
`,
      }),
      { ...seen("Bearer a b.s"), sni: "api.test", through: "http" },
      {
        info: (servers) => {
          const authority = { "certificate-authority-data": base64(servers.authority) };
          const cluster = { ...toldOf(servers), ...authority, config: { audience: "x" } };
          return { kind: "ExecCredential", apiVersion: V1, spec: { cluster, interactive: false } };
        },
      },
    ],
    "a plugin's client certificate, beside a token of null": [
      (servers) => {
        const { cert: clientCertificateData, key: clientKeyData } = servers.client;
        const status = { token: null, clientCertificateData, clientKeyData };
        return { "k1.yaml": one(servers, exec()), "plugin.sh": plugin(status) };
      },
      WITH_CERTIFICATE,
    ],
  }),
  ...ofPlugins({
    "a plugin of v1beta1 needs no interactiveMode": [
      [plugin({ token: "beta" }, `${V1}beta1`), { apiVersion: `${V1}beta1`, interactiveMode: undefined }],
      seen("Bearer beta"),
    ],
    "a plugin may write YAML": [
      [prints(`apiVersion: ${V1}\nkind: ExecCredential\nstatus: {token: yaml}`)],
      seen("Bearer yaml"),
    ],
    "null is the same as nothing in what a plugin returns": [
      [plugin({ token: "t", clientCertificateData: null, clientKeyData: null, expirationTimestamp: null })],
      seen("Bearer t"),
    ],
    "an expired credential of a plugin is sent nevertheless": [
      [
        plugin({ token: "expired", expirationTimestamp: "2001-01-01T00:00:00Z" }),
        { interactiveMode: "IfAvailable" },
      ],
      seen("Bearer expired"),
    ],
  }),
  ...ofPlugins(
    errors<readonly [script: string, settings?: object]>("a plugin", {
      "plugin\\.sh of user .* failed with exit code 3: log in first": [
        "#!/bin/sh\necho log in first >&2\nexit 3\n",
      ],
      "plugin\\.sh .* returned .*v1beta1.* instead of an ExecCredential of client\\.authentication\\.k8s\\.io/v1$":
        [plugin({ token: "x" }, `${V1}beta1`)],
      "returned neither a token nor a client certificate": [plugin({})],
      "returned a client certificate without its key": [plugin({ clientCertificateData: "x" })],
      "^(?!.*secret-token).* returned something else than JSON": ["#!/bin/sh\necho secret-token\n"],
      "malformed status": [plugin({ token: "expired", expirationTimestamp: "soon" })],
      "needs a terminal \\(interactiveMode Always\\), and the worker has none": [
        TOKEN_PLUGIN,
        { interactiveMode: "Always" },
      ],
      "exec\\.interactiveMode must be Never, IfAvailable or Always": [
        TOKEN_PLUGIN,
        { interactiveMode: undefined },
      ],
      'exec\\.apiVersion "client\\.authentication\\.k8s\\.io/v1alpha1" is none of': [
        TOKEN_PLUGIN,
        { apiVersion: `${V1}alpha1` },
      ],
    }),
  ),
];

export const KUBECONFIG_CASES: readonly KubeconfigCase[] = [
  ...WHICH_FILES,
  ...WHICH_SERVER,
  ...CREDENTIALS,
  ...PLUGINS,
];
