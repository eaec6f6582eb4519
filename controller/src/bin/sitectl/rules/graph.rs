//! `sitectl rules graph`.

use std::collections::BTreeMap;

use layout::{
    backends::svg::SVGWriter,
    core::{base::Orientation, geometry::Point, style::StyleAttr},
    std_shapes::shapes::{Arrow, Element, ShapeKind},
    topo::layout::VisualGraph,
};
use proto::site::ListHostsRequest;
use rules::Graph as States;

use super::Pack;
use crate::{connect::ControllerArgs, failure::Failure, output::Format};

#[derive(clap::Args)]
pub(crate) struct Graph {
    #[command(flatten)]
    pack: Pack,
    /// Only this top state, e.g. Assigned, and where it leads to
    #[arg(long)]
    top: Option<String>,
    /// How to draw it; --output json gives states, limits and every arm's target, guards and actions
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
        let whole = self.pack.load()?.graph();
        let states = match &self.top {
            Some(top) => whole.top(top),
            None => whole,
        };
        if states.states.is_empty() {
            return Err(Failure::NotFound(format!("the rules have no state in `{}`", self.top.unwrap_or_default())));
        }
        let counts = if self.live { live(controller).await? } else { BTreeMap::new() };
        let count = |path: &str| self.live.then(|| counts.get(path).copied().unwrap_or_default());
        format.answer(&states, |states| match self.draw {
            Drawing::Mermaid => states.mermaid(count).trim_end().to_owned(),
            Drawing::Svg => svg(states, count),
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

fn svg(states: &States, count: impl Fn(&str) -> Option<u64>) -> String {
    let mut graph = VisualGraph::new(Orientation::TopToBottom);
    let mut nodes = BTreeMap::new();
    let targets = states.edges().map(|(_, to, _)| to);
    for path in states.states.iter().map(|state| state.path.as_str()).chain(targets) {
        nodes.entry(path).or_insert_with(|| {
            let count = count(path).map(|count| format!(" ({count})")).unwrap_or_default();
            let text = format!("{path}{count}");
            let size = Point::new(text.chars().count() as f64 * 9.0 + 20.0, 40.0);
            let shape = ShapeKind::new_box(&text);
            graph.add_node(Element::create(shape, StyleAttr::simple(), Orientation::TopToBottom, size))
        });
    }
    let mut drawn = Vec::new();
    for (from, to, _) in states.edges() {
        if drawn.contains(&(from, to)) || from == to {
            continue;
        }
        drawn.push((from, to));
        if let (Some(from), Some(to)) = (nodes.get(from), nodes.get(to)) {
            graph.add_edge(Arrow::simple(""), *from, *to);
        }
    }
    let mut writer = SVGWriter::new();
    // To make edges of a large graph shorter takes minutes.
    let large = nodes.len() > 60;
    graph.do_it(false, large, false, &mut writer);
    writer.finalize()
}
