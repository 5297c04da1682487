"""Clusters that the setting `chalet_clusters` names, over databases that other processes serve."""

import pytest
import tls
from shards import started

import chalet


@pytest.fixture(scope="module")
def shards(tmp_path_factory):
    """Two servers, each with its rows of `t`, and the certificate of both."""
    cert, key = tls.certificate(tmp_path_factory.mktemp("certificates"))
    with started(2, "--https", "0", "--tcp-secure", "0", "--certificate", cert, "--key", key) as servers:
        for number, server in enumerate(servers):
            with server.connect() as there:
                there.query("CREATE TABLE t (k UInt8, v UInt64, s String) ENGINE = Memory")
                there.query(f"INSERT INTO t SELECT number % 3, number * 2 + {number}, toString(number) FROM numbers(1000)")
        yield servers, cert


@pytest.fixture
def db():
    with chalet.connect(":memory:") as connection:
        yield connection


SUMS = "SELECT k, count(), sum(v), uniqExact(s) FROM {} GROUP BY k ORDER BY k"
EXPECTED = "0\t668\t667666\t334\n1\t666\t665001\t333\n2\t666\t666333\t333\n"


def text(db, sql):
    return db.query(sql, "TSV").data()


def test_shards_over_each_transport(shards, db):
    servers, cert = shards
    for scheme, ports, options in (
        ("clickhouse", [s.tcp_port for s in servers], ""),
        ("http", [s.http_port for s in servers], ""),
        ("clickhouses", [s.tcp_secure_port for s in servers], f"?ca_cert={cert}"),
        ("https", [s.https_port for s in servers], f"?ca_cert={cert}"),
    ):
        url = f"{scheme}://default@" + ",".join(f"127.0.0.1:{port}" for port in ports) + "/" + options
        db.query(f"SET chalet_clusters = {{'main': '{url}'}}")
        assert text(db, SUMS.format("cluster('main', default.t)")) == EXPECTED
        assert text(db, "SELECT v FROM cluster(main, default, t) WHERE v BETWEEN 4 AND 5 ORDER BY v") == "4\n5\n"
        assert text(db, "SELECT count() FROM cluster('main', default.t) WHERE v < 0") == "0\n"
        assert text(db, "SELECT count() FROM cluster('main')") == "2\n"
        with pytest.raises(chalet.Error, match="no_such_table"):
            db.query("SELECT * FROM cluster('main', default.no_such_table)")


def test_inserts_over_each_transport(shards, db):
    servers, cert = shards
    server = servers[0]
    for name, url in (
        ("a", f"clickhouse://127.0.0.1:{server.tcp_port}"),
        ("b", f"http://127.0.0.1:{server.http_port}"),
        ("c", f"https://127.0.0.1:{server.https_port}/?ca_cert={cert}"),
    ):
        db.query(f"SET chalet_clusters = {{'main': '{url}'}}")
        with server.connect() as there:
            there.query(f"CREATE TABLE taken_{name} (n UInt64, s String) ENGINE = Memory")
            db.query(f"INSERT INTO FUNCTION cluster('main', default.taken_{name}) SELECT number, toString(number) FROM numbers(200000)")
            assert text(there, f"SELECT count(), sum(n), sum(length(s)) FROM taken_{name}") == "200000\t19999900000\t1088890\n"
            there.query(f"DROP TABLE taken_{name}")


def test_replicas(shards, db):
    (first, second), _ = shards
    one, two = (f"127.0.0.1:{server.tcp_port}" for server in (first, second))
    db.query(f"SET chalet_clusters = {{'main': 'clickhouse://{one}|{two}', 'half': 'clickhouse://127.0.0.1:1|{two}', 'gone': 'clickhouse://{one},127.0.0.1:1'}}")
    assert text(db, "SELECT count() FROM cluster('main', default.t)") == "1000\n"
    assert text(db, "SELECT count() FROM clusterAllReplicas('main', default.t)") == "2000\n"
    assert text(db, "SELECT count(), min(v) FROM cluster('half', default.t)") == "1000\t1\n"
    with pytest.raises(chalet.Error, match="(?i)refused"):
        db.query("SELECT sum(v) FROM cluster('gone', default.t)")
    assert text(db, "SELECT count(), sum(v) FROM cluster('gone', default.t) SETTINGS skip_unavailable_shards = 1") == "1000\t999000\n"


