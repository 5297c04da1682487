//! The 105 columns in order, each with how its value comes out of a hit. Shares and numbers of distinct values
//! follow the published facts: 13 % of the hits come from a search, 0.63 % from an advertisement, and so on.

use crate::hit::{Hit, Referer};
use crate::random::{mix, mix2, skewed, unit};
use crate::text;

/// A column's Parquet type and how to make a value.
pub enum Values {
    Short(fn(&Hit) -> i16),
    Int(fn(&Hit) -> i32),
    Long(fn(&Hit) -> i64),
    Text(fn(&Hit, &mut Vec<u8>)),
    /// Days since 1970.
    Date(fn(&Hit) -> i32),
    /// Milliseconds since 1970, UTC.
    Time(fn(&Hit) -> i64),
}

pub struct Column {
    pub name: &'static str,
    pub values: Values,
}

use Values::{Date, Int, Long, Short, Text, Time};

const fn column(name: &'static str, values: Values) -> Column {
    Column { name, values }
}

pub const COLUMNS: &[Column] = &[
    column("WatchID", Long(Hit::watch_id)),
    column("JavaEnable", Short(|h| (h.of_user(101) % 4 != 0) as i16)),
    column("Title", Text(text::title)),
    column("GoodEvent", Short(|_| 1)),
    column("EventTime", Time(Hit::time)),
    column("EventDate", Date(Hit::day_number)),
    column("CounterID", Int(|h| h.site)),
    column("ClientIP", Int(Hit::client_ip)),
    column("RegionID", Int(|h| region(h.client_ip() as u64))),
    column("UserID", Long(Hit::user_id)),
    column("CounterClass", Short(|h| h.site as i16 % 3 - 1)),
    column("OS", Short(|h| skewed(h.of_user(102), 90, 4.0) as i16)),
    column("UserAgent", Short(|h| skewed(h.of_user(103), 85, 3.0) as i16)),
    column("URL", Text(text::url)),
    column("Referer", Text(text::referer)),
    column("IsRefresh", Short(|h| h.flag(104, 0.13))),
    column("RefererCategoryID", Short(|h| category(h.referer_key(), 0.3))),
    column("RefererRegionID", Int(|h| if h.referer_key() % 3 == 0 { region(h.referer_key()) } else { 0 })),
    column("URLCategoryID", Short(|h| category(h.site as u64, 0.7))),
    column("URLRegionID", Int(|h| region(h.site as u64 / 3))),
    column("ResolutionWidth", Short(|h| resolution(h).0)),
    column("ResolutionHeight", Short(|h| resolution(h).1)),
    column("ResolutionDepth", Short(|h| [0, 16, 24, 32, 32, 37][skewed(h.of_user(105), 6, 0.7) as usize])),
    column("FlashMajor", Short(|h| [0, 9, 10, 11][skewed(h.of_user(106), 4, 0.5) as usize])),
    column("FlashMinor", Short(|h| skewed(h.of_user(107), 10, 2.0) as i16)),
    column("FlashMinor2", Text(|h, out| digits(skewed(h.of_user(108), 900, 5.0), out))),
    column("NetMajor", Short(|h| (h.of_user(109) % 5) as i16 % 4)),
    column("NetMinor", Short(|h| (h.of_user(110) % 6) as i16)),
    column("UserAgentMajor", Short(|h| skewed(h.of_user(111), 80, 2.0) as i16)),
    column("UserAgentMinor", Text(user_agent_minor)),
    column("CookieEnable", Short(|h| (h.of_user(113) % 200 != 0) as i16)),
    column("JavascriptEnable", Short(|h| (h.of_user(114) % 100 != 0) as i16)),
    column("IsMobile", Short(|h| (phone(h) > 0) as i16)),
    column("MobilePhone", Short(|h| (phone(h) % 83) as i16)),
    column("MobilePhoneModel", Text(|h, out| text::phone_model(phone(h), out))),
    column("Params", Text(|h, out| text::rare(h, 115, 0.01, 40_000, out))),
    column("IPNetworkID", Int(|h| skewed(mix2(h.client_ip() as u64, 116), 4_000_000, 4.0) as i32)),
    column("TraficSourceID", Short(trafic_source)),
    column(
        "SearchEngineID",
        Short(|h| if h.phrase > 0 { 1 + skewed(mix2(h.phrase, 117), 95, 4.0) as i16 } else { 0 }),
    ),
    column("SearchPhrase", Text(|h, out| text::phrase(h.phrase, out))),
    column("AdvEngineID", Short(|h| h.rarely(118, 0.0063, 17) as i16 * 2)),
    column("IsArtifical", Short(|h| h.flag(119, 0.06))),
    column("WindowClientWidth", Short(|h| (resolution(h).0 - (h.of_user(120) % 40) as i16).max(0))),
    column("WindowClientHeight", Short(|h| (resolution(h).1 - (h.of_user(121) % 300) as i16).max(0))),
    column(
        "ClientTimeZone",
        Short(|h| [-1, 0, 120, 135, 180, 240, 300][skewed(h.of_user(122), 7, 0.6) as usize]),
    ),
    column("ClientEventTime", Time(|h| h.time() + (skewed(h.of_user(123), 7_200, 3.0) as i64 - 600) * 1000)),
    column("SilverlightVersion1", Short(|h| if silverlight(h) { 5 } else { 0 })),
    column("SilverlightVersion2", Short(|h| if silverlight(h) { 1 } else { 0 })),
    column(
        "SilverlightVersion3",
        Int(|h| if silverlight(h) { 10_000 + (h.of_user(124) % 12) as i32 * 1000 } else { 0 }),
    ),
    column("SilverlightVersion4", Short(|_| 0)),
    column("PageCharset", Text(|h, out| out.extend_from_slice(charset(h)))),
    column("CodeVersion", Int(|h| [0, 1, 291, 307, 1601][skewed(mix2(h.site as u64, 125), 5, 0.5) as usize])),
    column("IsLink", Short(|h| h.flag(126, 0.02))),
    column("IsDownload", Short(|h| h.flag(127, 0.004))),
    column("IsNotBounce", Short(|h| h.flag(128, 0.3))),
    column("FUniqID", Long(|h| if h.of_user(129) % 5 == 0 { 0 } else { (h.of_user(130) >> 1) as i64 })),
    column(
        "OriginalURL",
        Text(|h, out| {
            if h.of_row(131) % 40 == 0 {
                text::url(h, out)
            }
        }),
    ),
    column("HID", Int(|h| h.of_row(132) as u32 as i32)),
    column("IsOldCounter", Short(|_| 0)),
    column("IsEvent", Short(|_| 0)),
    column("IsParameter", Short(|_| 0)),
    column("DontCountHits", Short(|h| h.flag(133, 0.17))),
    column("WithHash", Short(|h| h.flag(134, 0.005))),
    column(
        "HitColor",
        Text(|h, out| out.push(*b"5555E5D5T5gS5m55".get(h.of_row(135) as usize % 16).unwrap_or(&b'5'))),
    ),
    column("LocalEventTime", Time(|h| h.time() + (h.of_user(136) % 6) as i64 * 3_600_000)),
    column("Age", Short(|h| [0, 16, 22, 31, 39, 50][skewed(h.of_user(137), 6, 1.4) as usize])),
    column("Sex", Short(|h| skewed(h.of_user(138), 3, 1.4) as i16)),
    column("Income", Short(|h| skewed(h.of_user(139), 5, 1.8) as i16)),
    column(
        "Interests",
        Short(|h| if h.of_user(140) % 3 == 0 { (h.of_user(141) % 20_000) as i16 } else { 0 }),
    ),
    column("Robotness", Short(|h| skewed(h.of_user(142), 80, 8.0) as i16)),
    column("RemoteIP", Int(|h| mix2(h.client_ip() as u64, 143) as i32)),
    column("WindowName", Int(|h| if h.of_user(144) % 4 == 0 { h.of_user(145) as i32 } else { -1 })),
    column("OpenerName", Int(|h| if h.of_row(146) % 9 == 0 { h.of_user(147) as i32 } else { -1 })),
    column("HistoryLength", Short(|h| skewed(h.of_row(148), 60, 3.0) as i16)),
    column("BrowserLanguage", Text(|h, out| text::code(skewed(h.of_user(149), 60, 5.0), out))),
    column("BrowserCountry", Text(|h, out| text::code(mix(skewed(h.of_user(150), 80, 5.0)), out))),
    column("SocialNetwork", Text(|h, out| text::rare(h, 151, 0.0004, 4, out))),
    column("SocialAction", Text(|h, out| text::rare(h, 152, 0.0004, 3, out))),
    column("HTTPError", Short(|h| if h.of_row(153) % 2_000 == 0 { 404 } else { 0 })),
    column("SendTiming", Int(|h| timing(h, 154))),
    column("DNSTiming", Int(|h| timing(h, 155) / 8)),
    column("ConnectTiming", Int(|h| timing(h, 156) / 4)),
    column("ResponseStartTiming", Int(|h| timing(h, 157))),
    column("ResponseEndTiming", Int(|h| timing(h, 158) * 2)),
    column("FetchTiming", Int(|h| timing(h, 159) * 3)),
    column("SocialSourceNetworkID", Short(|h| h.rarely(160, 0.005, 18) as i16)),
    column("SocialSourcePage", Text(|h, out| text::rare(h, 161, 0.004, 30_000, out))),
    column("ParamPrice", Long(|h| h.rarely(162, 0.0002, 40) * 100)),
    column("ParamOrderID", Text(|h, out| text::rare(h, 163, 0.0002, 200_000, out))),
    column(
        "ParamCurrency",
        Text(|h, out| out.extend_from_slice(if h.flag(164, 0.002) > 0 { b"RUB" } else { b"NH\x1c" })),
    ),
    column("ParamCurrencyID", Short(|h| h.flag(164, 0.002) * 810)),
    column("OpenstatServiceName", Text(|h, out| text::rare(h, 165, 0.01, 60, out))),
    column("OpenstatCampaignID", Text(|h, out| text::rare(h, 165, 0.01, 3_000, out))),
    column("OpenstatAdID", Text(|h, out| text::rare(h, 166, 0.009, 9_000, out))),
    column("OpenstatSourceID", Text(|h, out| text::rare(h, 167, 0.009, 5_000, out))),
    column("UTMSource", Text(|h, out| text::rare(h, 168, 0.03, 300, out))),
    column("UTMMedium", Text(|h, out| text::rare(h, 168, 0.03, 60, out))),
    column("UTMCampaign", Text(|h, out| text::rare(h, 169, 0.025, 2_000, out))),
    column("UTMContent", Text(|h, out| text::rare(h, 170, 0.015, 9_000, out))),
    column("UTMTerm", Text(|h, out| text::rare(h, 171, 0.01, 9_000, out))),
    column("FromTag", Text(|h, out| text::rare(h, 172, 0.005, 4_000, out))),
    column("HasGCLID", Short(|h| h.flag(173, 0.004))),
    column("RefererHash", Long(Hit::referer_hash)),
    column("URLHash", Long(Hit::url_hash)),
    column("CLID", Int(|h| h.rarely(174, 0.02, 2_000_000) as i32)),
];

