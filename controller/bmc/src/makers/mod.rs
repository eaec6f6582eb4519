//! What each class of BMC has of its own, as tables: the values are the makers' words.

mod ami;
pub(crate) mod dell;
mod hpe;
mod lenovo;
mod nvidia;
mod supermicro;

use crate::{Class, lockdown::Part, setup::Attribute};

/// BIOS attributes of a class.
pub(crate) fn bios(class: Class) -> &'static [Attribute] {
    match class {
        Class::Dell => dell::BIOS,
        Class::Hpe => hpe::BIOS,
        Class::LenovoXcc => lenovo::BIOS,
        Class::LenovoAmi | Class::Ami => ami::BIOS,
        Class::Supermicro => supermicro::BIOS,
        Class::Viking => nvidia::VIKING,
        Class::Grace => nvidia::GRACE,
        Class::BlueField => nvidia::BLUEFIELD,
        Class::Generic => &[],
    }
}

/// The parts of a class's lockdown, in the order in which they are locked; none: it has no lockdown.
pub(crate) fn lockdown(class: Class) -> &'static [Part] {
    match class {
        Class::Dell => dell::LOCKDOWN,
        Class::Hpe => hpe::LOCKDOWN,
        Class::LenovoXcc => lenovo::LOCKDOWN,
        Class::LenovoAmi => lenovo::LOCKDOWN_AMI,
        Class::Ami => ami::LOCKDOWN,
        Class::Supermicro => supermicro::LOCKDOWN,
        Class::Viking => nvidia::LOCKDOWN_VIKING,
        Class::Grace | Class::BlueField | Class::Generic => &[],
    }
}

/// Name of the UEFI password of the administrator, for `Bios.ChangePassword`.
pub(crate) fn password_name(class: Class) -> &'static str {
    match class {
        Class::Dell => "SetupPassword",
        Class::LenovoXcc => "UefiAdminPassword",
        Class::LenovoAmi | Class::Ami => "SETUP001",
        Class::Viking | Class::Grace => "AdminPassword",
        Class::Hpe | Class::Supermicro | Class::Generic | Class::BlueField => "AdministratorPassword",
    }
}
