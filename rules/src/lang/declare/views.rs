//! Declares `tenant_sees`, `classification(…).prevents` and `judged_by`.

use rhai::{Engine, EvalAltResult, FnPtr, ImmutableString, NativeCallContext};

use crate::lang::declare::{Collector, Named, TenantViewDecl, call_place, guard, used};

/// The line of what tenants see that a chain is about.
#[derive(Clone, Copy)]
struct TenantChain(usize);

/// The classification that a chain is about.
#[derive(Clone, Copy)]
struct ClassificationChain(usize);

pub(super) fn register(collector: &Collector, engine: &mut Engine) {
    engine.register_type_with_name::<TenantChain>("what tenants see");
    let to = collector.clone();
    engine.register_fn("tenant_sees", move |ctx: NativeCallContext, state: &str, closure: FnPtr| {
        let view = TenantViewDecl { guard: guard(&ctx, closure), detail: String::new() };
        let mut to = to.lock();
        to.reserve()?.tenant_views.push(Named { name: state.into(), place: call_place(&ctx), value: view });
        Ok::<_, Box<EvalAltResult>>(TenantChain(to.tenant_views.len() - 1))
    });
    let to = collector.clone();
    engine.register_fn("detail", move |chain: TenantChain, detail: &str| {
        if let Some(view) = to.lock().tenant_views.get_mut(chain.0) {
            view.value.detail = detail.to_owned();
        }
        chain
    });
    engine.register_type_with_name::<ClassificationChain>("classification");
    let to = collector.clone();
    engine.register_fn("classification", move |ctx: NativeCallContext, name: &str| {
        let name = Named { name: name.into(), place: call_place(&ctx), value: Vec::new() };
        let mut to = to.lock();
        to.reserve()?.classifications.push(name);
        Ok::<_, Box<EvalAltResult>>(ClassificationChain(to.classifications.len() - 1))
    });
    collector.on_with(engine, "prevents", |to, ctx, chain: ClassificationChain, what: ImmutableString| {
        let what = used(ctx, &what);
        if let Some(classification) = to.classifications.get_mut(chain.0) {
            classification.value.push(what);
        }
        chain
    });
    let to = collector.clone();
    engine.register_fn("judged_by", move |ctx: NativeCallContext, report: &str| {
        let report = used(&ctx, report);
        to.lock().judged_by.push(report);
    });
}