def test_what_is_known_of_clusters(db):
    assert text(db, "SELECT count() FROM system.clusters") == "0\n"
    db.query("SET chalet_clusters = {'b': 'clickhouse://alice:secret@h1|h2:9001,{h3,h4}/d', 'a': 'https://h?verify=0'}")
    assert text(db, "SELECT cluster, shard_num, replica_num, host_name, port, user, default_database FROM system.clusters ORDER BY 1, 2, 3") == (
        "a\t1\t1\th\t8443\tdefault\t\n"
        "b\t1\t1\th1\t9000\talice\td\nb\t1\t2\th2\t9001\talice\td\nb\t2\t1\th3\t9000\talice\td\nb\t3\t1\th4\t9000\talice\td\n"
    )
    assert text(db, "SHOW CLUSTERS") == "a\nb\n"
    with pytest.raises(chalet.Error, match="Requested cluster 'c' not found"):
        db.query("SELECT * FROM cluster('c', system.one)")
    db.query("SET chalet_clusters = {'wrong': 'ftp://h'}")
    with pytest.raises(chalet.Error, match="cluster wrong"):
        db.query("SELECT * FROM cluster('wrong', system.one)")


def test_remote_with_tls(shards, db):
    (first, _), cert = shards
    remote = f"remoteSecure('127.0.0.1:{first.tcp_secure_port}', default.t)"
    with pytest.raises(chalet.Error, match="certificate verify failed"):
        db.query(f"SELECT count() FROM {remote}")
    for trust in (f"{{'ca_cert': '{cert}'}}", "{'verify': '0'}"):
        db.query(f"SET chalet_tls = {trust}")
        assert text(db, f"SELECT count(), sum(v) FROM {remote}") == "1000\t999000\n"
    db.query("SET chalet_tls = {'nonsense': '1'}")
    with pytest.raises(chalet.Error, match="Unknown option nonsense of chalet_tls"):
        db.query(f"SELECT count() FROM {remote}")
    # Clients of a server look at no files through it.
    with first.connect() as there, pytest.raises(chalet.Error, match="Not enough privileges"):
        there.query("SELECT * FROM remoteSecure('127.0.0.1:1', system.one) SETTINGS chalet_tls = {'ca_cert': '/etc/passwd'}")


