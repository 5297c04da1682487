"""Backups in files: folders that are databases, archives, those that share files with an earlier one, damage; FREEZE."""

import os
import pathlib

import pytest

import chalet

KINDS = ["folder", "a.zip", "a.tar", "a.tar.gz", "a.tgz", "a.tar.zst", "a.tar.xz", "a.tar.bz2"]
SUMS = "SELECT count(), sum(a), sum(cityHash64(s)), sum(n) FROM"


def lines(db, sql):
    return str(db.query(sql, "TSV")).splitlines()


@pytest.fixture
def db(tmp_path):
    with chalet.connect(str(tmp_path / "db")) as db:
        for sql in [
            "SYSTEM STOP MERGES",
            "CREATE TABLE t (a UInt32, s String, INDEX i s TYPE bloom_filter GRANULARITY 1) ENGINE = MergeTree "
            "PARTITION BY a % 2 ORDER BY a",
            "INSERT INTO t SELECT number, toString(number) FROM numbers(100000)",
            "INSERT INTO t SELECT number, 'small' FROM numbers(4)",
            "ALTER TABLE t ADD COLUMN n UInt8 DEFAULT 7",
            "CREATE TABLE l (a UInt32) ENGINE = Log",
            "INSERT INTO l SELECT number FROM numbers(1000)",
            "CREATE TABLE j (a UInt32, b String) ENGINE = Join(ANY, LEFT, a)",
            "INSERT INTO j VALUES (1, 'x'), (2, 'y')",
            "CREATE TABLE m (a UInt32) ENGINE = Memory",
            "INSERT INTO m VALUES (42)",
            "CREATE FUNCTION plus_one AS x -> x + 1",
        ]:
            db.query(sql)
        yield db


@pytest.mark.parametrize("kind", KINDS)
def test_what_goes_in_comes_out(db, tmp_path, kind):
    place = tmp_path / kind
    assert lines(db, f"BACKUP ALL TO File('{place}')")[0].endswith("BACKUP_CREATED")
    assert place.is_dir() == (kind == "folder")
    assert lines(db, f"RESTORE DATABASE default AS r FROM File('{place}')")[0].endswith("RESTORED")
    assert lines(db, f"{SUMS} r.t") == lines(db, f"{SUMS} t")
    assert lines(db, "SELECT count() FROM r.t WHERE s = '1234'") == ["1"]
    assert lines(db, "SELECT sum(a) FROM r.l") == ["499500"]
    assert lines(db, "SELECT joinGet('r.j', 'b', toUInt32(2))") == ["y"]
    # Into a database that has nothing of it, in memory and on disk, open a second time too.
    with chalet.connect() as other:
        other.query(f"RESTORE ALL FROM File('{place}')")
        assert lines(other, f"{SUMS} t") == lines(db, f"{SUMS} t")
        assert lines(other, "SELECT plus_one(1)") == ["2"]
    with chalet.connect(str(tmp_path / "other")) as other:
        other.query(f"RESTORE ALL FROM File('{place}')")
    with chalet.connect(str(tmp_path / "other")) as other:
        assert lines(other, f"{SUMS} t") == lines(db, f"{SUMS} t")
        other.query("INSERT INTO t (a, s) SELECT number, 'more' FROM numbers(100000)")
        other.query("OPTIMIZE TABLE t FINAL")
        assert lines(other, "SELECT count() FROM t") == ["200004"]
    assert sorted(os.listdir(tmp_path)) == sorted(["db", "other", kind])


def test_rows_of_memory_tables_are_in_a_backup(db, tmp_path):
    db.query(f"BACKUP TABLE m TO File('{tmp_path}/m.zip')")
    db.query("DROP TABLE m")
    db.query(f"RESTORE TABLE m FROM File('{tmp_path}/m.zip')")
    assert lines(db, "SELECT * FROM m") == ["42"]


def test_a_backup_in_a_folder_is_a_database(db, tmp_path):
    db.query(f"BACKUP DATABASE default TO File('{tmp_path}/b')")
    db.query("TRUNCATE TABLE t")
    with chalet.connect(f"{tmp_path}/b?mode=ro") as backup:
        assert lines(backup, "SELECT count() FROM t") == ["100004"]


def parts(folder):
    return sorted(pathlib.Path(folder).glob("tables/*/*.parquet"))


def test_a_backup_shares_files_with_an_earlier_one(db, tmp_path):
    db.query(f"BACKUP TABLE t TO File('{tmp_path}/1')")
    db.query("INSERT INTO t (a, s) SELECT number, 'new' FROM numbers(100000)")
    db.query(f"BACKUP TABLE t TO File('{tmp_path}/2') SETTINGS base_backup = File('{tmp_path}/1')")
    old, new = ({file.stat().st_ino for file in parts(tmp_path / name)} for name in "12")
    assert len(old) == 2 and old < new and len(new) == 4
    # The earlier one may go.
    for file in parts(tmp_path / "1"):
        file.unlink()
    db.query(f"RESTORE TABLE t AS r FROM File('{tmp_path}/2')")
    assert lines(db, f"{SUMS} r") == lines(db, f"{SUMS} t")
    told = lines(db, "SELECT base_backup_name != '', num_files > 0, total_size > 100000 FROM system.backups ORDER BY start_time")
    assert told == ["0\t1\t1", "1\t1\t1", "0\t0\t0"]


