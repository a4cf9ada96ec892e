"""Small HTTP servers: one that stands in for a table service, or between a mount and one."""
import http.client
import http.server
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

    def forward(self, port, path, **headers):
        """Replies what a service on this machine answers."""
        inner = http.client.HTTPConnection("127.0.0.1", port, timeout=COMMAND_SEC)
        inner.request("GET", path, headers={**self.headers, **headers})
        answer = inner.getresponse()
        body = answer.read()
        inner.close()
        own = ("content-length", "transfer-encoding", "connection", "keep-alive")
        kept = {k: v for k, v in answer.getheaders() if k.lower() not in own}
        self.reply(answer.status, kept, body)

    def log_message(self, *_):
        pass


class Server:
    """Answers with the handler, each connection in a thread of its own."""

    def __init__(self, handler):
        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()
        self.address = f"127.0.0.1:{self._server.server_port}"

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
        proxy, port = self, service.port

        class Between(Handler):
            def do_GET(self):
                if proxy.is_silent:
                    proxy._ends.wait(COMMAND_SEC)
                    self.close_connection = True
                    return
                if proxy.page is not None:
                    self.reply(proxy.status, {"Content-Type": "text/html"}, proxy.page, proxy.is_cut)
                    return
                self.forward(port, self.path, Host=f"127.0.0.1:{port}")

        super().__init__(Between)
        self.credentials = {
            "AZURE_STORAGE_CONNECTION_STRING": service.connection_string().replace(
                f"127.0.0.1:{port}", self.address
            )
        }

    def stop(self):
        self._ends.set()
        super().stop()


class ForwardProxy(Server):
    """A proxy as http_proxy names it. Azurite answers for every host. `hosts` has those that were asked for."""

    def __init__(self, service):
        self.hosts = set()
        proxy = self

        class Forward(Handler):
            def do_GET(self):
                host, slash, path = self.path[len("http://") :].partition("/")
                proxy.hosts.add(host)
                self.forward(service.port, slash + path)

        super().__init__(Forward)
        self.variables = {"http_proxy": f"http://{self.address}"}