/// One of 9,040 regions, a few of them with most of the visitors.
fn region(bits: u64) -> i32 {
    1 + skewed(mix2(bits, 181), 9_040, 6.0) as i32
}

/// A category of sites, for a `share` of them.
fn category(key: u64, share: f64) -> i16 {
    let bits = mix2(key, 182);
    if key > 0 && unit(bits) < share { (mix(bits) % 16_000) as i16 } else { 0 }
}

/// Width and height of the user's screen. The widths average 1,513.
fn resolution(hit: &Hit) -> (i16, i16) {
    const SCREENS: &[(i16, i16)] = &[
        (1366, 768),
        (1366, 768),
        (1366, 768),
        (1920, 1080),
        (1920, 1080),
        (1920, 1080),
        (1280, 1024),
        (1280, 1024),
        (1280, 800),
        (1440, 900),
        (1440, 900),
        (1600, 900),
        (1680, 1050),
        (1680, 1050),
        (1024, 768),
        (1638, 922),
        (1996, 1123),
        (1750, 984),
        (1368, 912),
        (1152, 864),
    ];
    let bits = hit.of_user(183);
    if bits % 60 == 0 {
        ((mix(bits) % 2_600) as i16 + 240, 1200)
    } else {
        SCREENS[mix(bits) as usize % SCREENS.len()]
    }
}

