//! Reads files of tests with limits. Tests come with packs of any origin, and a short text with aliases can expand to more
//! than any memory holds.

use std::{cell::Cell, fmt};

use serde::de::{DeserializeSeed, Deserializer, EnumAccess, Error, MapAccess, SeqAccess, VariantAccess, Visitor};
use serde_yaml::Value as Yaml;

use crate::{
    ir::limits::{BRACKETS, CASE_VALUES, DPUS, FILE_BYTES, LIST, TEST_CASES, TEST_VALUES},
    suite::Suite,
};

/// A file of tests within all limits.
pub(super) fn suite(text: &str) -> Result<Suite, String> {
    if u64::try_from(text.len()).is_ok_and(|bytes| bytes > FILE_BYTES) {
        return Err(format!("the file has more than {FILE_BYTES} bytes: split it"));
    }
    check_nesting(text)?;
    let values = Cell::new(0);
    let count = ValueCounter { values: &values };
    count.deserialize(serde_yaml::Deserializer::from_str(text)).map_err(|error| error.to_string())?;
    let suite: Suite = serde_yaml::from_str(text).map_err(|error| error.to_string())?;
    if suite.cases.len() > TEST_CASES {
        return Err(format!("it has more than {TEST_CASES} cases: split it"));
    }
    Ok(suite)
}

/// Limits the nesting of brackets first, because the YAML reader takes time quadratic in it. Brackets in texts count as
/// well: no text has that many unclosed ones.
fn check_nesting(text: &str) -> Result<(), String> {
    let mut depth = 0_usize;
    for (line, text) in text.lines().enumerate() {
        for byte in text.bytes() {
            match byte {
                b'[' | b'{' => depth += 1,
                b']' | b'}' => depth = depth.saturating_sub(1),
                _ => {}
            }
            if depth > BRACKETS {
                return Err(format!("brackets are nested more than {BRACKETS} deep at line {}", line + 1));
            }
        }
    }
    Ok(())
}

/// Limits the DPUs of a case and its values: `of_each` for each DPU, and `others`.
pub(super) fn check_size(dpus: usize, of_each: usize, others: usize) -> Result<(), String> {
    if dpus > DPUS {
        return Err(format!("`dpus` is {dpus}: a case has {DPUS} DPUs at most"));
    }
    if of_each.saturating_mul(dpus).saturating_add(others) > CASE_VALUES {
        return Err(format!("its facts have more than {CASE_VALUES} values"));
    }
    Ok(())
}

/// The number of values in a value, itself included.
pub(super) fn count(value: &Yaml) -> usize {
    match value {
        Yaml::Sequence(list) => 1 + list.iter().map(count).sum::<usize>(),
        Yaml::Mapping(map) => 1 + map.iter().map(|(key, value)| count(key) + count(value)).sum::<usize>(),
        Yaml::Tagged(tagged) => 1 + count(&tagged.value),
        _ => 1,
    }
}

/// Deserializes to nothing, and counts values with aliases expanded.
#[derive(Clone, Copy)]
struct ValueCounter<'c> {
    values: &'c Cell<usize>,
}

impl<'de> DeserializeSeed<'de> for ValueCounter<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        let values = self.values.get() + 1;
        self.values.set(values);
        if values > TEST_VALUES {
            return Err(D::Error::custom(format!(
                "the file has more than {TEST_VALUES} values with its aliases expanded"
            )));
        }
        from.deserialize_any(self)
    }
}

/// Visitors of scalars.
macro_rules! single {
    ($($visit:ident($kind:ty))+) => { $(
        fn $visit<E: Error>(self, _: $kind) -> Result<(), E> {
            Ok(())
        }
    )+ };
}

impl<'de> Visitor<'de> for ValueCounter<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    single! {
        visit_bool(bool) visit_i64(i64) visit_u64(u64) visit_i128(i128) visit_u128(u128) visit_f64(f64)
        visit_str(&str) visit_bytes(&[u8])
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_none<E: Error>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_some<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        self.deserialize(from)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        let mut length = 0;
        while list.next_element_seed(self)?.is_some() {
            length += 1;
            if length > LIST {
                return Err(A::Error::custom(format!("a list has more than {LIST} items")));
            }
        }
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while map.next_key_seed(self)?.is_some() {
            map.next_value_seed(self)?;
        }
        Ok(())
    }

    fn visit_enum<A: EnumAccess<'de>>(self, tagged: A) -> Result<(), A::Error> {
        let ((), value) = tagged.variant_seed(self)?;
        value.newtype_variant_seed(self)
    }
}
