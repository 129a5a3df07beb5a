import java.io.FileInputStream;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.security.KeyStore;
import java.security.cert.CertificateFactory;
import java.time.Duration;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;

/** Arguments: CA file, HTTP_1_1 or HTTP_2, bytes, then METHOD and URL in turn. Prints the status of each. */
public class EarlyAnswers {
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
    HttpClient client = HttpClient.newBuilder().sslContext(tls).version(HttpClient.Version.valueOf(args[1])).build();
    byte[] body = new byte[Integer.parseInt(args[2])];
    for (int index = 3; index < args.length; index += 2) {
      HttpRequest request =
          HttpRequest.newBuilder(URI.create(args[index + 1]))
              .header("content-type", "application/dns-message")
              .timeout(Duration.ofSeconds(30))
              .method(args[index], HttpRequest.BodyPublishers.ofByteArray(body))
              .build();
      System.out.println(client.send(request, HttpResponse.BodyHandlers.ofString()).statusCode());
    }
  }
}