def test_distributed_tables(shards, db, tmp_path):
    servers, _ = shards
    url = "clickhouse://default@" + ",".join(f"127.0.0.1:{server.tcp_port}" for server in servers)
    db.query(f"SET chalet_clusters = {{'main': '{url}'}}")
    db.query("CREATE TABLE d ENGINE = Distributed('main', 'default', 't')")
    assert text(db, "SHOW CREATE TABLE d FORMAT TSVRaw") == (
        "CREATE TABLE default.d\n(\n    `k` UInt8,\n    `v` UInt64,\n    `s` String\n)\nENGINE = Distributed('main', 'default', 't')\n"
    )
    assert text(db, SUMS.format("d")) == EXPECTED
    assert text(db, "SELECT v FROM d WHERE v BETWEEN 4 AND 5 ORDER BY v") == "4\n5\n"
    # Grouped by the servers.
    assert "countState()" in db.query("EXPLAIN ANALYZE SELECT k, count() FROM d GROUP BY k", "TSVRaw").data()
    with pytest.raises(chalet.Error, match="STORAGE_REQUIRES_PARAMETER"):
        db.query("INSERT INTO d VALUES (1, 1, '')")
    for server in servers:
        with server.connect() as there:
            there.query("CREATE TABLE parts (n Int64, s String DEFAULT 'x') ENGINE = Memory")
    db.query("CREATE TABLE e (n Int64, s String) ENGINE = Distributed(main, default, parts, n % 8)")
    db.query("INSERT INTO e SELECT number, toString(number) FROM numbers(1000)")
    db.query("INSERT INTO e (n) VALUES (1000)")
    for number, server in enumerate(servers):
        with server.connect() as there:
            assert text(there, "SELECT count(), uniqExact(n % 2), min(n % 2) FROM parts") == f"{501 - number}\t1\t{number}\n"
    assert text(db, "SELECT count(), sum(n), uniqExact(s) FROM e") == "1001\t500500\t1001\n"
    # To one shard a block.
    db.query("CREATE TABLE any AS e ENGINE = Distributed('main', 'default', 'parts')")
    with pytest.raises(chalet.Error, match="STORAGE_REQUIRES_PARAMETER"):
        db.query("INSERT INTO any SELECT 1, ''")
    db.query("INSERT INTO any SETTINGS insert_distributed_one_random_shard = 1 SELECT number, '' FROM numbers(10)")
    assert text(db, "SELECT count() FROM any") == "1011\n"
    for wrong, error in (
        ("Distributed('main', 'default')", "NUMBER_OF_ARGUMENTS_DOESNT_MATCH"),
        ("Distributed('none', 'default', 't')", "CLUSTER_DOESNT_EXIST"),
        ("Distributed('main', 'default', 'parts', s)", "TYPE_MISMATCH"),
        ("Distributed('main', 'default', 'parts', nothing)", "UNKNOWN_IDENTIFIER"),
    ):
        with pytest.raises(chalet.Error, match=error):
            db.query(f"CREATE TABLE w (n Int64, s String) ENGINE = {wrong}")
    db.query("DROP TABLE d")
    assert text(db, "SELECT count() FROM cluster('main', default.t)") == "2000\n"
    # Kept on disk; the cluster is that of the session that uses it.
    path = str(tmp_path / "kept")
    with chalet.connect(path) as kept:
        kept.query(f"SET chalet_clusters = {{'main': '{url}'}}")
        kept.query("CREATE TABLE e (n Int64, s String) ENGINE = Distributed(main, default, parts, n)")
    with chalet.connect(path) as kept:
        with pytest.raises(chalet.Error, match="CLUSTER_DOESNT_EXIST"):
            kept.query("SELECT count() FROM e")
        kept.query(f"SET chalet_clusters = {{'main': '{url}'}}")
        assert text(kept, "SELECT count() FROM e") == "1011\n"


def test_functions_of_tables_and_sharding_keys_as_arguments(shards, db):
    servers, _ = shards
    both = ",".join(f"127.0.0.1:{server.tcp_port}" for server in servers)
    db.query(f"SET chalet_clusters = {{'main': 'clickhouse://{both}'}}")
    for call in ("remote('" + both + "', {})", "cluster('main', {})"):
        assert text(db, f"SELECT number, count() FROM {call.format('numbers(2)')} GROUP BY number ORDER BY number") == "0\t2\n1\t2\n"
        view = call.format("view(SELECT k, max(v) AS m FROM default.t GROUP BY k)")
        assert text(db, f"SELECT k, max(m) FROM {view} GROUP BY k ORDER BY k") == "0\t1999\n1\t1995\n2\t1997\n"
        assert text(db, f"DESCRIBE TABLE {call.format('numbers(2)')}") == "number\tUInt64\t\t\t\t\t\n"
    for server in servers:
        with server.connect() as there:
            there.query("CREATE OR REPLACE TABLE divided (k UInt64, s String) ENGINE = Memory")
    for tail in ("k", "'default', k + 1", "'default', '', intHash64(k) * 0"):
        db.query(f"INSERT INTO FUNCTION remote('{both}', default.divided, {tail}) SELECT number, '' FROM numbers(10)")
    db.query("INSERT INTO FUNCTION cluster('main', default.divided, 1) SELECT number, '' FROM numbers(10)")
    found = []
    for server in servers:
        with server.connect() as there:
            found.append(there.query("SELECT count(), countIf(k % 2 = 0) FROM divided", "TSV").data())
    assert found == ["20\t10\n", "20\t10\n"]
    assert text(db, f"SELECT count() FROM remote('{both}', default.divided, rand())") == "40\n"
    with pytest.raises(chalet.Error, match="no sharding key provided"):
        db.query(f"INSERT INTO FUNCTION remote('{both}', default.divided) VALUES (1, '')")
    with pytest.raises(chalet.Error, match="should be one of integer type"):
        db.query(f"INSERT INTO FUNCTION remote('{both}', default.divided, s) VALUES (1, '')")
