//! Reader of the tables that `nv show` prints, whichever columns they have.

use std::iter;

use nom::{
    IResult, Parser,
    bytes::complete::{tag_no_case, take_while, take_while1},
    character::complete::{char, space0},
    combinator::{all_consuming, opt, recognize, rest},
    multi::many1,
    sequence::{pair, preceded},
};
use serde::Serialize;

use super::fault::{ParseFault, excerpt};

const OUTPUT: &str = "nv show";

/// What stands in place of a table without rows.
const NO_DATA: &str = "No Data";

/// What `nv show` said: data, or why there is none. NVUE prints both on standard output.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub enum NvAnswer<'a> {
    /// Something to read further.
    Data(&'a str),
    /// There is such an object, and it is empty.
    Empty,
    /// There is no such object: for BGP that means that no daemon runs or nothing is configured.
    Missing,
    /// NVUE's daemon cannot be reached.
    Unreachable(String),
    /// NVUE does not take the question; its words.
    Refused(String),
}

/// Tells data from the words that NVUE prints instead.
#[must_use]
pub fn nv_answer(text: &str) -> NvAnswer<'_> {
    let said = text.trim();
    let complaint: IResult<&str, &str> = preceded((tag_no_case("error:"), space0), rest).parse(said);
    match complaint {
        Ok((_, words)) if words.starts_with("The requested item does not exist") => NvAnswer::Missing,
        Ok((_, words)) if words.starts_with("Could not connect to nvued") => NvAnswer::Unreachable(first_line(words)),
        Ok((_, words)) => NvAnswer::Refused(first_line(words)),
        Err(_) if said.is_empty() || matches!(said, "{}" | "[]" | NO_DATA) => NvAnswer::Empty,
        Err(_) => NvAnswer::Data(text),
    }
}

fn first_line(words: &str) -> String {
    excerpt(words.lines().next().unwrap_or_default())
}

/// One table of `nv show`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NvTable<'t> {
    /// Title that is underlined with `=`, of a table under another one.
    pub title: Option<&'t str>,
    /// Names of the columns; empty for one without a name, as the first of a property tree is.
    pub columns: Vec<String>,
    /// Cells, one for each column; none where nothing is printed, which is not the same as an empty text.
    pub rows: Vec<NvRow<'t>>,
    /// The text between the table before and this one: it explains columns, and sometimes units.
    pub legend: String,
}

/// One line of a table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NvRow<'t> {
    /// How far the first cell is indented, in blanks.
    pub indent: usize,
    /// The cells, one for each column.
    pub cells: Vec<Option<&'t str>>,
}

/// One property of an object.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NvProperty<'t> {
    /// Names from the top, joined by `/`; a member of a collection has its brackets: `link/[flag]`.
    pub path: String,
    /// Values by column (`operational`, `applied`, `pending`), those that are printed.
    pub values: Vec<(&'t str, &'t str)>,
}

impl<'t> NvTable<'t> {
    /// The place of a column.
    #[must_use]
    pub fn column(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| column.eq_ignore_ascii_case(name))
    }

    /// The rows as properties, nested by their indentation.
    #[must_use]
    pub fn properties(&self) -> Vec<NvProperty<'_>> {
        let named = self.columns.first().is_some_and(String::is_empty);
        let mut above: Vec<(usize, &str)> = Vec::new();
        let mut properties = Vec::with_capacity(self.rows.len());
        for row in &self.rows {
            let name = row.cells.first().copied().flatten().filter(|_| named).unwrap_or_default();
            while above.last().is_some_and(|(indent, _)| *indent >= row.indent) {
                above.pop();
            }
            above.push((row.indent, name));
            let cells = self.columns.iter().zip(&row.cells).skip(usize::from(named));
            properties.push(NvProperty {
                path: above.iter().map(|(_, name)| *name).collect::<Vec<_>>().join("/"),
                values: cells.filter_map(|(column, cell)| Some((column.as_str(), (*cell)?))).collect(),
            });
        }
        properties
    }
}

/// Reads the tables of `nv show`, whichever columns they have. Columns are where the rulers of dashes are; their names are
/// what stands above. A section without data is a table without columns; an answer without data has no table.
///
/// # Errors
/// [`ParseFault`] where there is neither a ruler nor the word that there are no data.
pub fn nv_tables(text: &str) -> Result<Vec<NvTable<'_>>, ParseFault> {
    let lines: Vec<&str> = text.lines().collect();
    let mut tables: Vec<NvTable<'_>> = Vec::new();
    let mut legend: Vec<&str> = Vec::new();
    let mut number = 0;
    let mut empty = false;
    let joined = |legend: &mut Vec<&str>| {
        let words: Vec<&str> = legend.drain(..).map(str::trim).filter(|line| !line.is_empty()).collect();
        words.join(" ")
    };
    while let Some(&line) = lines.get(number) {
        if line.trim() == NO_DATA {
            empty = true;
            number += 1;
            if let Some(title) = take_title(&mut legend) {
                let legend = joined(&mut legend);
                tables.push(NvTable { title: Some(title), columns: Vec::new(), rows: Vec::new(), legend });
            }
            continue;
        }
        let Ok((_, ruler)) = ruler(line) else {
            legend.push(line);
            number += 1;
            continue;
        };
        let head = header_lines(&legend);
        let names = legend.split_off(legend.len() - head);
        let title = take_title(&mut legend);
        let columns = column_names(&ruler, &names);
        number += 1;
        let mut rows = Vec::new();
        while let Some(&row) = lines.get(number).filter(|row| !row.trim().is_empty()) {
            rows.push(split(row, &ruler));
            number += 1;
        }
        let legend = joined(&mut legend);
        tables.push(NvTable { title, columns, rows, legend });
    }
    if tables.is_empty() && !empty {
        return Err(ParseFault::at(OUTPUT, text, text.trim_start(), "a table with a ruler of dashes"));
    }
    Ok(tables)
}

