"""What a program does with the tables of the MergeTree family that it made: reads, changes, partitions, views, and what tells of them."""

from fuzz_tables import INDEX_TYPES, NUMBERS, SETTINGS, TEXTS, TYPES, Column, column, constraint, create, index, insert, literal, order, projection, ttl

PARTITIONS = ["'202401'", "202401", "202402", "tuple()", "2024", "ID '202401'", "ID 'all'", "1", "'2024-01-15'", "ALL", "('2024-01-15', 1)", "(202401, 1)"]
# Without FINAL the kernel merges what its settings allow, which is nothing here.
OPTIMIZE = ["FINAL", "FINAL", "FINAL", "FINAL DEDUPLICATE", "FINAL DEDUPLICATE BY k", "FINAL DEDUPLICATE BY *", "FINAL DEDUPLICATE BY * EXCEPT d", "FINAL DEDUPLICATE BY COLUMNS('k|d')", "FINAL CLEANUP", "PARTITION tuple() FINAL", "PARTITION 202401 FINAL"]


class Program:
    """One program: its statements are made one by one, over the tables that it made so far."""

    def __init__(self, rng):
        self.rng, self.tables, self.fresh = rng, [], 0

    def chance(self, p):
        return self.rng.random() < p

    def pick(self, choices):
        return self.rng.choice(choices)

    def statements(self, length):
        out = []
        if self.chance(0.3):
            out.append(self.pick(["CREATE DATABASE db1", "CREATE DATABASE IF NOT EXISTS db1", "CREATE DATABASE db1 ENGINE = Atomic"]))
            out.append("USE db1")
        out += self.create() + self.create()
        while len(out) < length:
            out += self.next()
        return out + self.end()

    def create(self):
        name = f"t{len(self.tables)}"
        table, sql = create(self.rng, name)
        self.tables.append(table)
        return [sql, self.pick([f"SHOW CREATE TABLE {name}", f"DESCRIBE TABLE {name}", f"SELECT * FROM {name}", f"EXISTS TABLE {name}"]), insert(self.rng, table), *self.reads(table)]

    def next(self):
        table = self.pick(self.tables)
        roll = self.rng.random()
        for share, make in (
            (0.04, lambda t: self.create()), (0.2, lambda t: [insert(self.rng, t)]), (0.22, self.reads), (0.1, self.told), (0.1, self.alter), (0.07, self.mutation), (0.07, self.partition),
            (0.06, lambda t: [f"OPTIMIZE TABLE {t.name} {self.pick(OPTIMIZE)}".strip(), *self.reads(t)]), (0.05, self.view), (0.04, self.other), (0.03, self.moved),
        ):
            if roll < share:
                return make(table)
            roll -= share
        return self.reads(table)

    def end(self):
        out = []
        for table in self.tables:
            out += [f"SELECT count(), sum(cityHash64(k)) FROM {table.name}", f"SHOW CREATE TABLE {table.name}", f"CHECK TABLE {table.name}"]
        return out + [self.pick(["DROP TABLE {}", "DROP TABLE {} SYNC", "TRUNCATE TABLE {}", "DROP TABLE IF EXISTS {}"]).format(self.tables[0].name), "SHOW TABLES"]

    def reads(self, t):
        return [self.read(t) for _ in range(self.pick([1, 1, 2]))]

    def condition(self, t):
        number = next((c.name for c in t.of(NUMBERS) if c.name != "k"), "1")
        text = next((c.name for c in t.of(TEXTS) if c.name != "k"), "toString(d)")
        k = "'b'" if "String" in t.columns[0].ty else "2"
        c = self.pick(t.columns)
        value = literal(self.rng, c)
        forms = [f"k = {k}", f"k > {k}", f"k IN ({k}, {k})", "d >= '2024-01-15'", "toYYYYMM(d) = 202401", f"{number} > 0", f"{text} = 'a'", f"{text} LIKE '%o%'", f"k = {k} AND d < '2024-02-01'", f"NOT k = {k}", f"{number} BETWEEN 0 AND 10", f"length(toString({text})) > 1"]
        if not c.ty.startswith(("Nested", "Array", "Map", "Tuple", "JSON", "Var", "Dyn", "Point", "Aggregate")) and value not in ("DEFAULT", "NULL", "nan") and c.ty and not c.kind.startswith("EPHEMERAL"):
            forms += [f"{c.name} = {value}", f"{c.name} != {value}"]
        return self.pick(forms)

    def read(self, t):
        columns = [c.name for c in t.columns if not c.kind.startswith("EPHEMERAL") and not c.ty.startswith("Nested")]
        one, condition = self.pick(columns), self.condition(t)
        final = self.pick(["", "", " FINAL"]) if t.engine != "MergeTree" else ""
        keys = ", ".join(k if k[0] != "(" else "k" for k in t.order) or "k"
        forms = [
            f"SELECT * FROM {t.name}{final} ORDER BY ALL", f"SELECT * FROM {t.name}{final} ORDER BY ALL", f"SELECT count() FROM {t.name}{final} WHERE {condition}", f"SELECT k, {one} FROM {t.name}{final} WHERE {condition} ORDER BY ALL",
            f"SELECT k, d FROM {t.name}{final} PREWHERE {condition} ORDER BY ALL", f"SELECT k, {one} FROM {t.name}{final} PREWHERE {self.condition(t)} WHERE {condition} ORDER BY ALL", f"SELECT k FROM {t.name}{final} ORDER BY {keys} LIMIT 3",
            f"SELECT {keys.replace(' DESC', '')} FROM {t.name} ORDER BY {keys} LIMIT 5", f"SELECT k, count() FROM {t.name}{final} GROUP BY k ORDER BY k", f"SELECT min(k), max(d), count() FROM {t.name}", f"SELECT count() FROM {t.name} SAMPLE 1/2", f"SELECT count() FROM {t.name} SAMPLE 1 OFFSET 0",
            f"SELECT k, _sample_factor FROM {t.name} SAMPLE 1000 ORDER BY ALL", f"SELECT _part, _part_offset, k FROM {t.name} ORDER BY _part, _part_offset", f"SELECT _partition_id, count(), uniq(_part) FROM {t.name} GROUP BY _partition_id ORDER BY 1",
            f"SELECT _part_index, _part_rows, _table, _database FROM {t.name} ORDER BY ALL", f"SELECT _partition_value FROM {t.name} ORDER BY ALL", f"SELECT _row_exists, k FROM {t.name} ORDER BY ALL", f"SELECT _block_number, _block_offset, k FROM {t.name} ORDER BY ALL",
            f"SELECT _part_uuid, _part_data_version, k FROM {t.name} ORDER BY ALL", f"SELECT _disk_name, _part_starting_offset, _part_granule_offset FROM {t.name} ORDER BY ALL", f"EXPLAIN indexes = 1 SELECT k FROM {t.name} WHERE {condition}", f"EXPLAIN ESTIMATE SELECT k FROM {t.name} WHERE {condition}",
            f"SELECT d, sum(1), max(k) FROM {t.name} GROUP BY d ORDER BY d", f"SELECT toYYYYMM(d) AS m, count() AS c FROM {t.name} GROUP BY m ORDER BY m", f"SELECT {one} FROM {t.name} WHERE {condition} ORDER BY ALL LIMIT 10", f"SELECT DISTINCT {one} FROM {t.name} ORDER BY ALL",
            f"SELECT * EXCEPT (d) FROM {t.name} WHERE {condition} ORDER BY ALL", f"SELECT k, d FROM {t.name} ORDER BY d DESC, k LIMIT 1 BY k", f"SELECT k FROM {t.name} WHERE k IN (SELECT k FROM {t.name} WHERE {condition}) ORDER BY k", f"SELECT a.k, b.d FROM {t.name} a JOIN {t.name} b USING (k) ORDER BY ALL LIMIT 10",
            f"SELECT argMax({one}, d) FROM {t.name} GROUP BY k ORDER BY ALL", f"SELECT any({one}) IS NOT NULL FROM {t.name}", f"SELECT toTypeName({one}) FROM {t.name} LIMIT 1", f"SELECT * FROM {t.name} WHERE {condition} ORDER BY ALL FORMAT JSONEachRow", f"SELECT * FROM {t.name} ORDER BY ALL LIMIT 2 FORMAT Vertical",
            f"SELECT * FROM merge(currentDatabase(), '^t') ORDER BY ALL LIMIT 3", f"SELECT * FROM mergeTreeIndex(currentDatabase(), {t.name}) ORDER BY ALL", f"SELECT * APPLY(toString) FROM {t.name} ORDER BY ALL", f"SELECT count() FROM {t.name} WHERE {condition} SETTINGS force_primary_key = 1",
            f"SELECT count() FROM {t.name} WHERE {condition} SETTINGS force_index_by_date = 1", f"SELECT k FROM {t.name} ORDER BY k SETTINGS optimize_read_in_order = 0", f"SELECT count() FROM {t.name} WHERE {condition} SETTINGS force_data_skipping_indices = 'idx0'", f"SELECT k FROM {t.name} WHERE indexHint({condition}) ORDER BY k",
            f"SELECT count() FROM {t.name} SETTINGS final = 1", f"SELECT k, d FROM {t.name} WHERE {condition} ORDER BY ALL SETTINGS optimize_use_projections = 1, force_optimize_projection = 1",
        ]
        special = [
            f"SELECT k, finalizeAggregation({c.name}) FROM {t.name} ORDER BY ALL" for c in t.columns if c.ty.startswith("AggregateFunction")
        ] + [f"SELECT k, {c.ty.removeprefix('AggregateFunction(').split(',')[0].rstrip(')')}Merge({c.name}) FROM {t.name} GROUP BY k ORDER BY ALL" for c in t.columns if c.ty.startswith("AggregateFunction")]
        special += [f"SELECT {c.name}.{part} FROM {t.name} ORDER BY ALL" for c in t.columns for part in (["id"] if c.ty.startswith("Nested") else ["keys", "size0"] if c.ty.startswith("Map") else ["a", "b.c"] if c.ty.startswith("JSON") else ["size0"] if c.ty.startswith("Array") else ["null"] if c.ty.startswith("Nullable") else [])]
        return self.pick(special) if special and self.chance(0.15) else self.pick(forms)

    def told(self, t):
        where = f"database = currentDatabase() AND table = '{t.name}'"
        forms = [
            f"SHOW CREATE TABLE {t.name}", f"SHOW CREATE TABLE {t.name}", f"DESCRIBE TABLE {t.name}", f"DESC {t.name}", f"DESCRIBE TABLE {t.name} SETTINGS describe_include_virtual_columns = 1", f"DESCRIBE TABLE {t.name} SETTINGS describe_include_subcolumns = 1", "SHOW TABLES", f"SHOW COLUMNS FROM {t.name}", f"SHOW FULL COLUMNS FROM {t.name}", f"SHOW INDEX FROM {t.name}", f"EXISTS {t.name}",
            f"SELECT partition, sum(rows), countIf(active) > 0 FROM system.parts WHERE {where} AND active GROUP BY partition ORDER BY partition", f"SELECT name, rows, level, partition_id, part_type FROM system.parts WHERE {where} AND active ORDER BY name",
            f"SELECT name, type, default_kind, default_expression, comment, compression_codec, is_in_partition_key, is_in_sorting_key, is_in_primary_key, is_in_sampling_key, position FROM system.columns WHERE {where} ORDER BY position", f"SELECT engine, total_rows, partition_key, sorting_key, primary_key, sampling_key, comment, storage_policy FROM system.tables WHERE name = '{t.name}' AND database = currentDatabase()",
            f"SELECT create_table_query, engine_full FROM system.tables WHERE name = '{t.name}' AND database = currentDatabase()", f"SELECT command, is_done, parts_to_do FROM system.mutations WHERE {where} ORDER BY mutation_id", f"SELECT name, type, type_full, expr, granularity FROM system.data_skipping_indices WHERE {where} ORDER BY name",
            f"SELECT name, type, sorting_key, query FROM system.projections WHERE {where} ORDER BY name", f"SELECT column, type, default_kind, sum(rows) FROM system.parts_columns WHERE {where} AND active GROUP BY ALL ORDER BY ALL", f"SELECT name, rows FROM system.projection_parts WHERE {where} AND active ORDER BY ALL", f"SELECT partition_id, name, reason FROM system.detached_parts WHERE {where} ORDER BY ALL",
            f"SELECT min_time, max_time, min_date, max_date, min_block_number, max_block_number FROM system.parts WHERE {where} AND active ORDER BY ALL", f"SELECT name, is_frozen, marks, primary_key_bytes_in_memory > 0 FROM system.parts WHERE {where} AND active ORDER BY name", f"SHOW CREATE TABLE {t.name} FORMAT TSVRaw",
            f"SELECT dependencies_table, has_own_data, is_temporary, total_bytes > 0 FROM system.tables WHERE name = '{t.name}' AND database = currentDatabase()", f"SELECT count() FROM system.merges WHERE {where}",
            f"SELECT delete_ttl_info_min, delete_ttl_info_max FROM system.parts WHERE {where} AND active ORDER BY name", f"SELECT name, value FROM system.merge_tree_settings WHERE name IN ('index_granularity', 'min_bytes_for_wide_part') ORDER BY name",
        ]
        return [self.pick(forms)]

    def alter(self, t):
        self.fresh += 1
        name = f"c{self.fresh}"
        added = column(self.rng, name, t)
        c, number = self.pick(t.columns[1:]), next((c.name for c in t.of(NUMBERS) if c.name != "k"), "k")
        position = self.pick(["", "", " FIRST", " AFTER k", f" AFTER {c.name}"])
        forms = [
            (f"ADD COLUMN {added.text()}{position}", lambda: t.columns.append(added)), (f"ADD COLUMN IF NOT EXISTS {added.text()}", lambda: t.columns.append(added)), (f"ADD COLUMN {added.text()}", lambda: t.columns.append(added)), (f"DROP COLUMN {c.name}", lambda: self.without(t, c)), (f"DROP COLUMN IF EXISTS nothing", None),
            (f"RENAME COLUMN {c.name} TO {name}", lambda: setattr(c, "name", name)), (f"MODIFY COLUMN {c.name} {self.pick(['String', 'Int64', 'Nullable(String)', 'Float64', 'LowCardinality(String)', 'UInt64'])}", None), (f"MODIFY COLUMN {c.name} DEFAULT {self.pick(['1', chr(39) + 'x' + chr(39), 'toString(k)', 'NULL'])}", None),
            (f"MODIFY COLUMN {c.name} REMOVE {self.pick(['DEFAULT', 'MATERIALIZED', 'ALIAS', 'COMMENT', 'CODEC', 'TTL', 'SETTINGS'])}", None), (f"MODIFY COLUMN {c.name} MODIFY SETTING max_compress_block_size = 65536", None), (f"ALTER COLUMN {c.name} TYPE {self.pick(['String', 'Int64'])}", None), (f"MODIFY COLUMN {c.name} CODEC(ZSTD(5))", None),
            (f"MODIFY COLUMN {c.name} {self.pick(['FIRST', 'AFTER k'])}", None), (f"MODIFY COLUMN {c.name} TTL d + INTERVAL 100 YEAR", None), (f"COMMENT COLUMN {c.name} 'said'", None), (f"MODIFY COMMENT 'of the table'", None), (f"CLEAR COLUMN {c.name}", None), (f"CLEAR COLUMN {c.name} IN PARTITION {self.pick(PARTITIONS)}", None),
            (f"MATERIALIZE COLUMN {c.name}", None), (f"ADD INDEX {index(self.rng, t, 'i' + name)}", None), (f"ADD INDEX IF NOT EXISTS {index(self.rng, t, 'j' + name)} FIRST", None), (f"MATERIALIZE INDEX {self.pick(t.indexes or ['idx0'])}", None), (f"DROP INDEX {self.pick(t.indexes or ['idx0'])}", None), (f"CLEAR INDEX {self.pick(t.indexes or ['idx0'])}", None),
            (f"ADD PROJECTION {projection(self.rng, t, 'q' + name)}", None), (f"MATERIALIZE PROJECTION {self.pick(t.projections or ['p0'])}", None), (f"DROP PROJECTION {self.pick(t.projections or ['p0'])}", None), (f"CLEAR PROJECTION {self.pick(t.projections or ['p0'])}", None), (f"ADD CONSTRAINT {constraint(self.rng, t, 'c' + name)}", None),
            (f"DROP CONSTRAINT {self.pick(t.constraints or ['c0'])}", None), (f"MODIFY TTL {ttl(self.rng, t)}", None), ("REMOVE TTL", None), ("MATERIALIZE TTL", None), (f"MODIFY ORDER BY ({', '.join(t.order or ['k'])}, {name})", None), (f"ADD COLUMN {name} UInt32, MODIFY ORDER BY ({', '.join(t.order or ['k'])}, {name})", lambda: t.columns.append(Column(name, "UInt32"))),
            (f"MODIFY SETTING {self.pick(SETTINGS)}", None), (f"RESET SETTING {self.pick(SETTINGS).split(' ')[0]}", None), (f"ADD STATISTICS {number} TYPE tdigest", None), (f"MATERIALIZE STATISTICS {number}", None), (f"DROP STATISTICS {number}", None), (f"MODIFY STATISTICS {number} TYPE uniq", None), ("REMOVE SAMPLE BY", None), ("MODIFY SAMPLE BY k", None),
            (f"ADD COLUMN {name} UInt8, ADD COLUMN {name}b String AFTER {name}", lambda: t.columns.extend([Column(name, "UInt8"), Column(name + "b", "String")])), (f"MODIFY COLUMN IF EXISTS nothing UInt8", None), ("REWRITE PARTS", None), ("APPLY DELETED MASK", None), (f"MODIFY QUERY SELECT 1", None), (f"MODIFY COLUMN k {self.pick(['UInt64', 'String', 'Int64'])}", None),
        ]
        text, done = self.pick(forms)
        if done:
            done()
        return [f"ALTER TABLE {t.name} {text}", *self.pick([self.reads, self.told, lambda t: [f"SHOW CREATE TABLE {t.name}"]])(t)]

    def without(self, t, c):
        if len(t.columns) > 2 and c.name not in ("k", "d"):
            t.columns.remove(c)

    def mutation(self, t):
        c = self.pick(t.columns[1:])
        condition, value = self.condition(t), literal(self.rng, c)
        number = next((c.name for c in t.of(NUMBERS) if c.name != "k"), c.name)
        partition = self.pick(["", "", "", f" IN PARTITION {self.pick(PARTITIONS)}"])
        sync = self.pick(["", " SETTINGS mutations_sync = 1", " SETTINGS mutations_sync = 2"])
        forms = [
            f"DELETE FROM {t.name} WHERE {condition}", f"DELETE FROM {t.name} WHERE {condition}", f"DELETE FROM {t.name}{partition} WHERE {condition}", f"ALTER TABLE {t.name} DELETE{partition} WHERE {condition}{sync or ' SETTINGS mutations_sync = 1'}", f"ALTER TABLE {t.name} UPDATE {c.name} = {value if value != 'DEFAULT' and not c.ty.startswith('Nested') else c.name}{partition} WHERE {condition} SETTINGS mutations_sync = 2",
            f"ALTER TABLE {t.name} UPDATE {number} = {number} + 1 WHERE {condition} SETTINGS mutations_sync = 1", f"UPDATE {t.name} SET {number} = {number} + 1 WHERE {condition}", f"UPDATE {t.name} SET {c.name} = {value if value != 'DEFAULT' and not c.ty.startswith('Nested') else c.name} WHERE {condition}",
            f"ALTER TABLE {t.name} UPDATE {c.name} = {c.name} WHERE 1, DELETE WHERE {condition} SETTINGS mutations_sync = 1", f"DELETE FROM {t.name} WHERE k IN (SELECT k FROM {t.name} LIMIT 1) SETTINGS lightweight_deletes_sync = 2", f"ALTER TABLE {t.name} UPDATE d = d + 1 WHERE 1 SETTINGS mutations_sync = 1",
            f"ALTER TABLE {t.name} DELETE WHERE 0 SETTINGS mutations_sync = 1", f"KILL MUTATION WHERE database = currentDatabase() AND table = '{t.name}' AND mutation_id = 'none'",
        ]
        return [self.pick(forms), *self.reads(t)]

    def partition(self, t):
        other = self.pick(self.tables)
        p = self.pick(PARTITIONS)
        part = self.pick(["'all_1_1_0'", "'202401_1_1_0'"])
        forms = [
            f"DETACH PARTITION {p}", f"ATTACH PARTITION {p}", f"DROP PARTITION {p}", f"REPLACE PARTITION {p} FROM {other.name}", f"ATTACH PARTITION {p} FROM {other.name}", f"MOVE PARTITION {p} TO TABLE {other.name}", f"FREEZE PARTITION {p}", "FREEZE", "FREEZE WITH NAME 'b1'", "UNFREEZE WITH NAME 'b1'",
            f"DROP PART {part}", f"DETACH PART {part}", f"ATTACH PART {part}", f"DROP DETACHED PARTITION {p} SETTINGS allow_drop_detached = 1", f"CLEAR COLUMN {t.columns[-1].name} IN PARTITION {p}", f"MOVE PARTITION {p} TO DISK 'default'", f"FETCH PARTITION {p} FROM '/x'",
        ]
        out = [f"ALTER TABLE {t.name} {self.pick(forms)}"]
        if "DETACH PARTITION ALL" in out[0] or self.chance(0.3):
            out.append(f"ALTER TABLE {t.name} ATTACH PARTITION {p}")
        return out + self.reads(t)

    def view(self, t):
        self.fresh += 1
        name, number = f"v{self.fresh}", next((c.name for c in t.of(NUMBERS) if c.name != "k"), "1")
        forms = [
            [f"CREATE MATERIALIZED VIEW {name} ENGINE = SummingMergeTree ORDER BY k AS SELECT k, count() AS c, sum({number}) AS s FROM {t.name} GROUP BY k"], [f"CREATE MATERIALIZED VIEW {name} ENGINE = MergeTree ORDER BY k POPULATE AS SELECT k, d FROM {t.name}"],
            [f"CREATE TABLE {name}_to (k String, c UInt64) ENGINE = SummingMergeTree ORDER BY k", f"CREATE MATERIALIZED VIEW {name} TO {name}_to AS SELECT toString(k) AS k, count() AS c FROM {t.name} GROUP BY k"], [f"CREATE VIEW {name} AS SELECT k, {number} FROM {t.name}"], [f"CREATE OR REPLACE VIEW {name} AS SELECT * FROM {t.name} WHERE {self.condition(t)}"],
            [f"CREATE MATERIALIZED VIEW {name} ENGINE = AggregatingMergeTree ORDER BY k AS SELECT k, uniqState(d) AS u, sumState(toFloat64({number})) AS s FROM {t.name} GROUP BY k"], 
            [f"CREATE MATERIALIZED VIEW {name} REFRESH EVERY 1 HOUR ENGINE = MergeTree ORDER BY k AS SELECT k FROM {t.name}"], [f"CREATE MATERIALIZED VIEW {name} REFRESH EVERY 1 HOUR ENGINE = MergeTree ORDER BY k EMPTY AS SELECT k FROM {t.name}", f"SYSTEM REFRESH VIEW {name}", f"SYSTEM WAIT VIEW {name}", f"SELECT view, status FROM system.view_refreshes"],
            [f"CREATE VIEW {name} AS SELECT k FROM {t.name} WHERE k = {{p:String}}", f"SELECT * FROM {name}(p = '1') ORDER BY ALL"],
        ]
        return [*self.pick(forms), self.pick([f"SHOW CREATE TABLE {name}", f"DESCRIBE TABLE {name}"]), insert(self.rng, t), f"SELECT * FROM {name} ORDER BY ALL", self.pick([f"DROP VIEW {name}", f"DROP TABLE {name}", f"OPTIMIZE TABLE {name} FINAL", f"ALTER TABLE {name} MODIFY QUERY SELECT k FROM {t.name}"])]

    def other(self, t):
        self.fresh += 1
        name = f"o{self.fresh}"
        forms = [
            [f"CREATE TABLE {name} AS {t.name}", f"SHOW CREATE TABLE {name}", f"INSERT INTO {name} SELECT * FROM {t.name}"], [f"CREATE TABLE {name} AS {t.name} ENGINE = Memory"], [f"CREATE TABLE {name} ENGINE = MergeTree ORDER BY k AS SELECT * FROM {t.name}", f"SHOW CREATE TABLE {name}"], [f"CREATE TABLE {name} AS {t.name} ENGINE = Null", f"INSERT INTO {name} SELECT * FROM {t.name}"],
            [f"CREATE TABLE {name} AS {t.name} ENGINE = Buffer(currentDatabase(), {t.name}, 1, 10, 100, 10, 100, 1000, 10000)", f"INSERT INTO {name} (k, d) SELECT k, d FROM {t.name}", f"OPTIMIZE TABLE {name}"], [f"CREATE TABLE {name} AS {t.name} ENGINE = Merge(currentDatabase(), '^t')"],
            [f"CREATE TABLE {name} (k {t.columns[0].ty}, d {t.columns[1].ty}) ENGINE = Join(ANY, LEFT, k)", f"INSERT INTO {name} SELECT k, d FROM {t.name}", f"SELECT k, joinGet('{name}', 'd', k) FROM {t.name} ORDER BY ALL"], [f"CREATE TABLE {name} (k {t.columns[0].ty}) ENGINE = Set", f"INSERT INTO {name} SELECT k FROM {t.name} WHERE {self.condition(t)}", f"SELECT count() FROM {t.name} WHERE k IN {name}"],
            [f"CREATE DICTIONARY {name} (k UInt64, d Date DEFAULT '2000-01-01') PRIMARY KEY k SOURCE(CLICKHOUSE(TABLE '{t.name}')) LAYOUT(HASHED()) LIFETIME(0)", f"SELECT dictGet('{name}', 'd', toUInt64(1))", f"SELECT dictHas('{name}', toUInt64(2))", f"DROP DICTIONARY {name}"],
            [f"CREATE TABLE {name} CLONE AS {t.name}", f"SELECT count() FROM {name}"], [f"CREATE TEMPORARY TABLE {name} AS SELECT k FROM {t.name}"], [f"BACKUP TABLE {t.name} TO Memory('{name}')", f"RESTORE TABLE {t.name} AS {name} FROM Memory('{name}')", f"SELECT * FROM {name} ORDER BY ALL"],
            [f"CREATE TABLE {name} ({t.columns[0].text()}) ENGINE = ReplicatedMergeTree('/clickhouse/tables/{name}', 'r1') ORDER BY k"], [f"CREATE TABLE {name} (k UInt8) ENGINE = MergeTree"], [f"CREATE TABLE {name} (k UInt8, PRIMARY KEY k) ENGINE = MergeTree"], [f"CREATE TABLE {name} (k UInt8 PRIMARY KEY, v String)"], [f"CREATE TABLE {name} (k UInt8, v Nullable(String)) ORDER BY v"],
        ]
        return [*self.pick(forms), self.pick([f"SELECT * FROM {name} ORDER BY ALL", f"DESCRIBE TABLE {name}", f"SHOW CREATE TABLE {name}"]), f"DROP TABLE IF EXISTS {name}"]

    def moved(self, t):
        other = self.pick(self.tables)
        self.fresh += 1
        forms = [
            [f"RENAME TABLE {t.name} TO r{self.fresh}", f"SELECT count() FROM r{self.fresh}", f"RENAME TABLE r{self.fresh} TO {t.name}"], [f"DETACH TABLE {t.name}", f"SELECT count() FROM {t.name}", f"ATTACH TABLE {t.name}"], [f"EXCHANGE TABLES {t.name} AND {other.name}", f"SELECT count() FROM {t.name}", f"EXCHANGE TABLES {t.name} AND {other.name}"],
            [f"DETACH TABLE {t.name} PERMANENTLY", f"ATTACH TABLE {t.name}"], [f"TRUNCATE TABLE {t.name}"], [f"CHECK TABLE {t.name} SETTINGS check_query_single_value_result = 0"], [f"CHECK TABLE {t.name} PARTITION {self.pick(PARTITIONS)}"], [f"CHECK TABLE {t.name} PART 'all_1_1_0'"], [f"SYSTEM START MERGES {t.name}", f"SYSTEM STOP MERGES {t.name}"],
            [f"DROP TABLE {t.name}", f"UNDROP TABLE {t.name}"], [f"SYSTEM SYNC REPLICA {t.name}"], [f"SYSTEM FLUSH LOGS"], [f"RENAME TABLE {t.name} TO {other.name}"], [f"SYSTEM RESTART REPLICA {t.name}"],
        ]
        return [*self.pick(forms), *self.reads(t)]
