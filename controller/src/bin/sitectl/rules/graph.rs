//! `sitectl rules graph`.

use std::collections::{BTreeMap, BTreeSet};

use layout::{
    backends::svg::SVGWriter,
    core::{base::Orientation, geometry::Point, style::StyleAttr},
    std_shapes::shapes::{Arrow, Element, ShapeKind},
    topo::layout::VisualGraph,
};
use proto::site::ListHostsRequest;
use rules::Graph as States;

use super::{Pack, no_state};
use crate::{connect::ControllerArgs, failure::Failure, output::Format};

#[derive(clap::Args)]
pub(crate) struct Graph {
    #[command(flatten)]
    pack: Pack,
    /// Only this top state, e.g. Assigned, and where it leads to
    #[arg(long)]
    top: Option<String>,
    /// How to draw it; SVG shows the top states alone unless one is chosen; --output json gives states, limits and every arm's target, guards and actions
    #[arg(long, value_enum, default_value = "mermaid")]
    draw: Drawing,
    /// Puts the number of hosts beside each state; asks the controller
    #[arg(long)]
    live: bool,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum Drawing {
    Mermaid,
    Svg,
}

impl Graph {
    pub(super) async fn run(self, controller: &ControllerArgs, format: Format) -> Result<String, Failure> {
        let rules = self.pack.load()?;
        let whole = rules.graph();
        let states = match &self.top {
            Some(top) => whole.top(top),
            None => whole,
        };
        if states.states.is_empty() {
            return Err(no_state(&rules, &self.pack.dir, &self.top.unwrap_or_default()));
        }
        let counts = if self.live { live(controller).await? } else { BTreeMap::new() };
        let count = |path: &str| self.live.then(|| counts.get(path).copied().unwrap_or_default());
        format.answer(&states, |states| match self.draw {
            Drawing::Mermaid => states.mermaid(count).trim_end().to_owned(),
            Drawing::Svg => svg(states, self.top.is_none(), count),
        })
    }
}

async fn live(controller: &ControllerArgs) -> Result<BTreeMap<String, u64>, Failure> {
    let mut controller = controller.connect().await?;
    let failure = controller.failure();
    let hosts = controller.site.list_hosts(ListHostsRequest::default()).await.map_err(failure)?.into_inner().hosts;
    let mut counts = BTreeMap::new();
    for host in hosts {
        *counts.entry(host.state).or_default() += 1;
    }
    Ok(counts)
}

/// One top state with all its states, or, of all, the top states alone: nobody could follow the lines between hundreds
/// of states, and to lay them out takes minutes.
fn svg(states: &States, whole: bool, count: impl Fn(&str) -> Option<u64>) -> String {
    let name = |path: &'_ str| match path.split_once('/') {
        Some((top, _)) if whole => top.to_owned(),
        _ => path.to_owned(),
    };
    let edges = || states.edges().map(|(from, to, _)| (name(from), name(to)));
    let mut hosts: BTreeMap<String, Option<u64>> = edges().map(|(_, to)| (to, None)).collect();
    for state in &states.states {
        let own = hosts.entry(name(&state.path)).or_default();
        *own = count(&state.path).map(|count| count + own.unwrap_or_default());
    }
    let mut graph = VisualGraph::new(Orientation::TopToBottom);
    let mut nodes = BTreeMap::new();
    for (name, hosts) in hosts {
        let text = hosts.map_or_else(|| name.clone(), |hosts| format!("{name} ({hosts})"));
        let size = Point::new(text.chars().count() as f64 * 9.0 + 20.0, 40.0);
        let shape = ShapeKind::new_box(&text);
        let node = graph.add_node(Element::create(shape, StyleAttr::simple(), Orientation::TopToBottom, size));
        nodes.insert(name, node);
    }
    let drawn: BTreeSet<(String, String)> = edges().filter(|(from, to)| from != to).collect();
    for (from, to) in &drawn {
        if let (Some(from), Some(to)) = (nodes.get(from), nodes.get(to)) {
            graph.add_edge(Arrow::simple(""), *from, *to);
        }
    }
    let mut writer = SVGWriter::new();
    graph.do_it(false, false, false, &mut writer);
    writer.finalize()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PACK: &str = r#"
        initial("Top/A");
        state("Top/A").no_sla().go("Top/B").when(|h| h.instance.present).wait("a");
        state("Top/B").no_sla().go("End").when(|h| h.requests.reset).wait("b");
        state("End").terminal().no_sla().wait("end");
    "#;

    #[test]
    fn drawings_show_top_states_or_all_of_one() {
        let files = [("a.rhai".to_owned(), PACK.to_owned())];
        let graph = rules::load_files(files, &rules::LoadOptions::default()).unwrap().graph();
        let count = |path: &str| Some(if path == "End" { 0 } else { 2 });
        let whole = svg(&graph, true, count);
        assert!(whole.contains("Top (4)") && whole.contains("End (0)") && !whole.contains("Top/A"), "{whole}");
        let top = svg(&graph.top("Top"), false, count);
        assert!(top.contains("Top/A (2)") && top.contains("Top/B (2)") && top.contains("End"), "{top}");
    }
}
