//! gRPC handlers. They check requests, record them, and mark hosts dirty; they decide nothing.

pub(crate) mod forge;
pub(crate) mod site;
