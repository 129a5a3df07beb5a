"""Arguments: CA file, 1 for HTTP/1.1 or 2 for HTTP/2, bytes, then METHOD and URL in turn. Prints the status of each."""

import ssl
import sys

import httpx2

ca, version, length, *requests = sys.argv[1:]
tls = ssl.create_default_context(cafile=ca)
with httpx2.Client(verify=tls, http1=version == "1", http2=version == "2", timeout=30) as client:
    for method, url in zip(requests[::2], requests[1::2]):
        headers = {"content-type": "application/dns-message"}
        print(client.request(method, url, content=bytes(int(length)), headers=headers).status_code)
