"""Primaries and edges that tests start."""

from weir_e2e import ServerTest


def edge_fields(client):
    """The section edge of INFO, as text without the prefix edge_."""
    lines = client.call("INFO", "edge").decode().split("\r\n")
    return dict(line.removeprefix("edge_").split(":", 1) for line in lines if ":" in line)


class EdgeTest(ServerTest):
    """A test that starts primaries and edges."""

    def start_mortal(self, port, *options):
        """A server that the test kills, on a port that stays its own."""
        server = self.launch("--port", str(port), *options)
        server.port  # waits until it listens
        return server

    def start_primary(self, *options):
        return self.start(*options)

    def start_edge(self, primary_port, *options):
        """An edge that is connected."""
        edge = self.start("--edge-of", f"127.0.0.1:{primary_port}", *options)
        self.await_connected(edge)
        return edge

    def await_connected(self, edge, state="connected"):
        with self.connect(edge) as client:
            self.await_equal(lambda: edge_fields(client)["state"], state)

    def pair(self, *options):
        """A primary, an edge of it, and a client of each."""
        primary = self.start_primary(*options)
        edge = self.start_edge(primary.port)
        return self.connect(primary), self.connect(edge)

