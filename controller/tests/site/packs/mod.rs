//! Rule packs that are offered, kept, refused and put in force.

mod bounds;
mod in_force;
