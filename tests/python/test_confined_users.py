"""Users of a server: whatever they say, no file of the machine is read or written but those of their folder, and what only reads changes nothing."""

import base64
import contextlib
import time
import urllib.error
import urllib.parse
import urllib.request

import patience
import pytest

import chalet
import chalet.server

WORD = "TOPSECRET"
USERS = {
    "open": {"password": "p"},
    "shared": {"password": "p"},
    "reader": {"password": "p", "readonly": True},
    "viewer": {"password": "p", "readonly": 1},
}


class Machine:
    """A server with its users' folder, beside which files are that nobody may read and where nobody may write."""

    def __init__(self, folder, kind):
        self.folder = folder
        self.files = folder / "files"
        self.secret = folder / "secret"
        (self.files / "below").mkdir(parents=True)
        (self.files / "a.csv").write_text("1\n2\n")
        self.secret.write_text(f"{WORD}\n")
        (folder / "secret.csv").write_text(f"{WORD}\n")
        (folder / "secret.proto").write_text(f'syntax = "proto3";\nmessage M {{ string {WORD} = 1; }}\n')
        self.database = chalet.connect(str(folder / "db") if kind == "disk" else ":memory:")
        self.database.query("CREATE TABLE t (s String) ENGINE = MergeTree ORDER BY tuple()")
        self.database.query("INSERT INTO t VALUES ('a')")
        users = {name: {**user, **({"files": str(self.files)} if name == "shared" else {})} for name, user in USERS.items()}
        self.server = chalet.server.start(self.database, users=users)
        self.before = self.outside()

    def outside(self):
        """The files beside the users' folder and the database."""
        found = (path for path in self.folder.rglob("*") if not path.is_relative_to(self.files) and not path.is_relative_to(self.folder / "db"))
        return {path: path.read_bytes() if path.is_file() else None for path in found}

    def ask(self, user, sql, **parameters):
        """The status, and all that the answer says."""
        url = f"http://127.0.0.1:{self.server.http_port}/?{urllib.parse.urlencode(parameters)}"
        headers = {"Authorization": "Basic " + base64.b64encode(f"{user}:p".encode()).decode()}
        request = urllib.request.Request(url, data=sql.encode(), headers=headers, method="POST")
        try:
            with urllib.request.urlopen(request, timeout=300) as response:
                return response.status, response.read().decode(errors="replace")
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read().decode(errors="replace")

    def close(self):
        self.server.stop()
        self.database.close()


@pytest.fixture(scope="module", params=["memory", "disk"])
def machine(request, tmp_path_factory):
    made = Machine(tmp_path_factory.mktemp("machine"), request.param)
    yield made
    made.close()


