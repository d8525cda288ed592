"""OrreryDB as the query bench starts and asks it: a server, and one kept HTTP connection to it."""

import base64
import email.utils
import hashlib
import hmac
import json
import re
import socket
import subprocess
from urllib.parse import urlsplit

KEY = "C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b8mGGyPMbIZnqyMsEcaGQy67XIw/Jw=="


class Refusal(RuntimeError):
    """An answer that is no success."""

    def __init__(self, status, body):
        super().__init__(f"{status} {body}")
        self.status = status


def field(head, name):
    """The value of a header in the head of an answer."""
    found = re.search(rb"\r\n" + name + rb": ([^\r]*)", head, re.IGNORECASE)
    return found.group(1).decode() if found else None


class Orrery:
    """The server over one kept connection: requests are signed texts, answers are read whole."""

    def __init__(self, binary, folder, *options):
        self.binary, self.folder = binary, folder
        command = [binary, "serve", "--port", "0", "--health-port", "0", "--data", folder, *options]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        for line in self.process.stdout:
            if line.startswith("Now listening on: "):
                self.url = line.split(": ", 1)[1].strip()
                break
        self.connect()

    def connect(self):
        """A new connection: the server closes those that idle while data is made and loaded."""
        parts = urlsplit(self.url)
        self.socket = socket.create_connection((parts.hostname, parts.port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        # Longer than any answer.
        self.buffer = bytearray(8 << 20)
        self.view = memoryview(self.buffer)

    def request(self, verb, kind, link, path, body, headers=()):
        """The head of a signed request, open for more headers, and its body."""
        body = json.dumps(body).encode()
        date = email.utils.formatdate(usegmt=True)
        text = f"{verb.lower()}\n{kind}\n{link}\n{date.lower()}\n\n"
        digest = base64.b64encode(hmac.new(base64.b64decode(KEY), text.encode(), hashlib.sha256).digest()).decode()
        token = "type%3Dmaster%26ver%3D1.0%26sig%3D" + digest.replace("+", "%2B").replace("/", "%2F").replace("=", "%3D")
        lines = [f"{verb} {path} HTTP/1.1", "host: localhost", f"authorization: {token}", f"x-ms-date: {date}",
                 "x-ms-version: 2020-07-15", f"content-length: {len(body)}", *headers, ""]
        return "\r\n".join(lines).encode(), body

    def send(self, head, body):
        self.socket.sendall(head + b"\r\n" + body)
        return self.receive()

    def more(self, start):
        """Reads on behind what was read; answers where that ends."""
        count = self.socket.recv_into(self.view[start:])
        if not count:
            raise ConnectionError("the server closed the connection")
        return start + count

    def receive(self):
        """The head and the body of an answer, read into a buffer that is kept."""
        got = self.more(0)
        while (end := self.buffer.find(b"\r\n\r\n", 0, got)) < 0:
            got = self.more(got)
        head = bytes(self.view[:end])
        whole = end + 4 + int(field(head, b"content-length") or 0)
        while got < whole:
            got = self.more(got)
        body = bytes(self.view[end + 4:whole])
        status = int(head.split(b" ", 2)[1])
        if status >= 300:
            raise Refusal(status, body.decode())
        return head, body

    def create(self, name, policy, key):
        self.connect()
        try:
            self.send(*self.request("POST", "dbs", "", "/dbs", {"id": "bench"}))
        except Refusal as refusal:
            if refusal.status != 409:
                raise
        body = {"id": name, "partitionKey": {"paths": [key], "kind": "Hash", "version": 2}, "indexingPolicy": policy}
        self.send(*self.request("POST", "colls", "dbs/bench", "/dbs/bench/colls", body))

    def fill(self, name, settings, file):
        """Makes a container and puts the items of a file into it."""
        self.create(name, settings["policy"], settings["key"])
        command = [self.binary, "import", file, "--into", f"bench/{name}", "--endpoint", self.url]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def prepare(self, name, text, parameters, page):
        """A query, signed; like a prepared statement it is made once and sent often."""
        link = f"dbs/bench/colls/{name}"
        body = {"query": text, "parameters": [{"name": key, "value": value} for key, value in parameters.items()]}
        headers = ["content-type: application/query+json", "x-ms-documentdb-isquery: True",
                   "x-ms-documentdb-partitionkeyrangeid: 0", f"x-ms-max-item-count: {page}",
                   "x-ms-documentdb-query-enablecrosspartition: True", "x-ms-documentdb-populatequerymetrics: True"]
        return self.request("POST", "docs", link, f"/{link}/docs", body, headers)

    def page(self, query, token):
        """The head and the body of one page."""
        head, body = query
        if token:
            head += f"x-ms-continuation: {token}\r\n".encode()
        return self.send(head, body)

    def run(self, query):
        """All pages: each with its number of rows, and the server's own time in milliseconds."""
        pages, inside, token = [], 0.0, None
        while True:
            head, body = self.page(query, token)
            pages.append((int(field(head, b"x-ms-item-count")), body))
            metrics = field(head, b"x-ms-documentdb-query-metrics") or ""
            inside += float(re.search(r"totalExecutionTimeInMs=([0-9.]+)", metrics).group(1))
            token = field(head, b"x-ms-continuation")
            if not token:
                return pages, inside

    def memory(self):
        """The most memory that the server has had, in bytes."""
        with open(f"/proc/{self.process.pid}/status", encoding="utf-8") as status:
            return next(int(line.split()[1]) for line in status if line.startswith("VmHWM:")) << 10

    def stop(self):
        self.process.terminate()
        self.process.wait(60)
