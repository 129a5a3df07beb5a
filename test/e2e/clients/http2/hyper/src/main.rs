//! Arguments: CA file, port of localhost, file. Prints the protocol, writes what GET returns to `<file>.hyper`, and prints what POST of the file
//! returns.

use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper::client::conn::http2;
use hyper::{Method, Request};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls_pki_types::{CertificateDer, ServerName, pem::PemObject};
use std::sync::Arc;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

type Failure = Box<dyn std::error::Error>;

async fn run() -> Result<(), Failure> {
    let [ca, port, file] = std::env::args().skip(1).collect::<Vec<_>>().try_into().expect("three arguments");
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(ca)?)?;
    let mut config = ClientConfig::builder().with_root_certificates(roots).with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec()];
    let socket = TcpStream::connect(("localhost", port.parse()?)).await?;
    let tls = TlsConnector::from(Arc::new(config)).connect(ServerName::try_from("localhost")?, socket).await?;
    let (mut requests, connection) = http2::handshake(TokioExecutor::new(), TokioIo::new(tls)).await?;
    tokio::spawn(connection);

    let url = format!("https://localhost:{port}/");
    let request = |method, body: Vec<u8>| {
        Request::builder().method(method).uri(&url).body(Full::new(Bytes::from(body)))
    };
    let got = requests.send_request(request(Method::GET, vec![])?).await?;
    println!("{:?}", got.version());
    std::fs::write(format!("{file}.hyper"), got.into_body().collect().await?.to_bytes())?;
    let posted = requests.send_request(request(Method::POST, std::fs::read(&file)?)?).await?;
    println!("{}", String::from_utf8(posted.into_body().collect().await?.to_bytes().to_vec())?);
    Ok(())
}

fn main() -> Result<(), Failure> {
    tokio::runtime::Builder::new_current_thread().enable_io().build()?.block_on(run())
}
