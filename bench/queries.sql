-- The project's own queries over the generated table `hits`, in the dialect of the kernel. Each leans on one thing that an
-- engine must do well; together they are as broad as the well-known ones, over other columns and in other shapes.

-- Counts and filters: from all rows down to almost none.
SELECT count(), min(EventTime), max(EventTime) FROM hits;
SELECT count() FROM hits WHERE IsRefresh = 1 AND ResolutionWidth > 1400;
SELECT count(), sum(IsNotBounce) FROM hits WHERE JavaEnable = 1 AND CookieEnable = 1 AND Age IN (22, 31) AND Sex <> 0;
SELECT count() FROM hits WHERE EventTime >= '2013-07-14 10:00:00' AND EventTime < '2013-07-14 11:30:00';
SELECT WatchID, EventTime, RegionID FROM hits WHERE RefererHash = 3594120000172545465 AND OS = 3 ORDER BY WatchID LIMIT 20;
SELECT count(), avg(ResponseEndTiming) FROM hits WHERE HTTPError = 404 OR ParamCurrencyID = 810;

-- Wide scans: many columns, many sums.
SELECT avg(ResolutionWidth), avg(ResolutionHeight), max(WindowClientWidth), max(WindowClientHeight), min(ClientTimeZone), sum(Robotness), max(HID), min(FUniqID) FROM hits;
SELECT sum(SendTiming - 1), sum(DNSTiming - 1), sum(ConnectTiming - 1), sum(ResponseStartTiming - 1), sum(ResponseEndTiming - 1), sum(FetchTiming - 1), sum(SendTiming + 2), sum(DNSTiming + 2), sum(ConnectTiming + 2), sum(ResponseStartTiming + 2), sum(ResponseEndTiming + 2), sum(FetchTiming + 2), sum(SendTiming - 3), sum(DNSTiming - 3), sum(ConnectTiming - 3), sum(ResponseStartTiming - 3), sum(ResponseEndTiming - 3), sum(FetchTiming - 3), sum(SendTiming + 4), sum(DNSTiming + 4), sum(ConnectTiming + 4), sum(ResponseStartTiming + 4), sum(ResponseEndTiming + 4), sum(FetchTiming + 4), sum(SendTiming - 5), sum(DNSTiming - 5), sum(ConnectTiming - 5), sum(ResponseStartTiming - 5), sum(ResponseEndTiming - 5), sum(FetchTiming - 5), sum(SendTiming + 6), sum(DNSTiming + 6), sum(ConnectTiming + 6), sum(ResponseStartTiming + 6), sum(ResponseEndTiming + 6), sum(FetchTiming + 6), sum(SendTiming - 7), sum(DNSTiming - 7), sum(ConnectTiming - 7), sum(ResponseStartTiming - 7), sum(ResponseEndTiming - 7), sum(FetchTiming - 7), sum(SendTiming + 8), sum(DNSTiming + 8), sum(ConnectTiming + 8), sum(ResponseStartTiming + 8), sum(ResponseEndTiming + 8), sum(FetchTiming + 8), sum(SendTiming - 9), sum(DNSTiming - 9), sum(ConnectTiming - 9), sum(ResponseStartTiming - 9), sum(ResponseEndTiming - 9), sum(FetchTiming - 9), sum(SendTiming + 10), sum(DNSTiming + 10), sum(ConnectTiming + 10), sum(ResponseStartTiming + 10), sum(ResponseEndTiming + 10), sum(FetchTiming + 10), sum(SendTiming - 11), sum(DNSTiming - 11), sum(ConnectTiming - 11), sum(ResponseStartTiming - 11), sum(ResponseEndTiming - 11), sum(FetchTiming - 11), sum(SendTiming + 12), sum(DNSTiming + 12), sum(ConnectTiming + 12), sum(ResponseStartTiming + 12), sum(ResponseEndTiming + 12), sum(FetchTiming + 12), sum(SendTiming - 13), sum(DNSTiming - 13), sum(ConnectTiming - 13), sum(ResponseStartTiming - 13), sum(ResponseEndTiming - 13), sum(FetchTiming - 13), sum(SendTiming + 14), sum(DNSTiming + 14), sum(ConnectTiming + 14), sum(ResponseStartTiming + 14), sum(ResponseEndTiming + 14), sum(FetchTiming + 14), sum(SendTiming - 15), sum(DNSTiming - 15), sum(ConnectTiming - 15), sum(ResponseStartTiming - 15), sum(ResponseEndTiming - 15), sum(FetchTiming - 15) FROM hits;
SELECT * FROM hits WHERE Title LIKE '%тортортор%' OR HTTPError = 404 ORDER BY ClientEventTime, WatchID LIMIT 12;
SELECT sum(length(URL)), sum(length(Referer)), sum(length(Title)), max(length(SearchPhrase)), sum(length(PageCharset)) FROM hits;