/// The phone's model for 5.5 % of the visitors, 1 to 165.
fn phone(hit: &Hit) -> i64 {
    let bits = hit.of_user(184);
    if unit(bits) < 0.055 { 1 + skewed(mix(bits), 165, 3.0) as i64 } else { 0 }
}

fn silverlight(hit: &Hit) -> bool {
    hit.of_user(185) % 4 == 0
}

/// -1 to 9: within the site, direct, a link, a search, ...
fn trafic_source(hit: &Hit) -> i16 {
    let odd = hit.of_row(186);
    match hit.referer {
        Referer::Page(_) if odd % 3 == 0 => 1,
        Referer::Page(_) => -1,
        Referer::None => 0,
        Referer::Search(_) => 2,
        Referer::Link(_) => [1, 1, 3, 4, 5, 6, 7, 8, 9][skewed(odd, 9, 2.5) as usize],
    }
}

fn charset(hit: &Hit) -> &'static [u8] {
    [&b"utf-8"[..], b"windows", b"windows-1251;charset", b"koi8-r"]
        [skewed(mix2(hit.site as u64, 187), 4, 2.0) as usize]
}

fn user_agent_minor(hit: &Hit, out: &mut Vec<u8>) {
    text::code(skewed(hit.of_user(112), 40, 3.0), out);
}

/// Milliseconds of a network step, -1 where the browser does not tell.
fn timing(hit: &Hit, salt: u64) -> i32 {
    if hit.of_user(188) % 5 == 0 { -1 } else { skewed(hit.of_row(salt), 20_000, 4.0) as i32 }
}

fn digits(number: u64, out: &mut Vec<u8>) {
    if number > 0 {
        out.extend_from_slice(number.to_string().as_bytes());
    }
}
