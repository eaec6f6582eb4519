//! How a field of the snapshot becomes a fact: one macro call per area gives the struct, its serde form, the entry in
//! the dictionary and the getter that guards use. A fact cannot be readable but undocumented, or the reverse.

use std::sync::LazyLock;

use serde::{Deserialize, Deserializer, de::Error as _};
use types::ConfigVersion;

use crate::ir::snapshot::{
    Dpu, Snapshot,
    predicate::{FactPredicate, Predicate, compile_value},
};

/// What a guard sees when it reads a fact.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Value<'a> {
    /// There is none, and rules say what that means.
    Absent,
    /// Nobody has told yet: a guard that needs it has no answer.
    Unknown,
    /// True or false.
    Bool(bool),
    /// A count, or seconds.
    Int(i64),
    /// A text, or one word of an enumeration.
    Text(&'a str),
    /// A config version.
    Version(ConfigVersion),
    /// A list of texts.
    Texts(&'a [String]),
}

impl std::fmt::Display for Value<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Value::Absent => f.write_str("absent"),
            Value::Unknown => f.write_str("unknown"),
            Value::Bool(value) => value.fmt(f),
            Value::Int(value) => value.fmt(f),
            Value::Text(value) => write!(f, "\"{value}\""),
            Value::Version(value) => value.fmt(f),
            Value::Texts(values) => write!(f, "[{}]", values.join(", ")),
        }
    }
}

/// The type of a fact, as far as the checks at load time need it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FactType {
    /// True or false.
    Bool,
    /// A whole number.
    Int,
    /// Whole seconds.
    Seconds,
    /// Seconds since something happened: rises with the clock.
    Age,
    /// Free text.
    Text,
    /// One of these words.
    Word(&'static [&'static str]),
    /// A config version.
    Version,
    /// A list of texts.
    Texts,
}

impl std::fmt::Display for FactType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            FactType::Bool => f.write_str("bool"),
            FactType::Int => f.write_str("int"),
            FactType::Seconds => f.write_str("seconds"),
            FactType::Age => f.write_str("seconds since"),
            FactType::Text => f.write_str("text"),
            FactType::Word(words) => f.write_str(&words.join("|")),
            FactType::Version => f.write_str("version"),
            FactType::Texts => f.write_str("list of text"),
        }
    }
}

/// Who supplies a fact.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Supplier {
    /// The controller, from its own records.
    Record,
    /// The configuration of the site.
    Site,
    /// Operators, by requests.
    Operator,
    /// The agent of a DPU.
    Agent,
    /// A BMC, which the controller asks.
    Bmc,
    /// The discovery image that runs on the host.
    DiscoveryImage,
    /// This service of the site.
    Service(&'static str),
}

impl Supplier {
    /// The controller and its clients supply it in rows of their own, so nobody else can report it.
    #[must_use]
    pub const fn is_own(self) -> bool {
        matches!(self, Self::Record | Self::Site | Self::Operator | Self::Agent)
    }
}

impl std::fmt::Display for Supplier {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Record => "the controller's records",
            Self::Site => "the site's configuration",
            Self::Operator => "operators",
            Self::Agent => "the DPU's agent",
            Self::Bmc => "the BMC",
            Self::DiscoveryImage => "the discovery image",
            Self::Service(name) => return write!(f, "the service for {name}"),
        })
    }
}

/// Reads one fact. The DPU is the one a rule looks at; facts of the host ignore it.
pub(crate) type Getter = for<'a> fn(&'a Snapshot, &'a Dpu) -> Value<'a>;

/// Reads the field of a fact.
pub(crate) type Field<T> = for<'a> fn(&'a Snapshot, &'a Dpu) -> &'a T;

/// Typed access to the field of a fact, for comparisons of two facts.
#[derive(Debug, Clone, Copy)]
pub(crate) enum FieldGetter {
    Bool(Field<bool>),
    Int(Field<i64>),
    Version(Field<Option<ConfigVersion>>),
    Other,
}