# {s} is a file outside, {d} the folder that it is in, {f} the users' folder.
READS = [
    "SELECT * FROM file('{s}', 'LineAsString')",
    "SELECT * FROM file('file://{s}', 'LineAsString')",
    "SELECT * FROM file('../secret', 'LineAsString')",
    "SELECT * FROM file('below/../../secret', 'LineAsString')",
    "SELECT * FROM file('{{..,below}}/secret', 'LineAsString')",
    "SELECT * FROM file('{{below/..,below}}/../secret', 'LineAsString')",
    "SELECT * FROM file('{{a,../secret}}', 'LineAsString')",
    "SELECT * FROM file('.{{.,}}/secret', 'LineAsString')",
    "SELECT * FROM file('.*/secret', 'LineAsString')",
    "SELECT * FROM file('.?/secret', 'LineAsString')",
    "SELECT * FROM file('{f}/.?/*', 'LineAsString')",
    "SELECT * FROM file('**/../secret', 'LineAsString')",
    "SELECT * FROM file('*/../../secret', 'LineAsString')",
    "SELECT * FROM file('{f}{{,/..}}/secret', 'LineAsString')",
    "SELECT * FROM file('{f}/../secret', 'LineAsString')",
    "SELECT * FROM file(['a.csv', '{s}'], 'LineAsString')",
    "SELECT * FROM fileCluster('c', '{s}', 'LineAsString')",
    "SELECT * FROM '{s}'",
    "SELECT * FROM '{s}.csv'",
    "SELECT * FROM `{s}.csv`",
    "DESCRIBE TABLE file('{s}.csv')",
    "DESCRIBE TABLE file('{s}', 'CSVWithNames')",
    "SELECT file('{s}')",
    "SELECT file('../secret')",
    "SELECT file(concat('../', 'secr', s)) FROM values('s String', 'et')",
    "SELECT * FROM view(SELECT * FROM file('{s}', 'LineAsString'))",
    "SELECT * FROM loop(file('{s}', 'LineAsString')) LIMIT 1",
    "SELECT 1 AS x FORMAT Template SETTINGS format_template_row = '{s}'",
    "SELECT 1 AS x FORMAT Template SETTINGS format_template_row_format = '${{x:CSV}}', format_template_resultset = '{s}'",
    "SELECT 1 AS x FORMAT Template SETTINGS format_template_row = '../secret'",
    "SELECT formatRow('Template', 1) SETTINGS format_template_row = '{s}'",
    "SELECT * FROM format(Template, 'x String', 'a') SETTINGS format_template_row = '{s}'",
    "SELECT 'a' AS TOP FORMAT Protobuf SETTINGS format_schema = '{s}:M'",
    "SELECT 'a' AS x FORMAT Protobuf SETTINGS format_schema_source = 'string', format_schema_message_name = 'N', "
    "format_schema = 'syntax = \"proto3\"; import \"{s}.proto\"; message N {{ M m = 1; }}'",
    "SELECT * FROM url('file://{s}', 'LineAsString', 's String')",
    "SELECT * FROM executable('cat {s}', 'LineAsString', 's String')",
    "SELECT * FROM sqlite('{s}', 't')",
    "SELECT * FROM s3('file://{s}', 'LineAsString')",
    "SELECT * FROM input('s String') FORMAT LineAsString",
    "INSERT INTO t FROM INFILE '{s}' FORMAT LineAsString",
    "INSERT INTO t FROM INFILE '../secret' FORMAT LineAsString",
    "INSERT INTO t SELECT * FROM file('{s}', 'LineAsString')",
    "RESTORE TABLE t AS u FROM File('{d}/backup')",
    "WITH (SELECT * FROM file('{s}', 'LineAsString')) AS x SELECT x",
    "EXPLAIN ANALYZE SELECT * FROM file('{s}', 'LineAsString')",
    "SELECT * FROM system.one SETTINGS chalet_tls = {{'ca_cert': '{s}'}}",
    "SELECT * FROM remoteSecure('127.0.0.1:1', system.one) SETTINGS chalet_tls = {{'ca_cert': '{s}'}}",
    "SELECT * FROM cluster('c', system.one) SETTINGS chalet_clusters = {{'c': 'clickhouses://127.0.0.1:1?ca_cert={s}'}}",
]
MAKES = [
    "CREATE TABLE x (s String) ENGINE = File('LineAsString', '{s}')",
    "CREATE TABLE x (s String) ENGINE = File('LineAsString', '../secret')",
    "CREATE TABLE x ENGINE = File('CSV', '{s}.csv')",
    "CREATE TABLE x ENGINE = Memory AS SELECT * FROM file('{s}', 'LineAsString')",
    "CREATE TABLE x AS file('{s}', 'LineAsString')",
    "CREATE VIEW x AS SELECT * FROM file('{s}', 'LineAsString')",
    "CREATE VIEW x AS SELECT file(concat('{s}', s)) AS c FROM values('s String', '')",
    "CREATE TABLE x (s String, c String ALIAS file(s)) ENGINE = Memory; INSERT INTO x VALUES ('{s}'); SELECT c FROM x",
    "CREATE TABLE x (s String, c String MATERIALIZED file(s)) ENGINE = Memory; INSERT INTO x VALUES ('{s}'); SELECT c FROM x",
    "CREATE TABLE x (s String) ENGINE = MergeTree ORDER BY s; INSERT INTO x VALUES ('{s}'); ALTER TABLE x ADD COLUMN c String DEFAULT file(s); SELECT c FROM x",
    "CREATE TABLE x (s String, c String) ENGINE = MergeTree ORDER BY s; INSERT INTO x VALUES ('{s}', ''); ALTER TABLE x UPDATE c = file(s) WHERE 1; SELECT c FROM x",
    "CREATE TABLE x (s String, c String) ENGINE = MergeTree ORDER BY s TTL toDate('2000-01-01') GROUP BY s SET c = max(file(s)); "
    "INSERT INTO x VALUES ('{s}', ''); INSERT INTO x VALUES ('{s}', ''); OPTIMIZE TABLE x FINAL; SELECT c FROM x",
    "CREATE DICTIONARY x (s String) PRIMARY KEY s SOURCE(FILE(path '{s}' format 'LineAsString')) LAYOUT(COMPLEX_KEY_HASHED()) LIFETIME(0); SELECT * FROM x",
    "CREATE DICTIONARY x (s String) PRIMARY KEY s SOURCE(CLICKHOUSE(QUERY 'SELECT * FROM file(''{s}'', ''LineAsString'')')) "
    "LAYOUT(COMPLEX_KEY_HASHED()) LIFETIME(0); SELECT * FROM x",
    "CREATE DICTIONARY x (s String) PRIMARY KEY s SOURCE(EXECUTABLE(command 'cat {s}' format 'LineAsString')) LAYOUT(COMPLEX_KEY_HASHED()) LIFETIME(0); SELECT * FROM x",
    "CREATE FUNCTION x AS p -> file(p); SELECT x('{s}')",
    "CREATE DATABASE x ENGINE = Filesystem('{d}'); SELECT * FROM x.`secret.csv`",
    "CREATE DATABASE x ENGINE = Backup('default', File('{d}/backup'))",
    "CREATE DATABASE x ENGINE = SQLite('{s}')",
    "CREATE TABLE x (s String) ENGINE = URL('file://{s}', LineAsString); SELECT * FROM x",
    "CREATE TABLE x (s String) ENGINE = Executable('cat {s}', LineAsString); SELECT * FROM x",
    "CREATE TABLE x (s String) ENGINE = MergeTree ORDER BY s SETTINGS disk = disk(type = local, path = '{d}/disk/')",
    "CREATE TABLE x (s String) ENGINE = MergeTree ORDER BY s SETTINGS storage_policy = '{d}'",
    "ATTACH TABLE x FROM '{d}/part' (s String) ENGINE = MergeTree ORDER BY s",
    "ALTER TABLE t FREEZE WITH NAME '../../../w'",
    "ALTER TABLE t FREEZE WITH NAME '{d}/w'",
    "ALTER TABLE t ATTACH PARTITION ID 'all' FROM '{d}'",
    "ALTER TABLE t FETCH PARTITION ID 'all' FROM '{d}'",
    "SELECT 1 INTO OUTFILE '{d}/w'",
    "SELECT 1 INTO OUTFILE 'w' TRUNCATE",
    "SELECT 1 FORMAT Protobuf SETTINGS output_format_schema = '{d}/w'",
    "SELECT 1 FORMAT Protobuf SETTINGS output_format_schema = '../w'",
    "INSERT INTO FUNCTION file('{d}/w.csv', 'CSV', 'x UInt8') SELECT 1",
    "INSERT INTO FUNCTION file('../w.csv', 'CSV', 'x UInt8') SELECT 1",
    "INSERT INTO FUNCTION file('{{_partition_id}}.csv', 'CSV', 'x String') PARTITION BY x VALUES ('../w')",
    "INSERT INTO FUNCTION file('.{{.,}}/w.csv', 'CSV', 'x UInt8') SELECT 1",
    "INSERT INTO FUNCTION file('{s}', 'CSV', 'x UInt8') SETTINGS engine_file_truncate_on_insert = 1 SELECT 1",
    "BACKUP TABLE t TO File('{d}/w')",
    "BACKUP TABLE t TO File('../w')",
    "BACKUP TABLE t TO File('{d}/w.zip')",
    "BACKUP DATABASE default TO Disk('default', '../../w')",
    "CREATE TABLE x (s String) ENGINE = File('Template', 'x') SETTINGS format_template_row = '{s}'; INSERT INTO x VALUES ('a'); SELECT * FROM x",
    "CREATE TABLE x (s String) ENGINE = File('Protobuf', 'x') SETTINGS output_format_schema = '{d}/w'; INSERT INTO x VALUES ('a')",
    "CREATE TEMPORARY TABLE x (s String) ENGINE = File('LineAsString', '{s}')",
    "SYSTEM SHUTDOWN",
    "SYSTEM KILL",
]


