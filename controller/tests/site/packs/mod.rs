//! Rule packs that are offered, kept, refused and activated.

mod activation;
mod bounds;