def test_a_damaged_backup_is_an_error(db, tmp_path):
    db.query(f"BACKUP TABLE t TO File('{tmp_path}/b')")
    db.query(f"BACKUP TABLE t TO File('{tmp_path}/b.zip')")
    packed = (tmp_path / "b.zip").read_bytes()
    (tmp_path / "cut.zip").write_bytes(packed[: len(packed) // 2])
    (tmp_path / "none.zip").write_bytes(b"nothing")
    (tmp_path / "none.tar.gz").write_bytes(b"nothing")
    for name in ["cut.zip", "none.zip", "none.tar.gz"]:
        with pytest.raises(chalet.Error, match="UNPACK|DECOMPRESS|damaged|catalog|CHECKSUM"):
            db.query(f"RESTORE TABLE t AS r FROM File('{tmp_path}/{name}')")
    largest = max(parts(tmp_path / "b"), key=lambda file: file.stat().st_size)
    content = bytearray(largest.read_bytes())
    content[5000] ^= 1
    largest.write_bytes(content)
    with pytest.raises(chalet.Error, match="CHECKSUM_DOESNT_MATCH"):
        db.query(f"RESTORE TABLE t AS r FROM File('{tmp_path}/b')")
    assert lines(db, "EXISTS TABLE r") == ["0"]
    statuses = lines(db, "SELECT DISTINCT status FROM system.backups ORDER BY status")
    assert statuses == ["BACKUP_CREATED", "RESTORE_FAILED"]


def test_archives_put_nothing_elsewhere(db, tmp_path):
    import io
    import tarfile
    import zipfile

    with zipfile.ZipFile(tmp_path / "evil.zip", "w") as archive:
        archive.writestr("../evil-zip", "x")
    with tarfile.open(tmp_path / "evil.tar", "w") as archive:
        member = tarfile.TarInfo("../evil-tar")
        member.size = 1
        archive.addfile(member, io.BytesIO(b"x"))
    import tempfile

    for name in ["evil.zip", "evil.tar"]:
        with pytest.raises(chalet.Error):
            db.query(f"RESTORE ALL FROM File('{tmp_path}/{name}')")
    left = os.listdir(tempfile.gettempdir())
    assert "evil-zip" not in left and "evil-tar" not in left
    assert not [name for name in left if name.startswith(f"chalet-restore-{os.getpid()}-")]


def test_a_failing_backup_leaves_nothing(db, tmp_path):
    db.query("CREATE TABLE s (a UInt8) ENGINE = Set")
    with pytest.raises(chalet.Error, match="NOT_IMPLEMENTED"):
        db.query(f"BACKUP ALL TO File('{tmp_path}/b.zip')")
    db.query(f"BACKUP ALL EXCEPT TABLES s TO File('{tmp_path}/b.zip')")
    with pytest.raises(chalet.Error, match="BACKUP_ALREADY_EXISTS"):
        db.query(f"BACKUP TABLE t TO File('{tmp_path}/b.zip')")
    assert sorted(os.listdir(tmp_path)) == ["b.zip", "db"]


def test_frozen_tables_stay_as_they_were(db, tmp_path):
    db.query("ALTER TABLE t FREEZE")
    db.query("ALTER TABLE t FREEZE PARTITION 1 WITH NAME 'odd'")
    shadow = tmp_path / "db" / "shadow"
    assert sorted(os.listdir(shadow)) == ["1", "odd"]
    assert all(file.stat().st_nlink > 1 for file in parts(shadow / "1"))
    db.query("ALTER TABLE t DELETE WHERE 1")
    with chalet.connect(f"{shadow}/1?mode=ro") as frozen:
        assert lines(frozen, "SELECT count() FROM t") == ["100004"]
    with chalet.connect(f"{shadow}/odd?mode=ro") as frozen:
        assert lines(frozen, "SELECT count(), min(a % 2) FROM t") == ["50002\t1"]
    db.query("ALTER TABLE t UNFREEZE WITH NAME 'odd'")
    assert os.listdir(shadow) == ["1"]
    with pytest.raises(chalet.Error, match="BAD_ARGUMENTS"):
        db.query("ALTER TABLE t FREEZE WITH NAME '../x'")
    with chalet.connect() as memory:
        memory.query("CREATE TABLE t (a UInt8) ENGINE = MergeTree ORDER BY a")
        memory.query("ALTER TABLE t FREEZE")