@pytest.mark.parametrize("user", USERS)
@pytest.mark.parametrize("text", [*READS, *MAKES])
def test_nothing_of_the_machine(machine, user, text):
    written = text.format(s=machine.secret, d=machine.folder, f=machine.files)
    try:
        for sql in written.split("; "):
            _, said = machine.ask(user, sql, session_id=f"{user}-confined")
            assert WORD not in said, (sql, said)
    finally:
        for kind in ("TABLE", "DICTIONARY", "DATABASE", "FUNCTION"):
            with contextlib.suppress(chalet.Error):
                machine.database.query(f"DROP {kind} IF EXISTS x")
        machine.ask(user, "DROP TEMPORARY TABLE IF EXISTS x", session_id=f"{user}-confined")
    assert machine.outside() == machine.before
    assert machine.database.query("SELECT s FROM t").data() == '"a"\n'
    assert machine.ask(user, "SELECT 1") == (200, "1\n")


@pytest.mark.parametrize("user", ["reader", "viewer"])
@pytest.mark.parametrize(
    "sql",
    [
        "INSERT INTO t VALUES ('b')",
        "INSERT INTO t SETTINGS readonly = 0 VALUES ('b')",
        "INSERT INTO t SELECT 'b' SETTINGS readonly = 0",
        "SET readonly = 0",
        "SELECT 1 SETTINGS readonly = 0",
        "CREATE TABLE y ENGINE = Memory AS SELECT 1 SETTINGS readonly = 0",
        "CREATE TABLE y (x UInt8) ENGINE = Memory SETTINGS readonly = 0",
        "CREATE VIEW y AS SELECT 1",
        "CREATE FUNCTION y AS x -> x",
        "CREATE DATABASE y",
        "DROP TABLE t",
        "TRUNCATE TABLE t",
        "ALTER TABLE t DELETE WHERE 1",
        "DELETE FROM t WHERE 1",
        "RENAME TABLE t TO u",
        "DETACH TABLE t",
        "OPTIMIZE TABLE t",
        "BACKUP TABLE t TO Memory('m')",
        "SYSTEM STOP MERGES",
        "KILL QUERY WHERE 1",
        "EXPLAIN ANALYZE INSERT INTO t VALUES ('b')",
        "INSERT INTO FUNCTION file('w.csv', 'CSV', 'x UInt8') SELECT 1",
        "INSERT INTO FUNCTION remote('127.0.0.1:1', default.t) SELECT 'b'",
        "CREATE TEMPORARY TABLE y (x UInt8) ENGINE = File('CSV', 'w.csv')",
        "CREATE TEMPORARY TABLE y (x String) ENGINE = Distributed('c', 'default', 't')",
        "SELECT 1 FORMAT Protobuf SETTINGS output_format_schema = 'w.proto'",
        "SELECT 1 INTO OUTFILE 'w'",
    ],
)
def test_who_only_reads_changes_nothing(machine, user, sql):
    status, said = machine.ask(user, sql)
    rows = machine.database.query("SELECT s FROM t").data()
    # As it was before, for the next.
    machine.database.query("TRUNCATE TABLE t; INSERT INTO t VALUES ('a'); DROP TABLE IF EXISTS y")
    assert status >= 400, said
    assert machine.outside() == machine.before and sorted(p.name for p in machine.files.iterdir()) == ["a.csv", "below"]
    assert rows == '"a"\n'


