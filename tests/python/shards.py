"""Servers of processes of their own, as those that wait for one another need, and relays in front of them that fall silent."""

import contextlib
import socket
import subprocess
import sys
import threading

import chalet
import patience


class Shard:
    """`chalet server`, on free ports."""

    def __init__(self, *arguments):
        command = [sys.executable, "-m", "chalet", "server", "--http", "0", "--tcp", "0", *arguments]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        self.ports = [self._port() for _ in range(4 if arguments else 2)]
        self.http_port, self.tcp_port, self.https_port, self.tcp_secure_port = (*self.ports, None, None)[:4]

    def _port(self):
        return int(self.process.stdout.readline().removesuffix("/play\n").rpartition(":")[2])

    def connect(self):
        return chalet.connect(f"clickhouse://127.0.0.1:{self.tcp_port}")

    def settle(self):
        """Waits until no INSERT runs any more whose client has gone."""
        with self.connect() as there:
            patience.until(lambda: patience.running(there, "INSERT") == 0)

    def stop(self):
        self.process.terminate()
        self.process.wait()
        self.process.stdout.close()


@contextlib.contextmanager
def started(n, *arguments):
    """So many of them."""
    with contextlib.ExitStack() as stack:
        servers = []
        for _ in range(n):
            server = Shard(*arguments)
            stack.callback(server.stop)
            servers.append(server)
        yield servers


class Relay:
    """Passes bytes to a server and back. On connections on which a client has said `word`, what the server says is held back."""

    def __init__(self, port, word=None):
        self.to, self.word = port, word
        self.passed = 0
        self.held = threading.Semaphore(0)
        self.ended = threading.Semaphore(0)
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self._converse, args=(client,), daemon=True).start()

    def _converse(self, client):
        is_held = threading.Event()
        with client, socket.create_connection(("127.0.0.1", self.to)) as server:
            answers = threading.Thread(target=self._answers, args=(client, server, is_held), daemon=True)
            answers.start()
            with contextlib.suppress(OSError):
                while data := client.recv(65536):
                    if self.word and self.word in data and not is_held.is_set():
                        is_held.set()
                        self.held.release()
                    server.sendall(data)
            with contextlib.suppress(OSError):
                server.shutdown(socket.SHUT_RDWR)
            answers.join()
        if is_held.is_set():
            self.ended.release()

    def _answers(self, client, server, is_held):
        with contextlib.suppress(OSError):
            while data := server.recv(65536):
                if is_held.is_set():
                    continue
                client.sendall(data)
                self.passed += len(data)
        with contextlib.suppress(OSError):
            client.shutdown(socket.SHUT_RDWR)

    def close(self):
        self.listener.close()