/// Where a column starts and ends, in characters.
type Span = (usize, usize);

/// A line of dashes and blanks: the span of each group of dashes. The last one may be cut, which is told by `…`.
fn ruler(line: &str) -> IResult<&str, Vec<Span>> {
    let dashes = recognize(pair(take_while1(|c| c == '-'), opt(char('…'))));
    let blanks = take_while(|c| c == ' ');
    let (rest, groups) = all_consuming((many1(pair(blanks, dashes)), space0)).parse(line)?;
    let mut at = 0;
    let spans = groups.0.into_iter().map(|(blanks, dashes): (&str, &str)| {
        let start = at + blanks.len();
        at = start + dashes.chars().count();
        (start, at)
    });
    Ok((rest, spans.collect()))
}

/// How many of the last lines name columns: one, or two on a narrow terminal.
fn header_lines(lines: &[&str]) -> usize {
    let is_head = |line: &&&str| !line.trim().is_empty() && !line.trim().bytes().all(|byte| byte == b'=');
    lines.iter().rev().take_while(is_head).take(2).count()
}

/// A title and its underline at the end of the lines before a header.
fn take_title<'t>(lines: &mut Vec<&'t str>) -> Option<&'t str> {
    let underline = lines.iter().rposition(|line| !line.trim().is_empty())?;
    if underline == 0 || !lines.get(underline)?.trim().bytes().all(|byte| byte == b'=') {
        return None;
    }
    let title = lines.get(underline - 1)?.trim();
    lines.truncate(underline - 1);
    Some(title).filter(|title| !title.is_empty())
}

/// The names above the columns: of each, the header's words that overlap it most. Headers may be centred, and wider than
/// the ruler.
fn column_names(ruler: &[Span], header: &[&str]) -> Vec<String> {
    let mut names = vec![String::new(); ruler.len()];
    for word in header.iter().flat_map(|line| chunks(line, 1)) {
        let end = word.place + word.text.chars().count();
        let overlap = |span: &Span| end.min(span.1).saturating_sub(word.place.max(span.0));
        let columns = names.iter_mut().zip(ruler).rev();
        if let Some((name, span)) = columns.max_by_key(|(_, span)| overlap(span))
            && overlap(span) > 0
        {
            if !name.is_empty() {
                name.push(' ');
            }
            name.push_str(word.text);
        }
    }
    names
}

/// The cells of a row. A cell may be wider than its column, and what is wider pushes the next ones to the right.
fn split<'t>(row: &'t str, ruler: &[Span]) -> NvRow<'t> {
    let mut cells = vec![None; ruler.len()];
    let mut indent = None;
    // The cell that is read: its column, and where it starts, in bytes.
    let mut open: Option<(usize, usize)> = None;
    let mut close = |(column, start): (usize, usize), end| {
        if let Some(cell) = cells.get_mut(column) {
            *cell = row.get(start..end).map(str::trim_end);
        }
    };
    for word in chunks(row, 2) {
        indent.get_or_insert(word.place);
        let column = ruler.iter().rposition(|span| span.0 <= word.place).unwrap_or(0);
        // The first column is indented by nesting; any other starts where its ruler does or behind a wide neighbour.
        if let Some(before) = open
            && before.0 != column
        {
            close(before, word.offset);
            open = None;
        }
        open.get_or_insert((column, word.offset));
    }
    if let Some(last) = open {
        close(last, row.len());
    }
    NvRow { indent: indent.unwrap_or_default(), cells }
}

/// Some words that belong together.
struct Chunk<'t> {
    /// Where it starts, in characters.
    place: usize,
    /// Where it starts, in bytes.
    offset: usize,
    text: &'t str,
}

/// Words with their places; fewer than `gap` blanks do not part them.
fn chunks(line: &str, gap: usize) -> impl Iterator<Item = Chunk<'_>> {
    let (mut rest, mut place) = (line, 0);
    iter::from_fn(move || {
        let text = rest.trim_start_matches(' ');
        place += rest.len() - text.len();
        let offset = line.len() - text.len();
        let blanks = |window: &[u8]| window.iter().all(|byte| *byte == b' ');
        let end = text.as_bytes().windows(gap).position(blanks).unwrap_or(text.len());
        let start = place;
        // A blank is one byte, so both ends are ends of characters.
        let (text, behind) = text.split_at_checked(end)?;
        place += text.chars().count();
        rest = behind;
        (!text.is_empty()).then(|| Chunk { place: start, offset, text: text.trim_end() })
    })
}