@pytest.mark.parametrize("sql", ["SELECT 1 SETTINGS max_block_size = 77", "SET max_block_size = 77", "SELECT 1 UNION ALL SELECT 2 SETTINGS max_block_size = 77"])
def test_who_may_set_nothing(machine, sql):
    assert machine.ask("viewer", sql)[0] >= 400 and machine.ask("reader", sql)[0] == 200


def test_views_that_the_clock_fills_read_no_files_for_their_users(machine):
    machine.database.query("CREATE TABLE paths (p String) ENGINE = Memory")
    machine.database.query(f"INSERT INTO paths VALUES ('{machine.secret}')")
    for user in ("open", "shared"):
        for query in ("SELECT file(p) AS c FROM paths", "SELECT c FROM inside"):
            machine.ask(user, "CREATE VIEW inside AS SELECT file(p) AS c FROM paths")
            status, said = machine.ask(user, f"CREATE MATERIALIZED VIEW filled REFRESH EVERY 1 SECOND ENGINE = Memory AS {query}")
            assert status == 200, said
            ends = time.monotonic() + patience.LONG
            state = ""
            while "ACCESS_DENIED" not in state:
                assert time.monotonic() < ends, state
                _, state = machine.ask(user, "SELECT exception FROM system.view_refreshes WHERE view = 'filled'")
                assert WORD not in state
                time.sleep(0.02)
            assert WORD not in machine.ask(user, "SELECT * FROM filled")[1]
            machine.database.query("DROP TABLE filled; DROP TABLE inside")
    # That of the program does.
    machine.database.query("CREATE MATERIALIZED VIEW filled REFRESH EVERY 1 SECOND ENGINE = Memory AS SELECT file(p) AS c FROM paths")
    machine.database.query("SYSTEM WAIT VIEW filled")
    assert WORD in machine.database.query("SELECT * FROM filled").data()
    machine.database.query("DROP TABLE filled; DROP TABLE paths")


