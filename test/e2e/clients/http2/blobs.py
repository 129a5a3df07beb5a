"""Arguments: CA file, URL, file. Prints the protocol, the SHA-256 of what GET returns, and what POST of the file returns, each on a line."""

import hashlib
import pathlib
import ssl
import sys

import httpx2

ca, url, file = sys.argv[1:]
tls = ssl.create_default_context(cafile=ca)
with httpx2.Client(verify=tls, http1=False, http2=True, timeout=60) as client:
    got = client.get(url)
    posted = client.post(url, content=pathlib.Path(file).read_bytes())
    print(got.http_version, hashlib.sha256(got.content).hexdigest(), posted.text, sep="\n")