-- Distinct values.
SELECT uniqExact(ClientIP) FROM hits;
SELECT uniqExact(Title), uniqExact(URLHash) FROM hits;
SELECT EventDate, count() AS views, uniqExact(UserID) AS visitors FROM hits GROUP BY EventDate ORDER BY EventDate;
SELECT BrowserCountry, uniqExact(ClientIP) AS addresses, uniqExact(RegionID) AS regions FROM hits GROUP BY BrowserCountry ORDER BY addresses DESC, BrowserCountry LIMIT 25;
SELECT DISTINCT OS, UserAgent FROM hits WHERE IsMobile = 1 ORDER BY OS, UserAgent LIMIT 100;

-- Few groups.
SELECT Age, Sex, countIf(IsMobile = 1) AS mobile, avgIf(Income, Robotness < 10) AS income FROM hits GROUP BY Age, Sex ORDER BY Age, Sex;
SELECT multiIf(ResolutionWidth < 800, 'small', ResolutionWidth < 1600, 'middle', 'large') AS screen, count() AS c, avg(FetchTiming) FROM hits GROUP BY screen ORDER BY screen;
SELECT TraficSourceID, IsLink, IsDownload, count() AS c, sum(ResponseStartTiming), max(SendTiming) FROM hits GROUP BY TraficSourceID, IsLink, IsDownload ORDER BY c DESC, TraficSourceID, IsLink, IsDownload;
SELECT RegionID, OS, count() AS c FROM hits WHERE TraficSourceID = 2 GROUP BY RegionID, OS ORDER BY c DESC, RegionID, OS LIMIT 20;
SELECT MobilePhoneModel, any(MobilePhone) >= 0 AS known, count() AS c FROM hits WHERE notEmpty(MobilePhoneModel) GROUP BY MobilePhoneModel ORDER BY c DESC, MobilePhoneModel LIMIT 10;

-- Very many groups of numbers.
SELECT ClientIP, count() AS c, max(EventTime) FROM hits GROUP BY ClientIP ORDER BY c DESC, ClientIP LIMIT 15;
SELECT HID, count() AS c FROM hits GROUP BY HID ORDER BY c DESC LIMIT 5;
SELECT UserID, RegionID, count() AS c, sum(IsRefresh), uniqExact(EventDate) AS days FROM hits GROUP BY UserID, RegionID ORDER BY days DESC, c DESC LIMIT 10;
SELECT FUniqID, EventDate, UserAgent, count() AS c FROM hits WHERE FUniqID <> 0 GROUP BY FUniqID, EventDate, UserAgent ORDER BY c DESC LIMIT 10;
SELECT intDiv(RemoteIP, 256) AS net, bitAnd(OS, 3) AS family, count() AS c FROM hits WHERE RemoteIP > 0 GROUP BY net, family ORDER BY c DESC, net, family LIMIT 10;
SELECT URLHash, CounterID, count() AS c FROM hits GROUP BY URLHash, CounterID LIMIT 20;

-- Very many groups of texts.
SELECT Referer, count() AS c FROM hits WHERE Referer <> '' GROUP BY Referer ORDER BY c DESC LIMIT 12;
SELECT Title, CounterID, count() AS c, min(URL) FROM hits GROUP BY Title, CounterID ORDER BY c DESC, Title LIMIT 12;
SELECT SearchPhrase, SearchEngineID, RegionID, count() AS c FROM hits WHERE length(SearchPhrase) > 40 GROUP BY SearchPhrase, SearchEngineID, RegionID ORDER BY c DESC, SearchPhrase, SearchEngineID, RegionID LIMIT 15;
SELECT concat(BrowserLanguage, '-', BrowserCountry) AS locale, PageCharset, uniqExact(UserID) AS u FROM hits GROUP BY locale, PageCharset ORDER BY u DESC, locale, PageCharset LIMIT 20;

