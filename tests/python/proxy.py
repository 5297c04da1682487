"""A proxy that does to a conversation what networks, and worse, do: it cuts, withholds, drops, repeats, flips and dribbles."""

import contextlib
import random
import socket
import threading
import time

# What is done to one direction of a connection, at a place of it.
DEEDS = ("cut", "stall", "drop", "repeat", "flip")


class Proxy:
    """Passes bytes to a server and back; `harm` says what happens to connections from then on, None nothing."""

    def __init__(self, port):
        self.to = port
        self.deed, self.direction, self.at, self.chance = None, 0, 0, random.Random(0)
        # Bytes that a connection has passed at most, up and down.
        self.most = [0, 0]
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def harm(self, deed, direction=0, at=0, seed=0):
        self.deed, self.direction, self.at, self.chance = deed, direction, at, random.Random(seed)

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                client, _ = self.listener.accept()
                threading.Thread(target=self._converse, args=(client,), daemon=True).start()

    def _converse(self, client):
        with client, contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.to)) as server:
            down = threading.Thread(target=self._pass, args=(1, server, client), daemon=True)
            down.start()
            self._pass(0, client, server)
            down.join()

    def _pass(self, number, one, other):
        deed = self.deed if self.direction == number or self.deed == "dribble" else None
        passed, is_done = 0, False
        with contextlib.suppress(OSError):
            while data := one.recv(65536):
                at, passed = self.at - passed, passed + len(data)
                self.most[number] = max(self.most[number], passed)
                if deed == "dribble":
                    self._dribble(data, other)
                    continue
                if deed is not None and not is_done and 0 <= at < len(data):
                    is_done = True
                    data = self._harmed(deed, data, at)
                    if deed in ("cut", "stall"):
                        other.sendall(data)
                        if deed == "cut":
                            break
                        # Says nothing more, and takes everything.
                        while one.recv(65536):
                            pass
                        break
                other.sendall(data)
        for end in (one, other):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def _harmed(self, deed, data, at):
        if deed in ("cut", "stall"):
            return data[:at]
        if deed == "flip":
            return data[:at] + bytes([data[at] ^ 1 << self.chance.randrange(8)]) + data[at + 1 :]
        n = self.chance.choice((1, 2, 7, 100))
        return data[:at] + data[at + n :] if deed == "drop" else data[: at + n] + data[at:]

    def _dribble(self, data, other):
        at = 0
        while at < len(data):
            n = self.chance.choice((1, 2, 3, 17, 1000, 60000))
            other.sendall(data[at : at + n])
            at += n
            time.sleep(0.0002)

    def close(self):
        with contextlib.suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
