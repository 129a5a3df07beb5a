// Arguments: CA file, URL, file. Prints the protocol, the SHA-256 of what GET returns, and what POST of the file returns, each on a line.
package main

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"os"
)

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func main() {
	pem, err := os.ReadFile(os.Args[1])
	check(err)
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(pem)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, ForceAttemptHTTP2: true}
	client := http.Client{Transport: transport}

	got, err := client.Get(os.Args[2])
	check(err)
	hash := sha256.New()
	_, err = io.Copy(hash, got.Body)
	check(err)

	file, err := os.Open(os.Args[3])
	check(err)
	posted, err := client.Post(os.Args[2], "application/octet-stream", file)
	check(err)
	text, err := io.ReadAll(posted.Body)
	check(err)
	fmt.Printf("%s\n%x\n%s\n", got.Proto, hash.Sum(nil), text)
}
