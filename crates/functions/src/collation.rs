//! `ORDER BY s COLLATE 'de'`: texts as the bytes that sort as the rules of a language sort the texts. The binder puts
//! it around what is sorted by; it has no name in SQL.

use chalet_base::{Result, ensure, err};
use chalet_columns::{Column, Data, List, StringBuilder, Struct, Vector};
use chalet_function_api::{Argument, Bound, Call, Context, Record, ScalarFunction};
use chalet_types::DataType;
use icu_collator::options::CollatorOptions;
use icu_collator::{CollatorBorrowed, CollatorPreferences};
use std::sync::Arc;

/// The locales that the kernel's ICU has rules for, as `system.collations` names them, in small letters. Others are
/// refused, though most would sort as the root does.
const LOCALES: &str = "af am ar ar_sa as az be bg blo bn bo br bs bs_cyrl ca ceb chr cs cy da de de_at dsb dz ee el en \
    en_us en_us_posix eo es et fa fa_af ff ff_adlm fi fil fo fr fr_ca fy ga gl gu ha haw he he_il hi hr hsb hu hy id \
    id_id ig is it ja ka kk kk_arab kl km kn ko kok ku ky lb lij lkt ln lo lt lv mk ml mn mr ms mt my nb nb_no ne nl nn \
    no nso om or pa pa_guru pa_guru_in pl ps pt ro ru sa se si sk sl smn sq sr sr_cyrl sr_cyrl_ba sr_cyrl_me sr_cyrl_rs \
    sr_latn sr_latn_ba sr_latn_rs st sv sw ta te th tk tn to tr ug uk ur uz vi wae wo xh yi yo zh zh_hans zh_hans_cn \
    zh_hans_sg zh_hant zh_hant_hk zh_hant_mo zh_hant_tw zu";

const RECORD: Record = Record {
    name: "collationKey",
    summary: "Bytes that sort as the rules of a language sort the text.",
    syntax: "collationKey(s, locale)",
    total: true,
    ..Record::DEFAULT
};

/// The function of a text and the name of a locale.
pub fn key_function() -> Arc<dyn ScalarFunction> {
    Arc::new(CollationKey)
}

struct CollationKey;

/// What `bind` prepares.
struct Rules(CollatorBorrowed<'static>);

impl ScalarFunction for CollationKey {
    fn record(&self) -> &'static Record {
        &RECORD
    }

    fn bind(&self, args: &[Argument], _: &Context) -> Result<Bound> {
        ensure!(
            has_texts(&args[0].ty),
            BAD_COLLATION,
            "Collations could be specified only for String, LowCardinality(String), Nullable(String) or for Array or Tuple, \
             containing them"
        );
        let rules = rules(args[1].constant_str("COLLATE", "1")?)?;
        Ok(Bound::with_state(args[0].ty.clone(), rules))
    }

    fn execute(&self, call: &Call) -> Result<Column> {
        let Rules(collator) = call.state()?;
        Ok(keys(call.vector(0), collator).into())
    }
}

fn has_texts(ty: &DataType) -> bool {
    match ty.bare() {
        DataType::String => true,
        DataType::Array(element) => has_texts(element),
        DataType::Tuple(fields) => fields.iter().any(|field| has_texts(&field.ty)),
        _ => false,
    }
}

/// `de`, `en_US`, `sv-u-kn-true`.
fn rules(name: &str) -> Result<Rules> {
    let lower = name.to_ascii_lowercase();
    let unsupported = || err!(UNSUPPORTED_COLLATION_LOCALE, "Unsupported collation locale: {lower}");
    let tag = lower.replace('_', "-");
    let base = tag.split("-u-").next().unwrap_or_default().replace('-', "_");
    if !LOCALES.split_ascii_whitespace().any(|known| known == base) {
        return Err(unsupported());
    }
    let locale: icu_locale_core::Locale = tag.parse().map_err(|_| unsupported())?;
    let preferences = CollatorPreferences::from(&locale);
    let collator = CollatorBorrowed::try_new(preferences, CollatorOptions::default());
    collator.map(Rules).map_err(|_| unsupported())
}

/// The same shape with keys in place of texts; bytes that are not UTF-8 count as the replacement character.
fn keys(vector: &Vector, collator: &CollatorBorrowed<'static>) -> Vector {
    let data = match &vector.data {
        Data::Str(texts) => {
            let mut out = StringBuilder::with_capacity(texts.len());
            for text in texts.iter() {
                out.push_with(|bytes| {
                    let Ok(()) = collator.write_sort_key_utf8_to(text, bytes);
                });
            }
            Data::Str(out.finish())
        }
        Data::List(list) => {
            let values = Arc::new(keys(&list.values, collator));
            Data::List(List { offsets: list.offsets.clone(), values })
        }
        Data::Struct(tuple) => {
            let fields = tuple.fields.iter().map(|field| keys(field, collator)).collect();
            Data::Struct(Struct { fields, len: tuple.len })
        }
        other => other.clone(),
    };
    Vector::new(data, vector.validity.clone())
}