/// One entry of the fact dictionary.
#[derive(Debug, Clone, Copy)]
pub struct Fact {
    /// Area that holds the fact: `instance` for `h.instance.present`, `dpu` for facts of one DPU.
    pub area: &'static str,
    /// Name within the area.
    pub name: &'static str,
    /// Type of the value.
    pub kind: FactType,
    /// The fact can be absent; a rule has to say what that means, with `.or(default)` or `.known`.
    pub optional: bool,
    /// What it means.
    pub meaning: &'static str,
    /// It is unknown until its supplier has told, and a guard that needs it has no answer before.
    pub reported: bool,
    /// Who supplies it.
    pub supplier: Supplier,
    /// It is computed from stored timestamps or other facts, and cannot be set by itself.
    pub derived: bool,
    pub(crate) get: Getter,
    pub(crate) typed: fn() -> FieldGetter,
    pub(crate) compile: fn(FactPredicate) -> Predicate,
}

impl Fact {
    /// Its value for a host; for facts of DPUs, that of `dpu`.
    #[must_use]
    pub fn value<'a>(&self, host: &'a Snapshot, dpu: Option<&'a Dpu>) -> Value<'a> {
        (self.get)(host, dpu.unwrap_or(&NO_DPU))
    }
}

/// The DPU that facts read where no DPU is bound.
pub(crate) static NO_DPU: LazyLock<Dpu> = LazyLock::new(Dpu::default);

/// Reads the field of a fact, as a closure that the compiler can inline.
pub(crate) trait Read<T>: for<'a> Fn(&'a Snapshot, &'a Dpu) -> &'a T + Send + Sync + 'static {}
impl<T, R: for<'a> Fn(&'a Snapshot, &'a Dpu) -> &'a T + Send + Sync + 'static> Read<T> for R {}

/// A fact by its stored and written name, e.g. `bmc.power`. Every area has one for each of its facts: `Bmc::power`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FactId(&'static str);

impl FactId {
    pub(crate) const fn new(name: &'static str) -> Self {
        Self(name)
    }

    /// The name, with the area before the dot.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.0
    }
}

impl std::fmt::Display for FactId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.0)
    }
}

/// An area of the snapshot whose facts can be set one by one, by name.
pub trait Area {
    /// The part of its facts' names before the dot.
    const NAME: &'static str;

    /// Sets the fact of this name within the area. False, and nothing is set, if there is none, it is derived from others, or
    /// the value is not of its type.
    fn set<'de, D: Deserializer<'de>>(&mut self, fact: &str, value: D) -> bool;
}

/// A Rust type that a fact can have.
pub(crate) trait FactField: Sized + 'static {
    const KIND: FactType;
    const OPTIONAL: bool = false;
    const REPORTED: bool = false;
    fn value(&self) -> Value<'_>;
    fn read<'de, D: Deserializer<'de>>(value: D) -> Result<Self, D::Error>;
    fn read_option<'de, D: Deserializer<'de>>(value: D) -> Result<Option<Self>, D::Error> {
        Self::read(value).map(Some)
    }
    fn compile(read: impl Read<Self>, predicate: FactPredicate) -> Predicate {
        compile_value(move |s, d| read(s, d).value(), predicate)
    }
    fn typed(_field: Field<Self>) -> FieldGetter {
        FieldGetter::Other
    }
    fn typed_option(_field: Field<Option<Self>>) -> FieldGetter {
        FieldGetter::Other
    }
}

impl FactField for bool {
    const KIND: FactType = FactType::Bool;
    fn value(&self) -> Value<'_> {
        Value::Bool(*self)
    }
    fn read<'de, D: Deserializer<'de>>(value: D) -> Result<Self, D::Error> {
        Self::deserialize(value)
    }
    fn typed(field: Field<Self>) -> FieldGetter {
        FieldGetter::Bool(field)
    }
}

impl FactField for i64 {
    const KIND: FactType = FactType::Int;
    fn value(&self) -> Value<'_> {
        Value::Int(*self)
    }
    fn read<'de, D: Deserializer<'de>>(value: D) -> Result<Self, D::Error> {
        Self::deserialize(value)
    }
    fn typed(field: Field<Self>) -> FieldGetter {
        FieldGetter::Int(field)
    }
}

