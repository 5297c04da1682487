SELECT NULL, null, TRUE, false, inf, nan, -inf, NaN
SELECT 0, 1, 18446744073709551615, 18446744073709551616, -1, -9223372036854775808, -9223372036854775809
SELECT 0xFF, 0b101, 1e5, 1.5, .5, 5., 1_000, 1e-3, 1E+3, 0x1p3, 0x1.8p1
SELECT 'a', 'it''s', 'it\'s', 'a\nb\tc', '\x41\x42', '\\', 'é', '日本', ''
SELECT x'4142', X'41', b'01000001', $$a'b$$, $tag$x$$y$tag$
SELECT ‘a’, “b” FROM t
SELECT [1, 2, 3], [], [[1], [2]], ['a', 'b'], [1.5, 2], [NULL, 1]
SELECT (1, 2), (1,), (1, 'a', NULL), ((1, 2), 3), ()
SELECT tuple(), tuple(1), tuple(1, 2), array(), array(1), array(1, x), map('a', 1)
SELECT a + b, a - b, a * b, a / b, a % b, a DIV b, a MOD b
SELECT a + b * c - d / e, (a + b) * c, a - (b - c), a - b - c
SELECT -a, - a, -1, - 1, -(1), -(a + b), - -a, + a, -a * b, -a::Int8
SELECT a = b, a == b, a != b, a <> b, a < b, a > b, a <= b, a >= b, a <=> b
SELECT a AND b, a OR b, NOT a, a AND b AND c, a OR b OR c, a AND b OR c AND d, (a OR b) AND c
SELECT (a AND b) AND c, a AND (b AND c), NOT (a AND b), NOT NOT a, NOT a = b
SELECT a || b, a || b || c, (a || b) || c, a || (b || c), concat(a, b)
SELECT a LIKE 'x%', a NOT LIKE 'x%', a ILIKE 'x%', a NOT ILIKE 'x%', a REGEXP 'x'
SELECT a IN (1, 2), a NOT IN (1, 2), a IN (1), a IN 1, a IN t, a IN db.t, a IN (b, c), a IN (b), a IN [1, 2]
SELECT a GLOBAL IN (SELECT 1), a GLOBAL NOT IN t, (a, b) IN ((1, 2), (3, 4)), a IN (SELECT 1), a IN ()
SELECT a IN tuple(1, 2), a IN f(1), a IN ('a', 'b'), a IN (1 + 1, 2), a IN (NULL, 1)
SELECT a IS NULL, a IS NOT NULL, a IS TRUE, a IS NOT FALSE, a IS UNKNOWN, a IS NOT UNKNOWN
SELECT a IS DISTINCT FROM b, a IS NOT DISTINCT FROM b, a IS NULL = b
SELECT a BETWEEN 1 AND 2, a NOT BETWEEN 1 AND 2, a BETWEEN 1 AND 2 AND b, NOT a BETWEEN 1 AND 2
SELECT a BETWEEN b + 1 AND c * 2 OR d
SELECT a ? b : c, a = 1 ? 'x' : 'y', a ? (b ? 1 : 2) : 3
SELECT CASE WHEN a THEN b END, CASE WHEN a THEN b ELSE c END, CASE WHEN a THEN b WHEN c THEN d ELSE e END
SELECT CASE a WHEN 1 THEN 'x' WHEN 2 THEN 'y' END, CASE a WHEN 1 THEN 2 ELSE 3 END
SELECT if(a, b, c), IF(a, b, c), multiIf(a, b, c), plus(1, 2), equals(a, b), and(a, b, c), not(a), NOT(a)
SELECT a[1], a[-1], a[b], a[1][2], a.1, a.1.2, a.b.1, (a, b).1, f(x).1, f(x).name, (x).name, f(x)[1].a
SELECT arrayElement(a, 1), tupleElement(a, 1), tupleElement(a, 'x'), [1, 2, 3][1], (1, 2).2
SELECT x -> x, x -> x + 1, (x) -> x, (x, y) -> x + y, () -> 1
SELECT arrayMap(x -> x + 1, a), arrayMap((x, y) -> x * y, a, b), arrayFilter(x -> x > 1 AND x < 5, a), arrayMap(x -> (y -> y + x), a)
SELECT arraySort((x, y) -> y, a, b), arrayMap(x -> x = 1 ? 2 : 3, a), arrayMap(x -> x IN (1, 2), a)
SELECT a::Int8, a::Nullable(String), 1::Int8, '1'::Int8, 1.1::Decimal(10, 1), -1::Int8, [1, 2]::Array(UInt8), (1, 'a')::Tuple(UInt8, String)
SELECT (1)::Int8, (a + b)::Int8, a::Int8::Int16, f(x)::String, NULL::Nullable(Int8), a[1]::String, 'a'::FixedString(3)
SELECT CAST(a AS Int8), CAST(a, 'Int8'), cast(a AS Nullable(DateTime64(3, 'UTC'))), CAST((1, 2) AS Tuple(a UInt8, b UInt8)), CAST(a AS b AS Int8)
SELECT CAST(x AS Enum8('a' = 1, 'b' = -2)), CAST(x AS Decimal(18, 4)), CAST(x AS Array(Map(String, LowCardinality(String)))), CAST(x AS DOUBLE PRECISION)
SELECT CAST(x AS AggregateFunction(sum, UInt8)), CAST(x AS AggregateFunction(quantiles(0.5, 0.9), Float64)), CAST(x AS SimpleAggregateFunction(sum, Double))
SELECT CAST(x AS Tuple(a UInt8, b Tuple(c String))), CAST(x AS Nested(a UInt8, b String)), CAST(x AS Variant(String, UInt8)), CAST(x AS Dynamic(max_types = 4)), CAST(x AS JSON(a.b UInt32, SKIP c.d, SKIP REGEXP 'e'))
SELECT CAST(x AS CHAR VARYING(3)), CAST(x AS INT UNSIGNED), CAST(x AS VARCHAR(255)), CAST(x AS BINARY LARGE OBJECT), CAST(x AS TIMESTAMP)
SELECT INTERVAL 1 DAY, INTERVAL -1 WEEK, INTERVAL a MONTH, INTERVAL '1' YEAR, INTERVAL 1 SECOND, INTERVAL (a + 1) HOUR, INTERVAL 2 QUARTER
SELECT INTERVAL '1 day', INTERVAL '1 day 2 hours', INTERVAL '2 years 3 months', now() - INTERVAL 1 DAY, d + INTERVAL 1 MONTH + INTERVAL 2 DAY
SELECT DATE '2020-01-01', TIMESTAMP '2020-01-01 00:00:00', date('2020-01-01'), timestamp('2020-01-01 00:00:00')
SELECT EXTRACT(YEAR FROM d), EXTRACT(MONTH FROM d), EXTRACT(DAY FROM d), EXTRACT(HOUR FROM d), extract(MINUTE FROM d), EXTRACT(SECOND FROM d), EXTRACT(QUARTER FROM d), EXTRACT(WEEK FROM d), extract(s, 'x')
SELECT SUBSTRING(s FROM 1), SUBSTRING(s FROM 1 FOR 2), substring(s, 1), substring(s, 1, 2), substr(s, 2), SUBSTR(s, 1, 2), mid(s, 1, 2)
SELECT TRIM(s), TRIM(BOTH 'a' FROM s), TRIM(LEADING 'a' FROM s), TRIM(TRAILING 'a' FROM s), ltrim(s), rtrim(s), trim(s), trimBoth(s)
SELECT POSITION('a' IN s), position(s, 'a'), position(s, 'a', 2), locate('a', s)
SELECT DATE_ADD(DAY, 1, d), DATE_ADD(d, INTERVAL 1 DAY), DATE_SUB(MONTH, 2, d), TIMESTAMPADD(HOUR, 1, d), DATEADD(YEAR, 1, d), date_sub(d, INTERVAL 1 DAY)
SELECT DATE_DIFF(DAY, a, b), DATE_DIFF('day', a, b), dateDiff('hour', a, b), DATEDIFF(MONTH, a, b), TIMESTAMPDIFF(SECOND, a, b), date_diff('day', a, b, 'UTC')
SELECT date_trunc('month', d), toStartOfInterval(d, INTERVAL 5 MINUTE), age('day', a, b), dateName('month', d)
SELECT count(), count(*), count(a), COUNT(*), sum(a), Sum(a), uniq(a, b), sumIf(a, b > 1), countIf(a)
SELECT count(DISTINCT a), uniqExact(DISTINCT a), sum(DISTINCT a + b), groupArray(10)(a), quantile(0.99)(a), quantilesTDigest(0.5, 0.9)(a)
SELECT {p:UInt8}, {p:String} + 1, {p:Array(Nullable(String))}, {p:DateTime64(3, 'UTC')}
SELECT @@version, @@session.max_threads
SELECT a AT TIME ZONE 'UTC', toTimeZone(a, 'UTC')
SELECT 1 = ANY (SELECT 1), 1 != ALL (SELECT 1), 1 > ANY (SELECT 1), 1 <= ALL (SELECT 1), 1 = ALL (SELECT 1)
SELECT n.null, arr.size0, m.keys, m.values, t.`a b`.c, json.a.b.:Int64, json.^a, json.a[].b
SELECT f(), f(a), f(a, b), f(a, f(b)), F(a), f(*), f(t.*), f(DISTINCT a)
SELECT f(x) + f(y) * 2, -f(x), NOT f(x), f(x) IS NULL, f(x) IN (1, 2), f(x)::String, f(f(f(x)))
SELECT grouping(a), exists(SELECT 1), left(a, 1), right(a, 1), replace(a, 'b', 'c'), overlay(a PLACING 'b' FROM 1 FOR 2)
SELECT any(x), all, any, distinct, `distinct`, interval + 1, case + 1, date + 1
SELECT 1 AS a, a + 1 AS b, (b AS c) + c, [a AS d, d], (a AS e, e)
SELECT 1 + 2 AS x, x * 3 AS y, if(x > 1 AS cond, 'a', 'b') AS z
SELECT a < b < c, a = b = c, a + b = c + d, a * b + c = d AND e, NOT a AND b, NOT (a OR b) AND c
SELECT a % b * c, a * (b % c), a DIV b * c, (a, b) = (c, d), (a, b) IN (c, d), [a, b] = c
SELECT a || b = c || d, a LIKE b || '%', a + 1 || b, a IN (1) AND b IN (2), NOT a IN (1)
SELECT toDate('2020-01-01') + 1, toDateTime('2020-01-01 00:00:00', 'UTC') - 3600
SELECT lambda(tuple(x), x + 1), arrayFold((acc, x) -> acc + x, [1, 2, 3], toInt64(0))
SELECT dictGet('d', 'a', toUInt64(1)), joinGet('j', 'v', 1), arrayJoin([1, 2]) AS x
SELECT (SELECT 1) + 1, (SELECT 1, 2).1, [(SELECT 1)], f((SELECT 1)), (SELECT 1) = (SELECT 2)
SELECT a.b.c + a.b[1].c, t.x.1.y, `weird.name`.x, "a.b"
SELECT row_number() OVER w, rank() OVER (PARTITION BY a ORDER BY b DESC NULLS LAST), dense_rank() OVER (ORDER BY a) FROM t WINDOW w AS (ORDER BY a)
SELECT nth_value(a, 2) OVER (ORDER BY b ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING), sum(a) FILTER (WHERE b) OVER (PARTITION BY c) FROM t
SELECT avg(a) OVER (PARTITION BY b ORDER BY c RANGE BETWEEN 10 PRECEDING AND 5 FOLLOWING) - a AS diff FROM t
SELECT * FROM t WHERE a = 1 AND (b = 2 OR c = 3) AND NOT d IN (4, 5) AND e BETWEEN 6 AND 7 AND f IS NOT NULL AND g LIKE 'h%'
SELECT 'a' LIKE 'b' ESCAPE '#', a NOT ILIKE b ESCAPE 'c' AND d
SELECT x ~ 'a', x ~* 'b', x !~ 'c', x !~* 'd', x ~ 'a' = 1, x ~ 'a' || 'b', 1 + x ~ 'a'
SELECT 1 AS `^``a`, 2 AS `^``b```, `:``c```, `@``d```
SELECT a.^`b``c`, a.:`Array(JSON)`, a.^b.c
