"""Two hundred connections of one server at once, over both protocols, that ask and insert: no error, nothing lost, no memory that grows.
CHALET_MANY_SECONDS says for how long, in seconds; without it each connection has a few turns."""

import os
import threading
import time

import shards

import chalet

N_CONNECTIONS = 200
SECONDS = float(os.environ.get("CHALET_MANY_SECONDS", "0"))
TURNS = 3


def resident(pid):
    """MiB of a process that are in memory."""
    with open(f"/proc/{pid}/status") as lines:
        return next(int(line.split()[1]) // 1024 for line in lines if line.startswith("VmRSS"))


def talk(number, url, written, failed, until):
    rows = [(number, n, f"text {n}") for n in range(20)]
    turn = 0
    try:
        with chalet.connect(url) as db:
            while turn < TURNS or time.monotonic() < until:
                assert db.query(f"SELECT sum(number) FROM numbers({number} + 1)", "TSV").data() == f"{number * (number + 1) // 2}\n"
                db.insert_rows("INSERT INTO many VALUES", rows)
                written[number] += len(rows)
                # What this connection has written is there, whoever else writes.
                (found,) = db.execute(f"SELECT count() FROM many WHERE who = {number}").fetchone()
                assert found == written[number], (number, found, written[number])
                assert len(db.execute("SELECT number, toString(number) FROM numbers(500)").fetchall()) == 500
                if turn % 10 == number % 10:
                    try:
                        db.query("SELECT throwIf(number = 3) FROM numbers(10)")
                    except chalet.Error as error:
                        assert error.code == 395, error
                turn += 1
    except BaseException as error:
        failed.append((number, turn, error))


def test_two_hundred_connections():
    with shards.started(1) as (server,):
        with server.connect() as there:
            there.query("CREATE TABLE many (who UInt32, n UInt32, s String) ENGINE = MergeTree ORDER BY (who, n)")
        ways = [f"clickhouse://127.0.0.1:{server.tcp_port}", f"http://127.0.0.1:{server.http_port}"]
        written, failed = [0] * N_CONNECTIONS, []
        until = time.monotonic() + SECONDS
        threads = [threading.Thread(target=talk, args=(n, ways[n % 2], written, failed, until)) for n in range(N_CONNECTIONS)]
        for thread in threads:
            thread.start()
        sizes = []
        while any(thread.is_alive() for thread in threads):
            time.sleep(0.1 if not SECONDS else 10)
            sizes.append(resident(server.process.pid))
            if SECONDS:
                print(f"{time.monotonic() - until + SECONDS:.0f} s: {sizes[-1]} MiB, {sum(written)} rows", flush=True)
        for thread in threads:
            thread.join()
        assert not failed, failed[:5]
        with server.connect() as there:
            assert there.execute("SELECT count(), uniqExact(who) FROM many").fetchone() == (sum(written), N_CONNECTIONS)
            assert there.query("SELECT count() FROM system.processes", "TSV").data() == "1\n"
        # Rows of 20 bytes; the rest is what connections and their threads need.
        assert max(sizes) < 2048, sizes
