import java.io.FileInputStream;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Path;
import java.security.KeyStore;
import java.security.MessageDigest;
import java.security.cert.CertificateFactory;
import java.util.HexFormat;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;

/** Arguments: CA file, URL, file. Prints the protocol, the SHA-256 of what GET returns, and what POST of the file returns, each on a line. */
public class Blobs {
  public static void main(String[] args) throws Exception {
    KeyStore store = KeyStore.getInstance(KeyStore.getDefaultType());
    store.load(null);
    try (FileInputStream file = new FileInputStream(args[0])) {
      store.setCertificateEntry("ca", CertificateFactory.getInstance("X.509").generateCertificate(file));
    }
    TrustManagerFactory trust = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
    trust.init(store);
    SSLContext tls = SSLContext.getInstance("TLS");
    tls.init(null, trust.getTrustManagers(), null);
    HttpClient client = HttpClient.newBuilder().sslContext(tls).version(HttpClient.Version.HTTP_2).build();
    HttpResponse<byte[]> got =
        client.send(HttpRequest.newBuilder(URI.create(args[1])).build(), HttpResponse.BodyHandlers.ofByteArray());
    HttpRequest post =
        HttpRequest.newBuilder(URI.create(args[1])).POST(HttpRequest.BodyPublishers.ofFile(Path.of(args[2]))).build();
    String posted = client.send(post, HttpResponse.BodyHandlers.ofString()).body();
    System.out.println(got.version());
    System.out.println(HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(got.body())));
    System.out.println(posted);
  }
}
