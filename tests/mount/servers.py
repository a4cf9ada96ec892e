"""Small HTTP servers: one that stands in for a table service, or between a mount and one."""
import http.client
import http.server
import json
import re
import ssl
import threading

from harness import COMMAND_SEC


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def reply(self, status, headers, body, is_cut=False):
        """With the body; if is_cut, the connection breaks within it."""
        self.send_response_only(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body) + is_cut))
        self.end_headers()
        self.wfile.write(body)
        self.close_connection |= is_cut

    def hand_on(self, service, path=None, **headers):
        """Sends the request to the service, with another path if given. Answers what reply() takes."""
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if service.certificate:
            trusts_all = ssl._create_unverified_context()
            inner = http.client.HTTPSConnection(
                "127.0.0.1", service.port, timeout=COMMAND_SEC, context=trusts_all
            )
        else:
            inner = http.client.HTTPConnection("127.0.0.1", service.port, timeout=COMMAND_SEC)
        inner.request(self.command, path or self.path, body, headers={**self.headers, **headers})
        answer = inner.getresponse()
        body = answer.read()
        inner.close()
        own = ("content-length", "transfer-encoding", "connection", "keep-alive")
        kept = {k: v for k, v in answer.getheaders() if k.lower() not in own}
        return answer.status, kept, body

    def log_message(self, *_):
        pass


class Server:
    """Answers with the handler, each connection in a thread of its own; with a certificate by https."""

    def __init__(self, handler, certificate=None):
        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        # all connections of a mount wait here, where this process does not run: one without a place is tried again a second
        # later, and then three
        self._server.socket.listen(64)
        if certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate.file, certificate.key)
            self._server.socket = context.wrap_socket(  # the handshake is made by the connection's thread
                self._server.socket, server_side=True, do_handshake_on_connect=False
            )
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()
        self.address = f"127.0.0.1:{self._server.server_port}"

    def credentials_for(self, service):
        """Of a mount that reaches the service through this server."""
        connection = service.connection_string()
        own = connection.replace(f"127.0.0.1:{service.port}", self.address)
        return {"AZURE_STORAGE_CONNECTION_STRING": own}

    def stop(self):
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class Proxy(Server):
    """Between a mount and Azurite. While `page` is set, it answers every request with it and `status`. While `is_cut`,
    the connection breaks within the page. While `is_silent`, nothing is answered."""

    def __init__(self, service):
        self.page, self.status, self.is_cut, self.is_silent = None, 404, False, False
        self._ends = threading.Event()
        proxy = self

        class Between(Handler):
            def do_GET(self):
                if proxy.is_silent:
                    proxy._ends.wait(COMMAND_SEC)
                    self.close_connection = True
                    return
                if proxy.page is not None:
                    self.reply(proxy.status, {"Content-Type": "text/html"}, proxy.page, proxy.is_cut)
                    return
                self.reply(*self.hand_on(service, Host=f"127.0.0.1:{service.port}"))

        super().__init__(Between)
        self.credentials = self.credentials_for(service)

    def stop(self):
        self._ends.set()
        super().stop()


class ForwardProxy(Server):
    """A proxy as http_proxy names it. Azurite answers for every host. `hosts`: those of the requests."""

    def __init__(self, service):
        self.hosts = set()
        proxy = self

        class Forward(Handler):
            def do_GET(self):
                host, slash, path = self.path[len("http://") :].partition("/")
                proxy.hosts.add(host)
                self.reply(*self.hand_on(service, slash + path))

        super().__init__(Forward)
        self.variables = {"http_proxy": f"http://{self.address}"}


class Spoiler(Server):
    """Between a mount and Azurite. The text of a row's property Spoil, JSON members that no table service sends, replaces
    that property."""

    _SPOILED = re.compile(rb'"Spoil":("(?:[^"\\]|\\.)*")')

    def __init__(self, service):
        class Between(Handler):
            def change(self):
                self.reply(*self.hand_on(service))

            do_POST = do_PUT = do_DELETE = change

            def do_GET(self):
                status, headers, body = self.hand_on(service)
                self.reply(status, headers, Spoiler.spoil(body))

        super().__init__(Between)
        self.credentials = self.credentials_for(service)

    @classmethod
    def spoil(cls, body):
        return cls._SPOILED.sub(lambda found: json.loads(found[1]).encode(), body)