impl FactField for String {
    const KIND: FactType = FactType::Text;
    fn value(&self) -> Value<'_> {
        Value::Text(self)
    }
    fn read<'de, D: Deserializer<'de>>(value: D) -> Result<Self, D::Error> {
        Self::deserialize(value)
    }
    fn read_option<'de, D: Deserializer<'de>>(value: D) -> Result<Option<Self>, D::Error> {
        Option::deserialize(value)
    }
}

impl FactField for Vec<String> {
    const KIND: FactType = FactType::Texts;
    fn value(&self) -> Value<'_> {
        Value::Texts(self)
    }
    fn read<'de, D: Deserializer<'de>>(value: D) -> Result<Self, D::Error> {
        Self::deserialize(value)
    }
}

impl FactField for ConfigVersion {
    const KIND: FactType = FactType::Version;
    fn value(&self) -> Value<'_> {
        Value::Version(*self)
    }
    fn read<'de, D: Deserializer<'de>>(value: D) -> Result<Self, D::Error> {
        String::deserialize(value)?.parse().map_err(D::Error::custom)
    }
    fn read_option<'de, D: Deserializer<'de>>(value: D) -> Result<Option<Self>, D::Error> {
        let text = Option::<String>::deserialize(value)?;
        text.map(|text| text.parse().map_err(D::Error::custom)).transpose()
    }
    fn typed_option(field: Field<Option<Self>>) -> FieldGetter {
        FieldGetter::Version(field)
    }
}

impl<T: FactField> FactField for Option<T> {
    const KIND: FactType = T::KIND;
    const OPTIONAL: bool = true;
    fn value(&self) -> Value<'_> {
        self.as_ref().map_or(Value::Absent, T::value)
    }
    fn read<'de, D: Deserializer<'de>>(value: D) -> Result<Self, D::Error> {
        T::read_option(value)
    }
    fn typed(field: Field<Self>) -> FieldGetter {
        T::typed_option(field)
    }
}