def test_links_are_followed(machine):
    """Who made them may read what they point at."""
    link = machine.files / "link.csv"
    link.symlink_to(machine.files / "a.csv")
    assert machine.ask("shared", "SELECT sum(c1) FROM file('link.csv')") == (200, "3\n")
    assert machine.ask("shared", "SELECT sum(c1) FROM file('{a,b}.csv')") == (200, "3\n")
    assert machine.ask("shared", "SELECT count() FROM file('below/../*.csv')") == (200, "4\n")
    link.unlink()


def test_tables_in_the_folder_are_there_again(tmp_path):
    files = tmp_path / "files"
    files.mkdir()
    users = {"shared": {"password": "p", "files": str(files)}, "default": {"password": "p"}}
    with chalet.connect(tmp_path / "db") as database, chalet.server.start(database, users=users) as server:
        with chalet.connect(f"clickhouse://shared:p@127.0.0.1:{server.tcp_port}") as client:
            client.query("CREATE TABLE mine (x UInt8) ENGINE = File('CSV', 'mine.csv')")
            client.query("INSERT INTO mine VALUES (7)")
    assert (files / "mine.csv").read_text() == "7\n"
    with chalet.connect(tmp_path / "db") as database:
        assert database.query("SELECT x FROM mine").data() == "7\n"
