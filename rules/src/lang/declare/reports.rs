//! Declares `report` and `dpu_report`: how stored health reports combine.

use rhai::{Array, Engine, FnPtr, ImmutableString, NativeCallContext};

use crate::{
    ir::snapshot::HealthAlert,
    lang::declare::{
        AlertDecl, Collector, Declarations, Named, PartDecl, ReportDecl, SourceDecl, call_place, guard, texts, used,
    },
};

/// The report that a chain is about.
#[derive(Clone, Copy)]
struct ReportChain(usize);

impl Declarations {
    fn part(&mut self, ctx: &NativeCallContext, chain: ReportChain, source: SourceDecl, instead: bool) -> ReportChain {
        if let Some(report) = self.reports.get_mut(chain.0) {
            report.value.parts.push(PartDecl {
                place: call_place(ctx),
                source,
                instead,
                only: None,
                except: Vec::new(),
                when: None,
                unclassified: None,
                or_alert: None,
            });
        }
        chain
    }

    fn last_part(
        &mut self,
        ctx: &NativeCallContext,
        chain: ReportChain,
        change: impl FnOnce(&mut PartDecl),
    ) -> ReportChain {
        match self.reports.get_mut(chain.0).and_then(|report| report.value.parts.last_mut()) {
            Some(part) => change(part),
            None => {
                let message = format!("`{}` is for a part of a report, and there is none before it", ctx.fn_name());
                self.diagnostics.error(
                    "misplaced-verb",
                    &call_place(ctx),
                    message,
                    "put it after `with`, `with_dpus` or `alert`",
                );
            }
        }
        chain
    }

    fn alert(&mut self, ctx: &NativeCallContext, probe: &str, classes: Array, message: &str) -> AlertDecl {
        let place = call_place(ctx);
        let classifications = texts(classes.into()).unwrap_or_else(|| {
            self.diagnostics.error("type", &place, "classifications are texts", "write `[\"Name\", …]`");
            Vec::new()
        });
        let alert =
            HealthAlert { id: probe.into(), message: message.into(), classifications, ..HealthAlert::default() };
        AlertDecl { place, alert }
    }
}

pub(super) fn register(collector: &Collector, engine: &mut Engine) {
    engine.register_type_with_name::<ReportChain>("report");
    for (verb, of_dpu) in [("report", false), ("dpu_report", true)] {
        let to = collector.clone();
        engine.register_fn(verb, move |ctx: NativeCallContext, name: &str| {
            let mut to = to.lock();
            let value = ReportDecl { of_dpu, parts: Vec::new() };
            to.reports.push(Named { name: name.into(), place: call_place(&ctx), value });
            ReportChain(to.reports.len() - 1)
        });
    }
    parts(collector, engine);
    modifiers(collector, engine);
}

fn parts(collector: &Collector, engine: &mut Engine) {
    for (verb, instead) in [("with", false), ("replaced_by", true)] {
        collector.on_with(engine, verb, move |to, ctx, chain: ReportChain, source: ImmutableString| {
            to.part(ctx, chain, SourceDecl::Stored(source.to_string()), instead)
        });
    }
    collector.on_with(engine, "with_dpus", |to, ctx, chain: ReportChain, report: ImmutableString| {
        let report = used(ctx, &report);
        to.part(ctx, chain, SourceDecl::Dpus(report), false)
    });
    let to = collector.clone();
    engine.register_fn(
        "alert",
        move |ctx: NativeCallContext, chain: ReportChain, probe: &str, classes: Array, message: &str| {
            let mut to = to.lock();
            let alert = to.alert(&ctx, probe, classes, message);
            to.part(&ctx, chain, SourceDecl::Alert(alert), false)
        },
    );
}

fn modifiers(collector: &Collector, engine: &mut Engine) {
    collector.on_with(engine, "only", |to, ctx, chain: ReportChain, source: ImmutableString| {
        let source = used(ctx, &source);
        to.last_part(ctx, chain, |part| part.only = Some(source))
    });
    collector.on_with(engine, "except", |to, ctx, chain: ReportChain, source: ImmutableString| {
        let source = used(ctx, &source);
        to.last_part(ctx, chain, |part| part.except.push(source))
    });
    collector.on_with(engine, "when", |to, ctx, chain: ReportChain, closure: FnPtr| {
        let when = guard(ctx, closure);
        to.last_part(ctx, chain, |part| part.when = Some(when))
    });
    collector.on_with(engine, "unclassified_when", |to, ctx, chain: ReportChain, closure: FnPtr| {
        let when = guard(ctx, closure);
        to.last_part(ctx, chain, |part| part.unclassified = Some(when))
    });
    let to = collector.clone();
    engine.register_fn(
        "or_alert",
        move |ctx: NativeCallContext, chain: ReportChain, probe: &str, classes: Array, message: &str| {
            let mut to = to.lock();
            let alert = to.alert(&ctx, probe, classes, message);
            to.last_part(&ctx, chain, |part| part.or_alert = Some(alert))
        },
    );
}
