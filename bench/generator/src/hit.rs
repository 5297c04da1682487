//! One page view in few bytes: who, where, when and from where. All 105 columns are computed from it.

use crate::plan::{Cell, FIRST_DAY, KNOWN_SITE};
use crate::random::{Random, mix, mix2, skewed, unit};

/// Looked up by a well-known point query.
const KNOWN_USER: i64 = 435_090_932_899_640_449;
/// Hashes that well-known queries over the known site look up: of its front page and of one page that links to it.
const KNOWN_URL_HASH: i64 = 2_868_770_270_353_813_622;
const KNOWN_REFERER_HASH: i64 = 3_594_120_000_172_545_465;
const KNOWN_LINK: u64 = 5;

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Referer {
    None,
    /// A page of the same site.
    Page(Page),
    /// A search engine's page of results for a phrase.
    Search(u64),
    /// A link on another site.
    Link(u64),
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Page {
    pub number: u32,
    /// 0 when the address has no parameters; parameters make addresses distinct, not titles.
    pub parameters: u32,
}

#[derive(Clone, Copy, Debug)]
pub struct Hit {
    pub site: i32,
    pub row: u64,
    pub day: u16,
    /// Seconds since midnight.
    pub second: u32,
    pub user: u64,
    pub page: Page,
    pub referer: Referer,
    /// 0 when the visit did not come from a search.
    pub phrase: u64,
    /// Random bits of this row, for the columns that hang together with nothing.
    pub noise: u64,
}

/// How many users, phrases and links a table of this size draws from.
#[derive(Clone, Copy, Debug)]
pub struct World {
    pub seed: u64,
    users: u64,
    phrases: u64,
    links: u64,
}

impl World {
    pub fn new(n_rows: u64, seed: u64) -> World {
        // The factors give the published numbers of distinct values, see `schema`.
        World { seed, users: n_rows / 2 + 100, phrases: n_rows / 5 + 100, links: n_rows / 30 + 100 }
    }

    /// The hits of a cell, sorted by user, time and row.
    pub fn hits(&self, cell: &Cell) -> Vec<Hit> {
        let cell_seed = mix2(self.seed, (cell.site as u64) << 16 | u64::from(cell.day));
        let mut random = Random::new(cell_seed);
        let mut hits = Vec::with_capacity(cell.n_rows as usize);
        while (hits.len() as u64) < cell.n_rows {
            let left = cell.n_rows as usize - hits.len();
            self.visit(cell, &mut random, left, &mut hits);
        }
        hits.sort_by_key(|h| (h.user_id(), h.second, h.noise));
        for (idx, hit) in hits.iter_mut().enumerate() {
            hit.row = cell.first_row + idx as u64;
        }
        hits
    }

    /// One visit: a few pages by one user, the first of them from somewhere else.
    fn visit(&self, cell: &Cell, random: &mut Random, most: usize, hits: &mut Vec<Hit>) {
        let user = self.user(random);
        let mut second = ((random.below(50_000) + random.below(36_400)) as u32).min(86_000);
        let (mut referer, mut phrase) = self.arrival(cell, random);
        let n_pages = (1.0 - unit(random.bits()).ln() * 3.0) as usize;
        for _ in 0..n_pages.min(most) {
            let page = page(cell, random);
            let noise = random.bits();
            hits.push(Hit {
                site: cell.site,
                row: 0,
                day: cell.day,
                second,
                user,
                page,
                referer,
                phrase,
                noise,
            });
            second = (second + 1 + skewed(random.bits(), 600, 3.0) as u32).min(86_399);
            referer = if random.chance(0.86) { Referer::Page(page) } else { Referer::None };
            // A reload keeps what the first view came with.
            if !random.chance(0.12) {
                phrase = 0;
            }
        }
    }

    fn user(&self, random: &mut Random) -> u64 {
        skewed(random.bits(), self.users, 2.2)
    }

    fn arrival(&self, cell: &Cell, random: &mut Random) -> (Referer, u64) {
        let kind = unit(random.bits());
        if kind < 0.42 {
            let phrase = 1 + skewed(random.bits(), self.phrases, 2.0);
            (Referer::Search(phrase), phrase)
        } else if kind < 0.75 {
            let known = cell.site == KNOWN_SITE && random.chance(0.2);
            (Referer::Link(if known { KNOWN_LINK } else { skewed(random.bits(), self.links, 1.6) }), 0)
        } else {
            (Referer::None, 0)
        }
    }
}

fn page(cell: &Cell, random: &mut Random) -> Page {
    let number = skewed(random.bits(), cell.site_rows / 6 + 20, 3.0) as u32;
    let parameters = if random.chance(0.05) { 1 + random.below(u64::from(u32::MAX - 1)) as u32 } else { 0 };
    Page { number, parameters }
}

impl Hit {
    /// All distinct: the row number times an odd number, within 62 bits, with the next bit set.
    pub fn watch_id(&self) -> i64 {
        let spread = self.row.wrapping_mul(0x2545_f491_4f6c_dd1d) & ((1 << 62) - 1);
        (spread | 1 << 62) as i64
    }

    pub fn user_id(&self) -> i64 {
        if self.user == 77 { KNOWN_USER } else { (mix(self.user) >> 1) as i64 }
    }

    /// Random bits of the user, for the columns that say who it is; `salt` tells columns apart.
    pub fn of_user(&self, salt: u64) -> u64 {
        mix2(self.user, salt)
    }

    /// Random bits of the row.
    pub fn of_row(&self, salt: u64) -> u64 {
        mix(self.noise ^ salt)
    }

    /// An address is shared by about four users, and changes with the day for some.
    pub fn client_ip(&self) -> i32 {
        let shared = mix2(self.user / 4, 3);
        let moves = shared % 8 == 0;
        mix2(shared, if moves { u64::from(self.day / 6) } else { 0 }) as i32
    }

    pub fn day_number(&self) -> i32 {
        FIRST_DAY + i32::from(self.day)
    }

    /// Milliseconds since 1970.
    pub fn time(&self) -> i64 {
        (i64::from(self.day_number()) * 86_400 + i64::from(self.second)) * 1000
    }

    /// Identifies the page's address among all of the table.
    pub fn url_key(&self) -> u64 {
        url_key(self.site, self.page)
    }

    pub fn url_hash(&self) -> i64 {
        let front = self.site == KNOWN_SITE && self.page == Page { number: 0, parameters: 0 };
        if front { KNOWN_URL_HASH } else { mix(self.url_key()) as i64 }
    }

    /// Identifies the referring address; 0 for none.
    pub fn referer_key(&self) -> u64 {
        match self.referer {
            Referer::None => 0,
            Referer::Page(page) => url_key(self.site, page),
            Referer::Search(key) => mix2(key, 5),
            Referer::Link(link) => mix2(link, 7),
        }
    }

    pub fn referer_hash(&self) -> i64 {
        if self.referer == Referer::Link(KNOWN_LINK) {
            KNOWN_REFERER_HASH
        } else {
            mix(self.referer_key()) as i64
        }
    }

    /// `share` of the rows get 1.
    pub fn flag(&self, salt: u64, share: f64) -> i16 {
        i16::from(unit(self.of_row(salt)) < share)
    }

    /// One of `n` values for a `share` of the rows, the low ones likelier, 0 for the rest.
    pub fn rarely(&self, salt: u64, share: f64, n: u64) -> i64 {
        let bits = self.of_row(salt);
        if unit(bits) < share { 1 + skewed(mix(bits), n, 2.0) as i64 } else { 0 }
    }
}

fn url_key(site: i32, page: Page) -> u64 {
    mix2(site as u64, u64::from(page.number) << 32 | u64::from(page.parameters))
}
