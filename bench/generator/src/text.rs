//! Words, addresses, titles and phrases: invented, of the published lengths, mostly Cyrillic as in the original.

use crate::hit::{Hit, Page, Referer};
use crate::random::{mix, mix2, skewed};
use std::sync::LazyLock;

/// Words to draw from; the first ones are drawn most.
const WORDS: u64 = 6_000;

const CYRILLIC: &[&str] = &[
    "ба", "бо", "ва", "ве", "вы", "га", "го", "да", "де", "ди", "жа", "за", "зи", "ка", "ки", "ко", "ла",
    "ле", "ли", "ло", "ма", "ме", "ми", "мо", "на", "не", "ни", "но", "па", "пе", "по", "ра", "ре", "ри",
    "ро", "са", "се", "си", "со", "та", "те", "ти", "то", "фа", "ха", "ча", "чи", "ша", "ши", "ще", "ник",
    "тор", "ский", "ное", "ция",
];
const LATIN: &[&str] = &[
    "ba", "bo", "ca", "ce", "co", "da", "de", "di", "do", "fa", "fi", "ga", "go", "ka", "ke", "ki", "la",
    "le", "li", "lo", "ma", "me", "mi", "mo", "na", "ne", "ni", "no", "pa", "pe", "po", "ra", "re", "ri",
    "ro", "sa", "se", "si", "so", "ta", "te", "ti", "to", "va", "vi", "za", "zo", "nik", "tor", "lex",
];

static CYRILLIC_WORDS: LazyLock<Vec<String>> = LazyLock::new(|| words(CYRILLIC, 21));
static LATIN_WORDS: LazyLock<Vec<String>> = LazyLock::new(|| words(LATIN, 22));

fn words(syllables: &[&str], salt: u64) -> Vec<String> {
    let word = |number| {
        let bits = mix2(number, salt);
        let n_syllables = 1 + bits % 4 + u64::from(number > 40);
        (0..n_syllables).map(|i| syllables[(mix2(bits, i) % syllables.len() as u64) as usize]).collect()
    };
    (0..WORDS).map(word).collect()
}

fn push_word(words: &[String], bits: u64, out: &mut Vec<u8>) {
    out.extend_from_slice(words[skewed(bits, WORDS, 2.0) as usize].as_bytes());
}

fn push_number(number: u64, out: &mut Vec<u8>) {
    out.extend_from_slice(number.to_string().as_bytes());
}

/// A search phrase of one to six words.
pub fn phrase(number: u64, out: &mut Vec<u8>) {
    if number == 0 {
        return;
    }
    let bits = mix2(number, 31);
    for i in 0..1 + skewed(bits, 6, 1.3) {
        if i > 0 {
            out.push(b' ');
        }
        push_word(&CYRILLIC_WORDS, mix2(bits, i), out);
    }
    if bits % 7 == 0 {
        out.push(b' ');
        push_number(mix(bits) % 3_000, out);
    }
}

fn host(site: u64, out: &mut Vec<u8>) {
    let bits = mix2(site, 41);
    out.extend_from_slice(if bits % 3 == 0 { b"http://www." } else { b"http://" });
    push_word(&LATIN_WORDS, mix(bits), out);
    if bits % 4 != 0 {
        push_word(&LATIN_WORDS, mix2(bits, 1), out);
    }
    out.extend_from_slice(b".example/");
}

fn page_address(site: i32, page: Page, out: &mut Vec<u8>) {
    host(site as u64, out);
    if page.number > 0 {
        path(mix2(site as u64, u64::from(page.number)), out);
    }
    if page.parameters > 0 {
        let bits = u64::from(page.parameters);
        out.extend_from_slice(if bits % 310 == 0 { b"?from=google&id=" } else { b"?id=" });
        push_number(bits, out);
        for i in 0..skewed(mix(bits), 9, 3.0) {
            out.push(b'&');
            push_word(&LATIN_WORDS, mix2(bits, i), out);
            out.push(b'=');
            push_number(mix2(bits, i + 20) % 100_000, out);
        }
    }
}

fn path(bits: u64, out: &mut Vec<u8>) {
    for i in 0..1 + skewed(bits, 5, 1.5) {
        push_word(&LATIN_WORDS, mix2(bits, i), out);
        out.push(if mix2(bits, i) % 5 == 0 { b'-' } else { b'/' });
    }
    push_number(mix2(bits, 50) % 10_000_000, out);
    out.extend_from_slice([&b".html"[..], b"/", b"", b".php"][(bits % 4) as usize]);
}

pub fn url(hit: &Hit, out: &mut Vec<u8>) {
    page_address(hit.site, hit.page, out);
}

/// The page's title: two neighbouring pages share one, parameters do not change it.
pub fn title(hit: &Hit, out: &mut Vec<u8>) {
    let bits = mix2(hit.site as u64, u64::from(hit.page.number / 2) << 8 | 61);
    for i in 0..2 + skewed(bits, 12, 1.2) {
        if i > 0 {
            out.push(b' ');
        }
        push_word(&CYRILLIC_WORDS, mix2(bits, i), out);
    }
    if bits % 2_500 == 0 {
        out.extend_from_slice(b" - Google");
    }
    out.extend_from_slice(" — ".as_bytes());
    push_word(&CYRILLIC_WORDS, mix2(hit.site as u64, 62), out);
}

pub fn referer(hit: &Hit, out: &mut Vec<u8>) {
    match hit.referer {
        Referer::None => {}
        Referer::Page(page) => page_address(hit.site, page, out),
        Referer::Search(key) => {
            let engine: &[u8] = match key % 10 {
                0..=1 => b"http://www.google.example/search?q=",
                2..=3 => b"http://go.poisk.example/?q=",
                _ => b"http://poisk.example/search?text=",
            };
            out.extend_from_slice(engine);
            for i in 0..1 + key % 3 {
                if i > 0 {
                    out.push(b'+');
                }
                push_word(&CYRILLIC_WORDS, mix2(key, i), out);
            }
            out.extend_from_slice(b"&lr=");
            push_number(mix(key) % 1_000_000, out);
        }
        Referer::Link(link) => {
            let bits = mix2(link, 71);
            host(skewed(bits, 3_000, 3.0), out);
            if link % 6 != 0 {
                path(bits, out);
            }
        }
    }
}

/// One of 165 phone models.
pub fn phone_model(number: i64, out: &mut Vec<u8>) {
    if number > 0 {
        push_word(&LATIN_WORDS, mix2(number as u64, 81), out);
        out.push(b' ');
        push_number(number as u64, out);
    }
}

/// A short code of two lower-case letters.
pub fn code(bits: u64, out: &mut Vec<u8>) {
    out.extend([b'a' + (bits % 26) as u8, b'a' + (mix(bits) % 26) as u8]);
}

/// A text that is nearly always empty.
pub fn rare(hit: &Hit, salt: u64, share: f64, n: u64, out: &mut Vec<u8>) {
    let number = hit.rarely(salt, share, n);
    if number > 0 {
        push_word(&LATIN_WORDS, mix2(number as u64, salt), out);
        out.push(b'_');
        push_number(number as u64, out);
    }
}