-- Searching in texts.
SELECT count() FROM hits WHERE Title LIKE '%тор%' AND URL NOT LIKE '%?id=%';
SELECT position(URL, 'toboga') > 0 AS found, count(), min(URL) FROM hits GROUP BY found ORDER BY found;
SELECT CounterID, count() AS c FROM hits WHERE startsWith(Referer, 'http://www.') AND lower(Title) LIKE '%на%' GROUP BY CounterID ORDER BY c DESC, CounterID LIMIT 10;
SELECT count(), uniqExact(UserID) FROM hits WHERE match(URL, '/[0-9]{6,}\\.(php|html)$');
SELECT replaceRegexpOne(URL, '^https?://[^/]+/([a-z]+).*$', '\\1') AS section, count() AS c, avg(length(URL)) AS l FROM hits WHERE CounterID > 1000 GROUP BY section ORDER BY c DESC, section LIMIT 20;
SELECT replaceRegexpAll(Referer, '[0-9]+', '#') AS kind, count() AS c FROM hits WHERE IsRefresh = 1 AND Referer <> '' GROUP BY kind ORDER BY c DESC, kind LIMIT 20;

-- Time.
SELECT toHour(EventTime) AS hour, toDayOfWeek(EventTime) AS day, avg(ResolutionWidth), max(FetchTiming) FROM hits GROUP BY hour, day ORDER BY day, hour;
SELECT toStartOfInterval(EventTime, INTERVAL 10 MINUTE) AS slot, count() FROM hits WHERE EventDate = '2013-07-15' GROUP BY slot ORDER BY slot LIMIT 144;
SELECT toStartOfHour(ClientEventTime) AS hour, count() AS views, uniqExact(UserID) AS users FROM hits WHERE CounterID = 62 GROUP BY hour ORDER BY hour LIMIT 24 OFFSET 100;
SELECT UserID, count() AS pages, dateDiff('second', min(EventTime), max(EventTime)) AS span FROM hits WHERE CounterID = 62 GROUP BY UserID HAVING pages > 3 ORDER BY span DESC, UserID LIMIT 10;

-- The first rows of an order.
SELECT URL, EventTime FROM hits WHERE MobilePhoneModel <> '' ORDER BY EventTime DESC, WatchID LIMIT 25;
SELECT Title, RegionID FROM hits WHERE IsDownload = 1 ORDER BY Title, RegionID DESC LIMIT 10 OFFSET 200;
SELECT WatchID, UserID FROM hits ORDER BY UserID DESC, WatchID LIMIT 10;

-- More than one pass.
SELECT a.CounterID, count() AS c FROM hits AS a INNER JOIN (SELECT CounterID, max(EventTime) AS last FROM hits GROUP BY CounterID) AS b ON a.CounterID = b.CounterID AND a.EventTime = b.last GROUP BY a.CounterID ORDER BY c DESC, a.CounterID LIMIT 10;
SELECT count() FROM hits WHERE UserID IN (SELECT UserID FROM hits WHERE AdvEngineID <> 0);
WITH visits AS (SELECT UserID, count() AS n FROM hits GROUP BY UserID) SELECT n, count() AS users FROM visits GROUP BY n ORDER BY n LIMIT 50;
SELECT CounterID, EventDate, count() AS c, row_number() OVER (PARTITION BY EventDate ORDER BY count() DESC, CounterID) AS place FROM hits GROUP BY CounterID, EventDate ORDER BY place, EventDate LIMIT 60;
SELECT quantileExactInclusive(0.5)(ResponseEndTiming), quantileExactInclusive(0.99)(ResponseEndTiming) FROM hits WHERE ResponseEndTiming >= 0;
SELECT CounterID, argMax(URLHash, WatchID) AS latest, max(WatchID) FROM hits GROUP BY CounterID ORDER BY CounterID LIMIT 30;