/// Declares an enumeration whose words are its serde form and what rules compare with. A word before a semicolon is the
/// default.
macro_rules! words {
    ($(#[doc = $doc:literal])+ $name:ident { #[doc = $first_doc:literal] $first:ident = $first_word:literal; $($rest:tt)+ }) => {
        words! { $(#[doc = $doc])+ $name { #[doc = $first_doc] $first = $first_word, $($rest)+ } }

        impl Default for $name {
            fn default() -> Self {
                Self::$first
            }
        }
    };
    ($(#[doc = $doc:literal])+ $name:ident { $(#[doc = $variant_doc:literal] $variant:ident = $word:literal),+ $(,)? }) => {
        $(#[doc = $doc])+
        #[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
        pub enum $name {
            $(#[doc = $variant_doc] #[serde(rename = $word)] $variant),+
        }

        impl $name {
            /// The word that rules compare with.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word),+ }
            }
        }

        impl $crate::ir::snapshot::dictionary::FactField for $name {
            const KIND: $crate::ir::snapshot::dictionary::FactType =
                $crate::ir::snapshot::dictionary::FactType::Word(&[$($word),+]);
            fn value(&self) -> $crate::ir::snapshot::dictionary::Value<'_> {
                $crate::ir::snapshot::dictionary::Value::Text(self.as_str())
            }
            fn read<'de, D: serde::Deserializer<'de>>(value: D) -> Result<Self, D::Error> {
                serde::Deserialize::deserialize(value)
            }
        }
    };
}
pub(crate) use words;

/// Declares an area: a struct of facts, then facts that are derived from it and the rest of the snapshot.
macro_rules! area {
    (
        $(#[doc = $doc:literal])+
        $name:ident as $area:literal at |$snapshot:ident, $dpu:ident| $place:expr;
        facts { $( [$supplier:expr] $( $(#[doc = $fact_doc:literal])+ $(#[serde($($serde:tt)*)])? $fact:ident : $type:ty, )+ )* }
        raw { $( $(#[doc = $raw_doc:literal])+ $(#[serde($($raw_serde:tt)*)])? $raw:ident : $raw_type:ty, )* }
        derived { $( [$origin:expr] $( $(#[doc = $derived_doc:literal])+ $derived:ident : $kind:ident $(($optional:ident))? = $value:expr, )+ )* }
    ) => {
        $(#[doc = $doc])+
        #[derive(Debug, Clone, Default, PartialEq, serde::Serialize, serde::Deserialize)]
        #[serde(default, deny_unknown_fields)]
        pub struct $name {
            $($( $(#[doc = $fact_doc])+ $(#[serde($($serde)*)])? pub $fact: $type, )+)*
            $( $(#[doc = $raw_doc])+ $(#[serde($($raw_serde)*)])? pub $raw: $raw_type, )*
        }

        impl $name {
            pub(crate) const FACTS: &'static [$crate::ir::snapshot::dictionary::Fact] = &[
                $($( $crate::ir::snapshot::dictionary::Fact {
                    area: $area,
                    name: stringify!($fact),
                    kind: <$type as $crate::ir::snapshot::dictionary::FactField>::KIND,
                    optional: <$type as $crate::ir::snapshot::dictionary::FactField>::OPTIONAL,
                    meaning: concat!($($fact_doc),+),
                    reported: <$type as $crate::ir::snapshot::dictionary::FactField>::REPORTED,
                    supplier: {
                        use $crate::ir::snapshot::dictionary::Supplier::*;
                        $supplier
                    },
                    derived: false,
                    get: |$snapshot, $dpu| {
                        let _ = ($snapshot, $dpu);
                        $crate::ir::snapshot::dictionary::FactField::value(&$place.$fact)
                    },
                    typed: || <$type as $crate::ir::snapshot::dictionary::FactField>::typed(|$snapshot, $dpu| {
                        let _ = ($snapshot, $dpu);
                        &$place.$fact
                    }),
                    compile: |predicate| <$type as $crate::ir::snapshot::dictionary::FactField>::compile(
                        |$snapshot, $dpu| { let _ = ($snapshot, $dpu); &$place.$fact },
                        predicate,
                    ),
                }, )+)*
                $($( $crate::ir::snapshot::dictionary::Fact {
                    area: $area,
                    name: stringify!($derived),
                    kind: $crate::ir::snapshot::dictionary::FactType::$kind,
                    optional: area!(@optional $($optional)?),
                    meaning: concat!($($derived_doc),+),
                    reported: false,
                    supplier: {
                        use $crate::ir::snapshot::dictionary::Supplier::*;
                        $origin
                    },
                    derived: true,
                    get: |$snapshot, $dpu| { let _ = ($snapshot, $dpu); $value },
                    typed: || $crate::ir::snapshot::dictionary::FieldGetter::Other,
                    compile: |predicate| $crate::ir::snapshot::predicate::compile_value(
                        |$snapshot, $dpu| { let _ = ($snapshot, $dpu); $value },
                        predicate,
                    ),
                }, )+)*
            ];
        }

        #[allow(non_upper_case_globals, reason = "the constants are named as the facts are")]
        impl $name {
            $($( $(#[doc = $fact_doc])+ pub const $fact: $crate::ir::snapshot::dictionary::FactId =
                $crate::ir::snapshot::dictionary::FactId::new(concat!($area, ".", stringify!($fact))); )+)*
            $($( $(#[doc = $derived_doc])+ pub const $derived: $crate::ir::snapshot::dictionary::FactId =
                $crate::ir::snapshot::dictionary::FactId::new(concat!($area, ".", stringify!($derived))); )+)*
        }

        impl $crate::ir::snapshot::dictionary::Area for $name {
            const NAME: &'static str = $area;

            fn set<'de, D: serde::Deserializer<'de>>(&mut self, fact: &str, value: D) -> bool {
                let _ = &value;
                match fact {
                    $($( stringify!($fact) => {
                        let read = <$type as $crate::ir::snapshot::dictionary::FactField>::read(value);
                        read.map(|read| self.$fact = read).is_ok()
                    } )+)*
                    _ => false,
                }
            }
        }
    };
    (@optional) => { false };
    (@optional optional) => { true };
}
pub(crate) use area;
